import { cleanBaseURL } from './base-url.ts'
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
    headers: { ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
    passHeaders: [],
    quirks: {},
  }
}
