import { apiKeyHeaders, cleanBaseURL, combineModelRules, commonProblems, createUpstream } from './provider-options.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Creates the upstream for Anthropic's API. `baseURL` defaults to `https://api.anthropic.com`; it may include `/v1`. */
export function anthropic(options: UpstreamOptions = {}): Upstream {
  const { apiKey, baseURL = 'https://api.anthropic.com', headers = {}, modelRules } = options
  return createUpstream(commonProblems(options, { apiKey: 'ANTHROPIC_API_KEY' }), () => ({
    baseURL: cleanBaseURL(baseURL, '/v1'),
    formats: { messages: '/v1/messages' },
    countTokens: { messages: '/v1/messages/count_tokens' },
    objects: {
      files: { messages: '/v1/files' },
      batches: { messages: '/v1/messages/batches' },
      skills: { messages: '/v1/skills' },
    },
    ...apiKeyHeaders(apiKey, (key) => ({ 'x-api-key': key }), { 'anthropic-version': '2023-06-01', ...headers }),
    passHeaders: ['anthropic-version', 'anthropic-beta'],
    quirks: { threads: true, laterChanges: ['effort', 'tools'] },
    ...combineModelRules(modelRules),
  }))
}
