import { type JsonObject, objectOf } from '../../base/json.ts'
import { type Defect, dropped, goodToken, replacingValues, turns } from './defect.ts'

const essentials: Readonly<Record<string, JsonObject>> = {
  'chat/completions': { messages: [{ role: 'user', content: 'Hello' }] },
  '/messages': { messages: [{ role: 'user', content: 'Hello' }] },
  ':generateContent': { contents: [{ parts: [{ text: 'Hello' }] }] },
  '/responses': { input: 'Hello' },
}
const named = { 'conformance-no-such-model': 'demo' }

/** Defects in the handling of requests. */
export const requestDefects: readonly Defect[] = [
  {
    name: 'system prompts are dropped',
    changeRequest: (body) =>
      turns(({ role }) => role !== 'system' && role !== 'developer')(
        dropped('system', 'systemInstruction', 'system_instruction', 'instructions')(body),
      ),
    failed: ['*/system', 'chat/developer', 'messages/system-blocks', 'gemini/underscores', 'responses/items'],
  },
  {
    name: 'only the last turn reaches the model',
    changeRequest: turns((_, index, all) => index === all.length - 1),
    failed: [
      'chat/system',
      '*/turns',
      '*/parallel-tools',
      '*/tool-result',
      '*/streamed-tool-loop',
      '*/thinking-with-tools',
      'chat/developer',
      'messages/failed-tool',
      'responses/items',
    ],
  },
  {
    name: 'stop sequences are dropped',
    changeRequest: dropped('stop', 'stop_sequences', 'stopSequences'),
    failed: ['*/stop', 'messages/stop-sequence'],
  },
  {
    name: 'token limits are dropped',
    changeRequest: (body) =>
      dropped(
        'max_completion_tokens',
        'maxOutputTokens',
        'max_output_tokens',
      )(body.max_tokens === 20 ? { ...body, max_tokens: 2000 } : body),
    failed: ['*/limit'],
  },
  {
    name: 'response schemas are dropped',
    changeRequest: ({ text: _, ...body }) =>
      dropped('response_format', 'output_config', 'responseJsonSchema', 'responseSchema')(body),
    failed: ['*/schema', 'chat/json-object', 'gemini/google-schema'],
  },
  {
    name: 'optional output settings are dropped',
    changeRequest: (body, { pathname }) =>
      pathname.endsWith('/messages')
        ? body
        : dropped(
            'n',
            'candidateCount',
            'logprobs',
            'top_logprobs',
            'dimensions',
            'encoding_format',
            'top_n',
            'max_tokens',
          )(body),
    failed: [
      'chat/older-limit',
      'chat/choices',
      'chat/logprobs',
      'gemini/candidates',
      'embeddings/base64',
      'rerank/top-n',
    ],
  },
  {
    name: 'tools are dropped',
    changeRequest: dropped('tools', 'tool_choice', 'toolConfig'),
    failed: [
      '*/tool',
      '*/parallel-tools',
      '*/tool-result',
      '*/streamed-tool',
      '*/streamed-tool-loop',
      '*/thinking-with-tools',
      '*/named-tool',
    ],
  },
  {
    name: 'tool choices are dropped',
    changeRequest: dropped('tool_choice', 'toolConfig'),
    failed: ['*/no-tool', '*/named-tool'],
  },
  {
    name: 'thinking settings are dropped',
    changeRequest: dropped('reasoning_effort', 'thinking', 'thinkingConfig', 'reasoning', 'include'),
    failed: ['*/thinking', '*/thinking-with-tools'],
  },
  {
    name: 'reasoning signatures are dropped',
    changeRequest: dropped('signature', 'thoughtSignature', 'encrypted_content'),
    failed: ['messages/thinking-with-tools', 'gemini/thinking-with-tools', 'responses/thinking-with-tools'],
  },
  { name: 'an invalid temperature is corrected', changeRequest: dropped('temperature'), failed: ['*/bad-value'] },
  {
    name: 'missing required fields are filled in',
    changeRequest: (body, { pathname }) => ({
      ...Object.entries(essentials).find(([end]) => pathname.endsWith(end))?.[1],
      ...body,
    }),
    failed: ['*/missing-field'],
  },
  {
    name: 'the stream flag is dropped',
    changeRequest: dropped('stream', 'stream_options'),
    failed: [
      'chat/stream',
      'messages/stream',
      'responses/stream',
      'completions/stream',
      'chat/stream-usage',
      'messages/stream-usage',
      'responses/stream-usage',
      'chat/unicode',
      'messages/unicode',
      'responses/unicode',
      'chat/streamed-tool',
      'messages/streamed-tool',
      'responses/streamed-tool',
      'chat/streamed-tool-loop',
      'messages/streamed-tool-loop',
      'responses/streamed-tool-loop',
      'chat/stream-events',
      'messages/stream-events',
      'responses/stream-events',
    ],
  },
  {
    name: 'previous_response_id is dropped',
    changeRequest: dropped('previous_response_id'),
    failed: ['responses/previous-response'],
  },
  {
    name: 'responses are not stored',
    changeRequest: (body, url) => (url.pathname.endsWith('/responses') ? { ...body, store: false } : body),
    failed: ['responses/previous-response', 'responses/input-items'],
  },
  {
    name: 'every token is accepted',
    headers: (headers) => {
      for (const [key, value] of headers)
        if (value.includes('conformance-token-nobody-knows'))
          headers.set(key, value.replace('conformance-token-nobody-knows', goodToken))
    },
    failed: ['*/wrong-token'],
  },
  {
    name: 'every model is accepted',
    changeRequest: (body) => objectOf(replacingValues(['model'], named)(body)),
    url: (url) => {
      url.pathname = url.pathname.replace('conformance-no-such-model', 'demo')
    },
    failed: [
      '*/unknown-model',
      'completions/unknown-model',
      'embeddings/unknown-model',
      '*/error-body',
      'models/one-for-OpenAI',
    ],
  },
  {
    name: 'API keys in the query are ignored',
    url: (url) => url.searchParams.delete('key'),
    failed: ['gemini/key-in-the-query'],
  },
  {
    name: 'streams are always server-sent events',
    url: (url) => {
      if (url.pathname.endsWith(':streamGenerateContent')) url.searchParams.set('alt', 'sse')
    },
    failed: ['gemini/array-stream'],
  },
]
