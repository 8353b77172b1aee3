import type { ModelRule } from '../formats/target-traits.ts'
import { allFieldsExcept, commonFields } from './chat-fields.ts'
import { compatibleProvider, type FormatOptions } from './openai-compatible.ts'
import type { Upstream } from './upstream.ts'

const facts = { checked: '2026-11-23', source: 'https://console.groq.com/docs/reasoning' } as const

/** Models refuse a `reasoning_effort` that they do not know, and most know none. */
const groqModels: readonly ModelRule[] = [
  { model: 'gpt-oss', efforts: ['low', 'medium', 'high'], ...facts },
  { model: 'qwen3', efforts: ['none'], ...facts },
  { model: 'llama', efforts: [], ...facts },
  { model: 'kimi', efforts: [], ...facts },
  { model: 'compound', efforts: [], ...facts },
]

/** Groq. `baseURL` defaults to `https://api.groq.com/openai`, with or without `/v1`. It speaks chat and responses. */
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
        // "property '…' is unsupported". Only one answer is made, and the penalties do nothing yet.
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
