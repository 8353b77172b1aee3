import type { Upstream } from './upstream.ts'
import { type FormatOptions, versioned } from './versioned.ts'

/**
 * Fireworks. `baseURL` defaults to `https://api.fireworks.ai/inference`, with or without `/v1`. It speaks chat, responses and
 * messages.
 */
export const fireworks = (options: FormatOptions<'chat' | 'responses' | 'messages'> = {}): Upstream =>
  versioned(
    {
      baseURL: 'https://api.fireworks.ai/inference',
      keyVariable: 'FIREWORKS_API_KEY',
      formats: ['chat', 'responses', 'messages'],
      operations: ['completions', 'embeddings'],
      quirks: {
        streamOptions: 'implied',
        topK: true,
        reasoningField: 'reasoning_content',
        toolChoices: 'names',
        lacks: { stream_options: 'refused' },
      },
    },
    options,
  )
