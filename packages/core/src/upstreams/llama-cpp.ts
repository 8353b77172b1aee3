import type { Upstream } from './upstream.ts'
import { type FormatOptions, versioned } from './versioned.ts'

/** The server of llama.cpp. `baseURL` defaults to `http://localhost:8080`, with or without `/v1`. It speaks chat, messages and responses. */
export const llamaCpp = (options: FormatOptions<'chat' | 'messages' | 'responses'> = {}): Upstream =>
  versioned(
    {
      baseURL: 'http://localhost:8080',
      formats: ['chat', 'messages', 'responses'],
      countTokens: ['messages', 'responses'],
      operations: ['completions', 'embeddings', 'rerank'],
      quirks: {
        topK: true,
        reasoningField: 'reasoning_content',
        // It takes a function by its name for `auto`, and says nothing.
        toolChoices: 'words',
        lacks: {
          user: 'ignored',
          metadata: 'ignored',
          store: 'ignored',
          service_tier: 'ignored',
          verbosity: 'ignored',
        },
      },
    },
    options,
  )
