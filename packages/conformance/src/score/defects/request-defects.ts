import { type JsonObject, objectOf } from '../../base/json.ts'
import { dropped, goodToken, type Spoil, turns, worded } from './defect.ts'

const essentials: Readonly<Record<string, JsonObject>> = {
  'chat/completions': { messages: [{ role: 'user', content: 'Hello' }] },
  '/messages': { messages: [{ role: 'user', content: 'Hello' }] },
  ':generateContent': { contents: [{ parts: [{ text: 'Hello' }] }] },
  '/responses': { input: 'Hello' },
}
const named = { 'conformance-no-such-model': 'demo' }

/** Faults in the requests of clients. */
export const askedBadly: readonly Spoil[] = [
  {
    name: 'system prompts are left out',
    asked: (body) =>
      turns(({ role }) => role !== 'system' && role !== 'developer')(
        dropped('system', 'systemInstruction', 'system_instruction', 'instructions')(body),
      ),
    failed: ['*/system', 'chat/developer', 'messages/system-blocks', 'gemini/underscores', 'responses/items'],
  },
  {
    name: 'only the last turn is passed on',
    asked: turns((_, index, all) => index === all.length - 1),
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
    name: 'stop sequences are left out',
    asked: dropped('stop', 'stop_sequences', 'stopSequences'),
    failed: ['*/stop', 'messages/stop-sequence'],
  },
  {
    name: 'limits are left out',
    asked: (body) =>
      dropped(
        'max_completion_tokens',
        'maxOutputTokens',
        'max_output_tokens',
      )(body.max_tokens === 20 ? { ...body, max_tokens: 2000 } : body),
    failed: ['*/limit'],
  },
  {
    name: 'wishes for schemas are left out',
    asked: ({ text: _, ...body }) =>
      dropped('response_format', 'output_config', 'responseJsonSchema', 'responseSchema')(body),
    failed: ['*/schema', 'chat/json-object', 'gemini/google-schema'],
  },
  {
    name: 'wishes for other answers are left out',
    asked: (body, { pathname }) =>
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
    name: 'tools are left out',
    asked: dropped('tools', 'tool_choice', 'toolConfig'),
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
    name: 'choices of tools are left out',
    asked: dropped('tool_choice', 'toolConfig'),
    failed: ['*/no-tool', '*/named-tool'],
  },
  {
    name: 'wishes to think are left out',
    asked: dropped('reasoning_effort', 'thinking', 'thinkingConfig', 'reasoning', 'include'),
    failed: ['*/thinking', '*/thinking-with-tools'],
  },
  {
    name: 'seals are left out',
    asked: dropped('signature', 'thoughtSignature', 'encrypted_content'),
    failed: ['messages/thinking-with-tools', 'gemini/thinking-with-tools', 'responses/thinking-with-tools'],
  },
  { name: 'a temperature is put right', asked: dropped('temperature'), failed: ['*/bad-value'] },
  {
    name: 'requests are completed',
    asked: (body, { pathname }) => ({
      ...Object.entries(essentials).find(([end]) => pathname.endsWith(end))?.[1],
      ...body,
    }),
    failed: ['*/missing-field'],
  },
  {
    name: 'streams are not asked for',
    asked: dropped('stream', 'stream_options'),
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
    name: 'earlier responses are left out',
    asked: dropped('previous_response_id'),
    failed: ['responses/previous-response'],
  },
  {
    name: 'responses are not stored',
    asked: (body, url) => (url.pathname.endsWith('/responses') ? { ...body, store: false } : body),
    failed: ['responses/previous-response', 'responses/input-items'],
  },
  {
    name: 'every token is let in',
    headers: (headers) => {
      for (const [key, value] of headers)
        if (value.includes('conformance-token-nobody-knows'))
          headers.set(key, value.replace('conformance-token-nobody-knows', goodToken))
    },
    failed: ['*/wrong-token'],
  },
  {
    name: 'every model is let in',
    asked: (body) => objectOf(worded(['model'], named)(body)),
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
    name: 'keys in the query are left out',
    url: (url) => url.searchParams.delete('key'),
    failed: ['gemini/key-in-the-query'],
  },
  {
    name: 'streams are always events',
    url: (url) => {
      if (url.pathname.endsWith(':streamGenerateContent')) url.searchParams.set('alt', 'sse')
    },
    failed: ['gemini/array-stream'],
  },
]
