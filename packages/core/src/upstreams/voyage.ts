import { apiKeyHeaders, bearerHeader, cleanBaseURL, commonProblems, createUpstream } from './provider-options.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Creates the upstream for Voyage AI: embeddings and rerank, no chat. `baseURL` defaults to `https://api.voyageai.com/v1`. */
export function voyage(options: UpstreamOptions = {}): Upstream {
  const { apiKey, baseURL = 'https://api.voyageai.com/v1', headers = {} } = options
  return createUpstream(commonProblems(options, { apiKey: 'VOYAGE_API_KEY' }), () => ({
    baseURL: cleanBaseURL(baseURL),
    formats: {},
    operations: {
      embeddings: { voyage: '/embeddings' },
      rerank: { voyage: '/rerank' },
    },
    ...apiKeyHeaders(apiKey, bearerHeader, headers),
    passHeaders: [],
    quirks: {},
  }))
}
