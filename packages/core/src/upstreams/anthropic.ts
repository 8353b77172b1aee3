import { cleanBaseURL } from './base-url.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Anthropic. `baseURL` defaults to `https://api.anthropic.com`, with or without `/v1`. */
export function anthropic({
  apiKey,
  baseURL = 'https://api.anthropic.com',
  headers = {},
}: UpstreamOptions = {}): Upstream {
  return {
    baseURL: cleanBaseURL(baseURL, '/v1'),
    formats: { messages: '/v1/messages' },
    countTokens: { messages: '/v1/messages/count_tokens' },
    headers: {
      'anthropic-version': '2023-06-01',
      ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
      ...headers,
    },
    passHeaders: ['anthropic-version', 'anthropic-beta'],
    quirks: {},
  }
}
