import { allBut, usualFields } from './chat-fields.ts'
import type { Upstream } from './upstream.ts'
import { type FormatOptions, versioned } from './versioned.ts'

/**
 * Ollama, on its own machine or in its cloud (`https://ollama.com`, with an `apiKey`). `baseURL` defaults to
 * `http://localhost:11434`, with or without `/v1`. It speaks chat, messages (since 0.14) and responses (since 0.13.3).
 */
export const ollama = (options: FormatOptions<'chat' | 'messages' | 'responses'> = {}): Upstream =>
  versioned(
    {
      baseURL: 'http://localhost:11434',
      keyVariable: 'OLLAMA_API_KEY',
      formats: ['chat', 'messages', 'responses'],
      operations: ['completions', 'embeddings', 'transcriptions'],
      quirks: {
        maxTokensField: 'max_tokens',
        developerRole: 'system',
        reasoningField: 'reasoning',
        efforts: ['none', 'low', 'medium', 'high', 'max'],
        lacks: allBut(
          [
            ...usualFields,
            'frequency_penalty',
            'logprobs',
            'presence_penalty',
            'reasoning',
            'reasoning_effort',
            'seed',
            'top_logprobs',
            'messages[].name',
            'messages[].reasoning',
          ],
          'ignored',
        ),
      },
    },
    options,
  )
