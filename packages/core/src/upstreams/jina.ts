import { cleanBaseURL } from './base-url.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Jina: embeddings and rerank, no chat. `baseURL` defaults to `https://api.jina.ai/v1`. */
export function jina({ apiKey, baseURL = 'https://api.jina.ai/v1', headers = {} }: UpstreamOptions = {}): Upstream {
  return {
    baseURL: cleanBaseURL(baseURL),
    formats: {},
    operations: {
      embeddings: { jina: '/embeddings' },
      rerank: { jina: '/rerank' },
    },
    headers: { ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
    passHeaders: [],
    quirks: {},
  }
}
