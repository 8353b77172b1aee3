import { allBut, usualFields } from './chat-fields.ts'
import type { Upstream } from './upstream.ts'
import { type FormatOptions, versioned } from './versioned.ts'

/** vLLM. `baseURL` defaults to `http://localhost:8000`, with or without `/v1`. It speaks chat, responses and messages. */
export const vllm = (options: FormatOptions<'chat' | 'responses' | 'messages'> = {}): Upstream =>
  versioned(
    {
      baseURL: 'http://localhost:8000',
      formats: ['chat', 'responses', 'messages'],
      countTokens: ['messages'],
      operations: ['completions', 'embeddings', 'rerank', 'transcriptions', 'translations'],
      quirks: {
        topK: true,
        reasoningField: 'reasoning',
        toolChoices: 'names',
        lacks: allBut(
          [
            ...usualFields,
            'frequency_penalty',
            'logit_bias',
            'logprobs',
            'n',
            'parallel_tool_calls',
            'presence_penalty',
            'reasoning_effort',
            'seed',
            'tool_choice',
            'top_k',
            'top_logprobs',
            'messages[].name',
            'messages[].reasoning',
            'messages[].reasoning_content',
          ],
          'ignored',
        ),
      },
    },
    options,
  )
