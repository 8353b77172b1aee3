import { compatibleProvider, type FormatOptions } from './openai-compatible.ts'
import type { Upstream } from './upstream.ts'

/**
 * Creates the upstream for Fireworks. `baseURL` defaults to `https://api.fireworks.ai/inference`; it may include `/v1`. Formats: chat
 *, responses and messages.
 */
export const fireworks = (options: FormatOptions<'chat' | 'responses' | 'messages'> = {}): Upstream =>
  compatibleProvider(
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
