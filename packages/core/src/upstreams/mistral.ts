import { allFieldsExcept, commonFields } from './chat-fields.ts'
import { compatibleProvider } from './openai-compatible.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/**
 * Creates the upstream for Mistral. `baseURL` defaults to `https://api.mistral.ai`; it may include `/v1`. Format: chat.
 *
 * Three of its endpoints are not offered, because they differ from OpenAI's. Moderations don't report `flagged`, speech accepts only
 * Mistral's own voices, and completions fill in the middle of code.
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
        // Mistral rejects each unknown field with 422, in messages too. Only tool results accept `name`.
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
