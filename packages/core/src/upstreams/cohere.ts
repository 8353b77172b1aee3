import { cleanBaseURL } from './base-url.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Cohere: embeddings and rerank, and chat by its compatible endpoint. `baseURL` defaults to `https://api.cohere.com`, with or without `/v2`. */
export function cohere({ apiKey, baseURL = 'https://api.cohere.com', headers = {} }: UpstreamOptions = {}): Upstream {
  return {
    baseURL: cleanBaseURL(baseURL, '/v2'),
    formats: { chat: '/compatibility/v1/chat/completions' },
    operations: {
      embeddings: { cohere: '/v2/embed' },
      rerank: { cohere: '/v2/rerank', jina: '/v1/rerank' },
    },
    headers: { ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
    passHeaders: [],
    quirks: { maxTokensField: 'max_tokens', developerRole: 'developer', streamOptions: false },
  }
}
