import { cleanBaseURL } from './base-url.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Google's Gemini API. `baseURL` defaults to `https://generativelanguage.googleapis.com`, with or without `/v1beta`. */
export function gemini({
  apiKey,
  baseURL = 'https://generativelanguage.googleapis.com',
  headers = {},
}: UpstreamOptions = {}): Upstream {
  return {
    baseURL: cleanBaseURL(baseURL, '/v1beta'),
    formats: { gemini: '/v1beta/models' },
    countTokens: { gemini: '/v1beta/models' },
    operations: { embeddings: { 'gemini-batch': '/v1beta/models', gemini: '/v1beta/models' } },
    headers: { ...(apiKey === undefined ? {} : { 'x-goog-api-key': apiKey }), ...headers },
    passHeaders: [],
    quirks: {},
  }
}
