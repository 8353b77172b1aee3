import { cleanBaseURL } from './base-url.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

const models = '/v1beta/models'

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
    operations: {
      embeddings: { 'gemini-batch': models, gemini: models },
      images: { imagen: models, gemini: models },
      'image-edits': { gemini: models },
      transcriptions: { gemini: models },
      translations: { gemini: models },
      speech: { gemini: models },
    },
    headers: { ...(apiKey === undefined ? {} : { 'x-goog-api-key': apiKey }), ...headers },
    passHeaders: [],
    quirks: {},
  }
}
