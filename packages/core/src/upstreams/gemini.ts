import { cleanBaseURL } from './base-url.ts'
import { checkApiKey, credentials } from './credentials.ts'
import { modelRules as rulesOf } from './model-rules.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

const models = '/v1beta/models'

/** Google's Gemini API. `baseURL` defaults to `https://generativelanguage.googleapis.com`, with or without `/v1beta`. */
export function gemini(options: UpstreamOptions = {}): Upstream {
  checkApiKey(options, 'gemini')
  const { apiKey, baseURL = 'https://generativelanguage.googleapis.com', headers = {}, modelRules } = options
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
    ...credentials(apiKey, (key) => ({ 'x-goog-api-key': key }), headers),
    passHeaders: [],
    quirks: {},
    ...rulesOf(modelRules),
  }
}
