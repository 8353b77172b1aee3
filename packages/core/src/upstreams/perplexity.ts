import { allFieldsExcept, commonFields } from './chat-fields.ts'
import { compatibleUpstream } from './openai-compatible.ts'
import { cleanBaseURL, commonProblems, createUpstream } from './provider-options.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/**
 * Creates the upstream for Perplexity. `baseURL` defaults to `https://api.perplexity.ai`; it may include `/v1`. Its own models
 * (`sonar-pro`) speak chat; models of other vendors (`openai/gpt-5.5`) speak responses.
 *
 * Embeddings are not offered: Perplexity returns bytes instead of floats, which OpenAI's clients cannot read.
 */
export function perplexity(options: UpstreamOptions = {}): Upstream {
  const { baseURL = 'https://api.perplexity.ai' } = options
  return createUpstream(commonProblems(options, { apiKey: 'PERPLEXITY_API_KEY' }), () => ({
    ...compatibleUpstream({
      operations: [],
      quirks: {
        maxTokensField: 'max_tokens',
        developerRole: 'system',
        streamOptions: 'implied',
        doneOptional: true,
        topK: true,
        alternatingRoles: true,
        jsonFormats: ['json_schema'],
        toolChoices: 'words',
        efforts: ['minimal', 'low', 'medium', 'high'],
        lacks: allFieldsExcept(
          [
            ...commonFields,
            'frequency_penalty',
            'logprobs',
            'n',
            'parallel_tool_calls',
            'presence_penalty',
            'reasoning_effort',
            'tool_choice',
            'top_k',
            'top_logprobs',
            'web_search_options',
          ],
          'ignored',
        ),
      },
      ...options,
      baseURL: cleanBaseURL(baseURL, '/v1'),
    }),
    formats: { chat: '/chat/completions', responses: '/v1/responses' },
    serves: (format, model) => (format === 'responses') === model.includes('/'),
  }))
}
