import { allFieldsExcept, commonFields } from './chat-fields.ts'
import { compatibleProvider, type FormatOptions } from './openai-compatible.ts'
import type { Upstream } from './upstream.ts'

/**
 * Creates the upstream for Together. `baseURL` defaults to `https://api.together.ai`; it may include `/v1`. Formats: chat (default), and
 * messages for some models. To use messages with one of those, list it in `formats`.
 */
export const together = ({ formats = ['chat'], ...options }: FormatOptions<'chat' | 'messages'> = {}): Upstream =>
  compatibleProvider(
    {
      baseURL: 'https://api.together.ai',
      keyVariable: 'TOGETHER_API_KEY',
      formats: ['chat', 'messages'],
      operations: ['completions', 'embeddings', 'rerank', 'images', 'transcriptions', 'translations', 'speech'],
      quirks: {
        maxTokensField: 'max_tokens',
        developerRole: 'system',
        topK: true,
        toolChoices: 'names',
        efforts: ['low', 'medium', 'high'],
        lacks: {
          ...allFieldsExcept(
            [
              ...commonFields,
              'frequency_penalty',
              'function_call',
              'logit_bias',
              'n',
              'presence_penalty',
              'reasoning',
              'reasoning_effort',
              'seed',
              'tool_choice',
              'top_k',
              'messages[].name',
              'messages[].function_call',
            ],
            'ignored',
          ),
          // Together expects a number in `logprobs`, and its responses have a shape of their own.
          logprobs: 'refused',
          top_logprobs: 'refused',
        },
      },
    },
    { formats, ...options },
  )
