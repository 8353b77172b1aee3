import { compatibleProvider, type FormatOptions } from './openai-compatible.ts'
import type { Upstream } from './upstream.ts'

/**
 * Creates the upstream for OpenRouter. `baseURL` defaults to `https://openrouter.ai/api`; it may include `/v1`. Formats: chat,
 * messages and responses.
 *
 * To appear in its rankings, set `headers`: `X-OpenRouter-Title` (name of your app) and `HTTP-Referer` (its URL).
 */
export function openrouter(options: FormatOptions<'chat' | 'messages' | 'responses'> = {}): Upstream {
  const upstream = compatibleProvider(
    {
      baseURL: 'https://openrouter.ai/api',
      keyVariable: 'OPENROUTER_API_KEY',
      formats: ['chat', 'messages', 'responses'],
      operations: ['embeddings', 'rerank', 'transcriptions', 'speech'],
      quirks: {
        maxTokensField: 'max_completion_tokens',
        developerRole: 'developer',
        cacheControl: true,
        topK: true,
        reasoningObject: true,
        reasoningField: 'reasoning',
        documentUrls: 'file_data',
        toolChoices: 'names',
        lacks: { store: 'ignored', safety_identifier: 'ignored', prompt_cache_retention: 'ignored' },
      },
    },
    options,
  )
  if (upstream.problems !== undefined) return upstream
  return { ...upstream, operations: { ...upstream.operations, images: { openai: '/images' } } }
}
