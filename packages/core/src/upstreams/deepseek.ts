import { cleanBaseURL } from './base-url.ts'
import { allBut, usualFields } from './chat-fields.ts'
import { openaiCompatible } from './openai-compatible.ts'
import type { Upstream, UpstreamOptions } from './upstream.ts'

/**
 * DeepSeek. `baseURL` defaults to `https://api.deepseek.com`, with or without `/v1`. It speaks chat, responses and messages,
 * each at a place of its own.
 */
export function deepseek({ baseURL = 'https://api.deepseek.com', ...options }: UpstreamOptions = {}): Upstream {
  return {
    ...openaiCompatible({
      baseURL: cleanBaseURL(baseURL, '/v1'),
      formats: ['chat', 'responses', 'messages'],
      quirks: {
        maxTokensField: 'max_tokens',
        developerRole: 'system',
        reasoningField: 'reasoning_content',
        thinkingSwitch: true,
        jsonFormats: ['json_object'],
        toolChoices: 'names',
        efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
        lacks: allBut(
          [
            ...usualFields,
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
    }),
    formats: { chat: '/chat/completions', responses: '/responses', messages: '/anthropic/v1/messages' },
    operations: { completions: { openai: '/beta/completions' } },
  }
}
