import { cleanBaseURL } from './base-url.ts'
import { bearer, checkApiKey, credentials } from './credentials.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Voyage AI: embeddings and rerank, no chat. `baseURL` defaults to `https://api.voyageai.com/v1`. */
export function voyage(options: UpstreamOptions = {}): Upstream {
  checkApiKey(options, 'voyage')
  const { apiKey, baseURL = 'https://api.voyageai.com/v1', headers = {} } = options
  return {
    baseURL: cleanBaseURL(baseURL),
    formats: {},
    operations: {
      embeddings: { voyage: '/embeddings' },
      rerank: { voyage: '/rerank' },
    },
    ...credentials(apiKey, bearer, headers),
    passHeaders: [],
    quirks: {},
  }
}
