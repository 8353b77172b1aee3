import { cleanBaseURL } from './base-url.ts'
import { type AwsOptions, awsAccess, awsProblems } from './bedrock.ts'
import { createUpstream } from './check-options.ts'
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
 */
export function bedrockMantle(options: BedrockMantleOptions): Upstream {
  const { region, apiKey, credentials, baseURL, headers, surface = 'v1', modelRules } = options
  const problems = [
    ...awsProblems(options),
    ...(Object.hasOwn(surfaces, surface) ? [] : [`surface is '${String(surface)}': write 'v1' or 'openai'`]),
  ]
  return createUpstream(problems, () => ({
    baseURL: cleanBaseURL(baseURL ?? `https://bedrock-mantle.${region}.api.aws${surfaces[surface].path}`),
    formats: surfaces[surface].formats,
    ...awsAccess({ region, apiKey, credentials, headers }, 'bedrock-mantle'),
    passHeaders: [],
    quirks: {},
    ...rulesOf(modelRules, openaiModels),
  }))
}
