import { apiKeyHeaders, cleanBaseURL, combineModelRules, commonProblems, createUpstream } from './provider-options.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

const models = '/v1beta/models'
const files = '/v1beta/files'

/**
 * Creates the upstream for Google's Gemini API. `baseURL` defaults to `https://generativelanguage.googleapis.com`; it may include
 * `/v1beta`. For Google Cloud use `vertex()`.
 */
export function gemini(options: UpstreamOptions = {}): Upstream {
  const { apiKey, baseURL = 'https://generativelanguage.googleapis.com', headers = {}, modelRules } = options
  return createUpstream(commonProblems(options, { apiKey: 'GEMINI_API_KEY' }), () => ({
    baseURL: cleanBaseURL(baseURL, '/v1beta'),
    formats: { gemini: '/v1beta/models' },
    countTokens: { gemini: '/v1beta/models' },
    live: '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
    operations: {
      embeddings: { 'gemini-batch': models, gemini: models },
      images: { imagen: models, gemini: models },
      'image-edits': { gemini: models },
      transcriptions: { gemini: models },
      translations: { gemini: models },
      speech: { gemini: models },
    },
    ...apiKeyHeaders(apiKey, (key) => ({ 'x-goog-api-key': key }), headers),
    objects: { files: { gemini: files }, caches: { gemini: '/v1beta/cachedContents' } },
    passHeaders: [],
    quirks: {},
    ...combineModelRules(modelRules),
  }))
}
