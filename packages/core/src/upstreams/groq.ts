import type { ModelRule } from '../formats/target-traits.ts'
import { allFieldsExcept, commonFields } from './chat-fields.ts'
import { compatibleProvider, type FormatOptions } from './openai-compatible.ts'
import type { Upstream } from './upstream.ts'

const facts = { checked: '2026-11-23', source: 'https://console.groq.com/docs/reasoning' } as const

/** Models reject any `reasoning_effort` that they don't support, and most support none. */
const groqModels: readonly ModelRule[] = [
  { model: 'gpt-oss', efforts: ['low', 'medium', 'high'], ...facts },
  { model: 'qwen3', efforts: ['none'], ...facts },
  { model: 'llama', efforts: [], ...facts },
  { model: 'kimi', efforts: [], ...facts },
  { model: 'compound', efforts: [], ...facts },
]

/**
 * Creates the upstream for Groq. `baseURL` defaults to `https://api.groq.com/openai`; it may include `/v1`. Formats: chat and
 * responses.
 */
export const groq = (options: FormatOptions<'chat' | 'responses'> = {}): Upstream =>
  compatibleProvider(
    {
      baseURL: 'https://api.groq.com/openai',
      keyVariable: 'GROQ_API_KEY',
      formats: ['chat', 'responses'],
      operations: ['transcriptions', 'translations', 'speech'],
      modelRules: groqModels,
      quirks: {
        maxTokensField: 'max_completion_tokens',
        reasoningField: 'reasoning',
        toolChoices: 'names',
        efforts: ['none', 'low', 'medium', 'high'],
        // Groq rejects these fields ("property '…' is unsupported"), generates one choice only, and ignores the penalties.
        lacks: {
          ...allFieldsExcept(
            [
              ...commonFields,
              'frequency_penalty',
              'function_call',
              'functions',
              'parallel_tool_calls',
              'presence_penalty',
              'reasoning_effort',
              'seed',
              'service_tier',
              'tool_choice',
              'user',
              'messages[].function_call',
              'messages[].reasoning',
            ],
            'refused',
          ),
          n: 'limited',
          frequency_penalty: 'ignored',
          presence_penalty: 'ignored',
        },
      },
    },
    options,
  )
