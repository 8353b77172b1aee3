import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../base/json.ts'
import { createFakeProvider } from '../index.ts'
import { chatBody, messagesBody, requestTo } from '../provider/requests.test-support.ts'

const call1 = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }
const use1 = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }
const result1 = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }
const user = { role: 'user', content: 'Hi' }

const chatCases: [name: string, body: JsonObject, message: string, rest: JsonObject][] = [
  ['no model', { messages: [user] }, 'you must provide a model parameter', { param: null, code: null }],
  [
    'no messages',
    { model: 'm' },
    "Missing required parameter: 'messages'.",
    { param: 'messages', code: 'missing_required_parameter' },
  ],
  [
    'empty messages',
    { model: 'm', messages: [] },
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    { param: 'messages', code: 'empty_array' },
  ],
  [
    'unknown field',
    chatBody('x', { foo: 1 }),
    "Unknown parameter: 'foo'.",
    { param: 'foo', code: 'unknown_parameter' },
  ],
  [
    'a field of another format',
    chatBody('x', { stop_sequences: ['a'] }),
    "Unknown parameter: 'stop_sequences'.",
    { param: 'stop_sequences' },
  ],
  [
    'temperature',
    chatBody('x', { temperature: 2.5 }),
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
    { code: 'decimal_above_max_value' },
  ],
  [
    'n',
    chatBody('x', { n: 0 }),
    "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    { code: 'integer_below_min_value' },
  ],
  [
    'type',
    chatBody('x', { temperature: 'hot' }),
    "Invalid type for 'temperature': expected a decimal, but got a string instead.",
    { code: 'invalid_type' },
  ],
  [
    'role',
    chatBody('x', { messages: [{ role: 'model', content: 'x' }] }),
    "Invalid value: 'model'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
    { param: 'messages[0].role' },
  ],
  [
    'unknown part type',
    chatBody('x', { messages: [{ role: 'user', content: [{ type: 'image' }] }] }),
    "Invalid value: 'image'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.",
    { param: 'messages[0].content[0].type' },
  ],
  [
    'stream_options',
    chatBody('x', { stream_options: { include_usage: true } }),
    "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    { param: 'stream_options' },
  ],
  [
    'tool message without a call',
    chatBody('x', { messages: [user, { role: 'tool', tool_call_id: 'call_1', content: 'x' }] }),
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    { param: 'messages.[1].role' },
  ],
  [
    'call without a result',
    chatBody('x', { messages: [user, { role: 'assistant', content: null, tool_calls: [call1] }, user] }),
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
    { param: 'messages.[2].role' },
  ],
  [
    'JSON mode without the word JSON',
    chatBody('x', { response_format: { type: 'json_object' } }),
    "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    { param: 'messages' },
  ],
  [
    'schema without a name',
    chatBody('x', { response_format: { type: 'json_schema', json_schema: {} } }),
    "Missing required parameter: 'response_format.json_schema.name'.",
    {},
  ],
  [
    'tool_choice without tools',
    chatBody('x', { tool_choice: 'auto' }),
    "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
    {},
  ],
  [
    'both token limits',
    chatBody('x', { max_tokens: 1, max_completion_tokens: 1 }),
    "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
    {},
  ],
  [
    'effort',
    chatBody('x', { reasoning_effort: 'huge' }),
    "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.",
    {},
  ],
]

const thinking = { type: 'enabled', budget_tokens: 1024 }
const messagesCases: [name: string, body: JsonObject, message: string][] = [
  ['no max_tokens', { model: 'm', messages: [user] }, 'max_tokens: Field required'],
  ['no model', { max_tokens: 1, messages: [user] }, 'model: Field required'],
  ['zero max_tokens', messagesBody('x', { max_tokens: 0 }), 'max_tokens: Input should be greater than or equal to 1'],
  ['unknown field', messagesBody('x', { foo: 1 }), 'foo: Extra inputs are not permitted'],
  ['a field of another format', messagesBody('x', { n: 2 }), 'n: Extra inputs are not permitted'],
  ['temperature out of range', messagesBody('x', { temperature: 1.5 }), 'temperature: range: 0..1'],
  ['empty messages', messagesBody('x', { messages: [] }), 'messages: at least one message is required'],
  [
    'empty content',
    messagesBody('x', { messages: [{ role: 'user', content: '' }] }),
    'messages.0: all messages must have non-empty content except for the optional final assistant message',
  ],
  [
    'empty text',
    messagesBody('x', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }),
    'messages: text content blocks must be non-empty',
  ],
  [
    'message field of another format',
    messagesBody('x', { messages: [{ role: 'user', content: 'x', name: 'ada' }] }),
    'messages.0.name: Extra inputs are not permitted',
  ],
  [
    'block field of another format',
    messagesBody('x', { messages: [{ role: 'user', content: [{ type: 'text', text: 'x', annotations: [] }] }] }),
    'messages.0.content.0.text.annotations: Extra inputs are not permitted',
  ],
  [
    'block of another format',
    messagesBody('x', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }),
    "messages.0.content.0: Input tag 'image_url' found using 'type' does not match any of the expected tags: 'text', 'image', 'document', 'search_result', 'tool_result'",
  ],
  [
    'unknown tool role',
    messagesBody('x', { messages: [{ role: 'tool', content: 'x' }] }),
    'messages: Unexpected role "tool". Allowed roles are "user" or "assistant". For more information, see https://docs.claude.com/en/api/messages',
  ],
  [
    'tool result without a call',
    messagesBody('x', { messages: [{ role: 'user', content: [result1] }] }),
    'messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
  ],
  [
    'tool use without a result',
    messagesBody('x', { messages: [user, { role: 'assistant', content: [use1] }, user] }),
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
  ],
  [
    'unsupported image type',
    messagesBody('x', {
      messages: [
        {
          role: 'user',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/svg+xml', data: 'AA==' } }],
        },
      ],
    }),
    "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif', 'image/webp'",
  ],
  [
    'thinking budget below the minimum',
    messagesBody('x', { thinking: { type: 'enabled', budget_tokens: 100 } }),
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
  ],
  [
    'thinking budget beyond max_tokens',
    messagesBody('x', { thinking }),
    '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size',
  ],
  [
    'invalid signature',
    messagesBody('x', {
      messages: [user, { role: 'assistant', content: [{ type: 'thinking', thinking: 'a', signature: 'b' }] }, user],
    }),
    'messages.1.content.0: Invalid `signature` in `thinking` block',
  ],
  [
    'tool loop without thinking',
    messagesBody('x', {
      max_tokens: 9000,
      thinking,
      messages: [user, { role: 'assistant', content: [use1] }, { role: 'user', content: [result1] }],
    }),
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking',
  ],
  ['tool without schema', messagesBody('x', { tools: [{ name: 'f' }] }), 'tools.0.custom.input_schema: Field required'],
  [
    'tool with a field of another format',
    messagesBody('x', { tools: [{ name: 'f', input_schema: { type: 'object' }, parameters: {} }] }),
    'tools.0.custom.parameters: Extra inputs are not permitted',
  ],
  [
    'thread',
    messagesBody('x', { thread: { type: 'create' } }),
    'thread: this endpoint keeps no threads. Send the whole conversation in `messages`.',
  ],
]

describe('invalid request', () => {
  it.each(chatCases)('is rejected by Chat Completions: %s', async (_name, body, message, rest) => {
    const response = await createFakeProvider().fetch(requestTo('/v1/chat/completions', body))
    expect(response.status).toBe(400)
    expect((await response.json()).error).toMatchObject({ message, type: 'invalid_request_error', ...rest })
  })

  it.each(messagesCases)('is rejected by Messages: %s', async (_name, body, message) => {
    const response = await createFakeProvider().fetch(requestTo('/v1/messages', body))
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error', message } })
  })

  it('is accepted if validation is disabled', async () => {
    const provider = createFakeProvider({ validate: false })
    expect((await provider.fetch(requestTo('/v1/messages', messagesBody('x', { foo: 1 })))).status).toBe(200)
    expect((await provider.fetch(requestTo('/v1/chat/completions', chatBody('x', { foo: 1 })))).status).toBe(200)
  })
})

describe('authentication and routing', () => {
  const status = async (path: string, init: RequestInit) => {
    const response = await createFakeProvider({ models: ['demo-chat', 'demo-messages'] }).fetch(
      `http://fake.invalid${path}`,
      init,
    )
    return { status: response.status, error: (await response.json()).error }
  }
  const json = (body: JsonObject, headers: Record<string, string>) => ({
    method: 'POST',
    body: JSON.stringify(body),
    headers,
  })
  const version = { 'anthropic-version': '2023-06-01' }

  it.each([
    ['no key (chat)', '/v1/chat/completions', json(chatBody('x'), {}), 401, "You didn't provide an API key."],
    [
      'x-api-key instead of a bearer token for OpenAI',
      '/v1/chat/completions',
      json(chatBody('x'), { 'x-api-key': 'k' }),
      401,
      "You didn't provide",
    ],
    ['no key (messages)', '/v1/messages', json(messagesBody('x'), version), 401, 'x-api-key header is required'],
    [
      'a missing version',
      '/v1/messages',
      json(messagesBody('x'), { 'x-api-key': 'k' }),
      400,
      'anthropic-version: header is required',
    ],
    [
      'an invalid version',
      '/v1/messages',
      json(messagesBody('x'), { 'x-api-key': 'k', 'anthropic-version': 'latest' }),
      400,
      'anthropic-version: "latest" is not a valid version.',
    ],
    [
      'an unknown model (chat)',
      '/chat/completions',
      json(chatBody('x', { model: 'gpt-x' }), { authorization: 'Bearer k' }),
      404,
      'The model `gpt-x` does not exist or you do not have access to it.',
    ],
    [
      'an unknown model (messages)',
      '/messages',
      json(messagesBody('x', { model: 'c' }), { 'x-api-key': 'k', ...version }),
      404,
      'model: c',
    ],
    ['an unknown path', '/v1/nothing', json({}, { authorization: 'Bearer k' }), 404, 'Invalid URL (POST /v1/nothing)'],
    ['a wrong method', '/v1/chat/completions', { method: 'GET' }, 405, 'Not allowed to GET on /v1/chat/completions'],
    [
      'a body that is not valid JSON',
      '/v1/chat/completions',
      { method: 'POST', body: '{', headers: { authorization: 'Bearer k' } },
      400,
      'We could not parse the JSON body',
    ],
  ] satisfies [string, string, RequestInit, number, string][])(
    'reject %s',
    async (_name, path, init, wanted, message) => {
      const got = await status(path, init)
      expect(got.status).toBe(wanted)
      expect(got.error.message).toContain(message)
    },
  )

  it('accept the key of an Anthropic client as a bearer token', async () => {
    const provider = createFakeProvider({ apiKey: (key) => key.startsWith('sk-') })
    const send = (authorization: string) =>
      provider.fetch('http://fake.invalid/v1/messages', json(messagesBody('x'), { authorization, ...version }))
    expect((await send('Bearer sk-1')).status).toBe(200)
    expect((await send('Bearer other')).status).toBe(401)
  })
})
