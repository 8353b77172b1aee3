import { compatibleProvider, type FormatOptions } from './openai-compatible.ts'
import type { Upstream } from './upstream.ts'

/**
 * OpenRouter. `baseURL` defaults to `https://openrouter.ai/api`, with or without `/v1`. It speaks chat, messages and
 * responses. The app's name and address that it shows in its rankings are `headers`: `X-OpenRouter-Title`, `HTTP-Referer`.
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
