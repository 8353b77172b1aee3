import type { Upstream } from './upstream.ts'
import { type FormatOptions, versioned } from './versioned.ts'

/** LM Studio. `baseURL` defaults to `http://localhost:1234`, with or without `/v1`. It speaks chat, responses and messages. */
export const lmStudio = (options: FormatOptions<'chat' | 'responses' | 'messages'> = {}): Upstream =>
  versioned(
    {
      baseURL: 'http://localhost:1234',
      formats: ['chat', 'responses', 'messages'],
      operations: ['completions', 'embeddings'],
      quirks: {
        topK: true,
        toolChoices: 'words',
        lacks: { n: 'ignored', user: 'ignored', metadata: 'ignored', store: 'ignored', service_tier: 'ignored' },
      },
    },
    options,
  )
