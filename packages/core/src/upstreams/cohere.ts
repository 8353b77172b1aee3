import { allFieldsExcept, commonFields } from './chat-fields.ts'
import {
  apiKeyHeaders,
  bearerHeader,
  cleanBaseURL,
  combineModelRules,
  commonProblems,
  createUpstream,
} from './provider-options.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/**
 * Creates the upstream for Cohere: embeddings, rerank, transcriptions, and chat through its OpenAI-compatible endpoint. `baseURL` defaults
 * to `https://api.cohere.com`; it may include `/v2`.
 */
export function cohere(options: UpstreamOptions = {}): Upstream {
  const { apiKey, baseURL = 'https://api.cohere.com', headers = {}, modelRules } = options
  return createUpstream(commonProblems(options, { apiKey: 'COHERE_API_KEY' }), () => ({
    baseURL: cleanBaseURL(baseURL, '/v2'),
    formats: { chat: '/compatibility/v1/chat/completions' },
    operations: {
      embeddings: { cohere: '/v2/embed' },
      rerank: { cohere: '/v2/rerank', jina: '/v1/rerank' },
      transcriptions: { openai: '/v2/audio/transcriptions' },
    },
    ...apiKeyHeaders(apiKey, bearerHeader, headers),
    passHeaders: [],
    ...combineModelRules(modelRules),
    quirks: {
      maxTokensField: 'max_tokens',
      developerRole: 'developer',
      streamOptions: false,
      toolChoices: 'words',
      efforts: ['none', 'high'],
      lacks: allFieldsExcept(
        [
          ...commonFields,
          'frequency_penalty',
          'logprobs',
          'presence_penalty',
          'reasoning_effort',
          'seed',
          'tool_choice',
          'messages[].name',
          'messages[].refusal',
          'messages[].annotations',
        ],
        'refused',
      ),
    },
  }))
}
