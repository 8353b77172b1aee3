import { cleanBaseURL } from './base-url.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/**
 * Google Gemini, by its OpenAI-compatible endpoint. `baseURL` defaults to `https://generativelanguage.googleapis.com`,
 * with or without `/v1beta`.
 */
export function gemini({
  apiKey,
  baseURL = 'https://generativelanguage.googleapis.com',
  headers = {},
}: UpstreamOptions = {}): Upstream {
  return {
    baseURL: cleanBaseURL(baseURL, '/v1beta'),
    formats: { chat: '/v1beta/openai/chat/completions' },
    headers: { ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
    passHeaders: [],
    quirks: { developerRole: 'system' },
  }
}
