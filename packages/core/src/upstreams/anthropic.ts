import { cleanBaseURL } from './base-url.ts'
import { checkApiKey, credentials } from './credentials.ts'
import { modelRules as rulesOf } from './model-rules.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Anthropic. `baseURL` defaults to `https://api.anthropic.com`, with or without `/v1`. */
export function anthropic(options: UpstreamOptions = {}): Upstream {
  checkApiKey(options, 'anthropic')
  const { apiKey, baseURL = 'https://api.anthropic.com', headers = {}, modelRules } = options
  return {
    baseURL: cleanBaseURL(baseURL, '/v1'),
    formats: { messages: '/v1/messages' },
    countTokens: { messages: '/v1/messages/count_tokens' },
    ...credentials(apiKey, (key) => ({ 'x-api-key': key }), { 'anthropic-version': '2023-06-01', ...headers }),
    passHeaders: ['anthropic-version', 'anthropic-beta'],
    quirks: { threads: true, laterChanges: ['effort', 'tools'] },
    ...rulesOf(modelRules),
  }
}
