import { cleanBaseURL } from './base-url.ts'
import { type AwsOptions, awsAccess, checkRegion } from './bedrock.ts'
import { checkApiKey } from './credentials.ts'
import { modelRules as rulesOf } from './model-rules.ts'
import { openaiModels } from './openai-models.ts'
import type { Upstream } from './upstream.ts'

/** What `bedrockMantle` takes. */
export interface BedrockMantleOptions extends AwsOptions {
  /**
   * Which of its two surfaces is called. `v1` has the open-weight models, by responses and chat completions; `openai` has
   * OpenAI's own (`openai.gpt-5.5`), by responses. Default `v1`.
   */
  surface?: 'v1' | 'openai'
}

const surfaces = {
  v1: { path: '/v1', formats: { responses: '/responses', chat: '/chat/completions' } },
  openai: { path: '/openai/v1', formats: { responses: '/responses' } },
} as const

/**
 * Amazon Bedrock's OpenAI-compatible endpoint. `baseURL` defaults to `https://bedrock-mantle.{region}.api.aws` and the surface's
 * path.
 *
 * @throws TypeError for a region that is none, and for both a key and credentials
 */
export function bedrockMantle(options: BedrockMantleOptions): Upstream {
  checkApiKey(options, 'bedrockMantle')
  const { region, apiKey, credentials, baseURL, headers, surface = 'v1', modelRules } = options
  const { path, formats } = surfaces[surface]
  return {
    baseURL: cleanBaseURL(baseURL ?? `https://bedrock-mantle.${checkRegion(region)}.api.aws${path}`),
    formats,
    ...awsAccess({ region, apiKey, credentials, headers }, 'bedrock-mantle'),
    passHeaders: [],
    quirks: {},
    ...rulesOf(modelRules, openaiModels),
  }
}
