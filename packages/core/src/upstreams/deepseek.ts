import { allFieldsExcept, commonFields } from './chat-fields.ts'
import { compatibleUpstream } from './openai-compatible.ts'
import { cleanBaseURL, commonProblems, createUpstream } from './provider-options.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/**
 * Creates the upstream for DeepSeek. `baseURL` defaults to `https://api.deepseek.com`; it may include `/v1`. Formats: chat, responses and
 * messages, each under a path prefix of its own.
 */
export function deepseek(options: UpstreamOptions = {}): Upstream {
  const { baseURL = 'https://api.deepseek.com' } = options
  return createUpstream(commonProblems(options, { apiKey: 'DEEPSEEK_API_KEY' }), () => ({
    ...compatibleUpstream({
      formats: ['chat', 'responses', 'messages'],
      quirks: {
        maxTokensField: 'max_tokens',
        developerRole: 'system',
        reasoningField: 'reasoning_content',
        thinkingSwitch: true,
        jsonFormats: ['json_object'],
        toolChoices: 'names',
        efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
        lacks: allFieldsExcept(
          [
            ...commonFields,
            'frequency_penalty',
            'logprobs',
            'presence_penalty',
            'reasoning_effort',
            'tool_choice',
            'top_logprobs',
            'messages[].name',
            'messages[].reasoning_content',
          ],
          'ignored',
        ),
      },
      ...options,
      baseURL: cleanBaseURL(baseURL, '/v1'),
    }),
    formats: { chat: '/chat/completions', responses: '/responses', messages: '/anthropic/v1/messages' },
    operations: { completions: { openai: '/beta/completions' } },
  }))
}
