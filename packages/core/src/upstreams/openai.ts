import { cleanBaseURL } from './base-url.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** OpenAI. `baseURL` defaults to `https://api.openai.com/v1`. */
export function openai({
  apiKey,
  baseURL = 'https://api.openai.com/v1',
  headers = {},
}: UpstreamOptions = {}): Upstream {
  return {
    baseURL: cleanBaseURL(baseURL),
    formats: { chat: '/chat/completions' },
    headers: { ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
    passHeaders: [],
    quirks: {},
  }
}
