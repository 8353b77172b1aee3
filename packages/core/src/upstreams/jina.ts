import { apiKeyHeaders, bearerHeader, cleanBaseURL, commonProblems, createUpstream } from './provider-options.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Creates the upstream for Jina AI: embeddings and rerank, no chat. `baseURL` defaults to `https://api.jina.ai/v1`. */
export function jina(options: UpstreamOptions = {}): Upstream {
  const { apiKey, baseURL = 'https://api.jina.ai/v1', headers = {} } = options
  return createUpstream(commonProblems(options, { apiKey: 'JINA_API_KEY' }), () => ({
    baseURL: cleanBaseURL(baseURL),
    formats: {},
    operations: {
      embeddings: { jina: '/embeddings' },
      rerank: { jina: '/rerank' },
    },
    ...apiKeyHeaders(apiKey, bearerHeader, headers),
    passHeaders: [],
    quirks: {},
  }))
}
