import { allFieldsExcept, commonFields } from './chat-fields.ts'
import { compatibleProvider } from './openai-compatible.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/** Creates the upstream for Cerebras. `baseURL` defaults to `https://api.cerebras.ai`; it may include `/v1`. Format: chat. */
export const cerebras = (options: UpstreamOptions = {}): Upstream =>
  compatibleProvider(
    {
      baseURL: 'https://api.cerebras.ai',
      keyVariable: 'CEREBRAS_API_KEY',
      operations: ['completions'],
      modelRules: [
        {
          model: 'gpt-oss',
          efforts: ['low', 'medium', 'high'],
          checked: '2026-11-23',
          source: 'https://inference-docs.cerebras.ai/capabilities/reasoning',
        },
      ],
      quirks: {
        maxTokensField: 'max_completion_tokens',
        developerRole: 'developer',
        reasoningField: 'reasoning',
        toolChoices: 'names',
        efforts: ['none', 'low', 'medium', 'high'],
        // Cerebras rejects each unknown field with `wrong_api_format`.
        lacks: allFieldsExcept(
          [
            ...commonFields,
            'frequency_penalty',
            'logit_bias',
            'logprobs',
            'n',
            'parallel_tool_calls',
            'prediction',
            'presence_penalty',
            'prompt_cache_key',
            'reasoning_effort',
            'seed',
            'service_tier',
            'tool_choice',
            'top_logprobs',
            'user',
            'messages[].name',
            'messages[].reasoning',
          ],
          'refused',
        ),
      },
    },
    options,
  )
