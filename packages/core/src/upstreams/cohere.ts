import { cleanBaseURL } from './base-url.ts'
import { allBut, usualFields } from './chat-fields.ts'
import { commonProblems, createUpstream } from './check-options.ts'
import { bearer, credentials } from './credentials.ts'
import { modelRules as rulesOf } from './model-rules.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/**
 * Cohere: embeddings, rerank and transcriptions, and chat by its compatible endpoint. `baseURL` defaults to
 * `https://api.cohere.com`, with or without `/v2`.
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
    ...credentials(apiKey, bearer, headers),
    passHeaders: [],
    ...rulesOf(modelRules),
    quirks: {
      maxTokensField: 'max_tokens',
      developerRole: 'developer',
      streamOptions: false,
      toolChoices: 'words',
      efforts: ['none', 'high'],
      lacks: allBut(
        [
          ...usualFields,
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
