import { cleanBaseURL } from './base-url.ts'
import { bearer, credentials } from './credentials.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Voyage AI: embeddings and rerank, no chat. `baseURL` defaults to `https://api.voyageai.com/v1`. */
export function voyage({
  apiKey,
  baseURL = 'https://api.voyageai.com/v1',
  headers = {},
}: UpstreamOptions = {}): Upstream {
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
