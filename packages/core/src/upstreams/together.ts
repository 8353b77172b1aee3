import { allFieldsExcept, commonFields } from './chat-fields.ts'
import { compatibleProvider, type FormatOptions } from './openai-compatible.ts'
import type { Upstream } from './upstream.ts'

/**
 * Together. `baseURL` defaults to `https://api.together.ai`, with or without `/v1`. It speaks chat; and messages, but for
 * some of its models only: name them in `formats` where yours is one of those.
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
          // It takes a number there, and answers in a form of its own.
          logprobs: 'refused',
          top_logprobs: 'refused',
        },
      },
    },
    { formats, ...options },
  )
