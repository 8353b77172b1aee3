import { allFieldsExcept, commonFields } from './chat-fields.ts'
import { compatibleProvider } from './openai-compatible.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/**
 * Mistral. `baseURL` defaults to `https://api.mistral.ai`, with or without `/v1`.
 *
 * Its moderations do not say whether a text is `flagged`, its speech takes a voice of its own making, and its completions
 * fill in the middle of code: none of them is what OpenAI's clients mean by these.
 */
export const mistral = (options: UpstreamOptions = {}): Upstream =>
  compatibleProvider(
    {
      baseURL: 'https://api.mistral.ai',
      keyVariable: 'MISTRAL_API_KEY',
      operations: ['embeddings', 'transcriptions'],
      quirks: {
        maxTokensField: 'max_tokens',
        developerRole: 'system',
        streamOptions: 'implied',
        documentUrls: 'document_url',
        bareAudio: true,
        shortCallIds: true,
        toolChoices: 'names',
        efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'],
        fieldNames: { seed: 'random_seed' },
        // Each unknown field is a 422, in messages too; but results of tools do take a name.
        lacks: {
          ...allFieldsExcept(
            [
              ...commonFields,
              'frequency_penalty',
              'metadata',
              'n',
              'parallel_tool_calls',
              'prediction',
              'presence_penalty',
              'prompt_cache_key',
              'reasoning_effort',
              'seed',
              'service_tier',
              'tool_choice',
              'messages[].name',
            ],
            'refused',
          ),
          stream_options: 'refused',
          'messages[system].name': 'refused',
          'messages[developer].name': 'refused',
          'messages[user].name': 'refused',
          'messages[assistant].name': 'refused',
        },
      },
    },
    options,
  )
