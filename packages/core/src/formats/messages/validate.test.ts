import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/json.ts'
import { messagesCodec } from './index.ts'

const good: JsonObject = { model: 'claude', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }
const withMessages = (...messages: Json[]): JsonObject => ({ ...good, messages })
const withBlock = (block: Json): JsonObject => withMessages({ role: 'user', content: [block] })
const without = (key: string): JsonObject => Object.fromEntries(Object.entries(good).filter(([name]) => name !== key))

function complaint(body: Json): { message: string; param: string | undefined; status: number } {
  try {
    messagesCodec.validateRequest(body)
  } catch (error) {
    if (error instanceof GatewayError) {
      const { message, param, status } = error.info
      return { message, param, status }
    }
    throw error
  }
  throw new Error('the body passed')
}

describe('requests that Anthropic would reject', () => {
  test.each<[string, Json, string, string | undefined]>([
    ['no object', 'hello', 'Input should be a valid dictionary or object to extract fields from', undefined],
    ['no model', without('model'), 'model: Field required', 'model'],
    ['an empty model', { ...good, model: '' }, 'model: String should have at least 1 character', 'model'],
    ['a number as model', { ...good, model: 4 }, 'model: Input should be a valid string', 'model'],
    ['no messages', without('messages'), 'messages: Field required', 'messages'],
    ['empty messages', withMessages(), 'messages: at least one message is required', 'messages'],
    ['messages as text', { ...good, messages: 'Hi' }, 'messages: Input should be a valid list', 'messages'],
    ['no max_tokens', without('max_tokens'), 'max_tokens: Field required', 'max_tokens'],
    [
      'max_tokens 0',
      { ...good, max_tokens: 0 },
      'max_tokens: Input should be greater than or equal to 1',
      'max_tokens',
    ],
    [
      'max_tokens 1.5',
      { ...good, max_tokens: 1.5 },
      'max_tokens: Input should be a valid integer, got a number with a fractional part',
      'max_tokens',
    ],
    ['max_tokens as text', { ...good, max_tokens: '5' }, 'max_tokens: Input should be a valid integer', 'max_tokens'],
    [
      'temperature 1.1',
      { ...good, temperature: 1.1 },
      'temperature: Input should be less than or equal to 1',
      'temperature',
    ],
    [
      'temperature -0.1',
      { ...good, temperature: -0.1 },
      'temperature: Input should be greater than or equal to 0',
      'temperature',
    ],
    ['top_p as text', { ...good, top_p: '1' }, 'top_p: Input should be a valid number', 'top_p'],
    [
      'top_k 1.5',
      { ...good, top_k: 1.5 },
      'top_k: Input should be a valid integer, got a number with a fractional part',
      'top_k',
    ],
    ['stream as text', { ...good, stream: 'yes' }, 'stream: Input should be a valid boolean', 'stream'],
    [
      'a stop sequence that is not text',
      { ...good, stop_sequences: ['a', 1] },
      'stop_sequences.1: Input should be a valid string',
      'stop_sequences.1',
    ],
    ['system as a number', { ...good, system: 3 }, 'system: Input should be a valid list', 'system'],
    [
      'a message without content',
      withMessages({ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }, { role: 'user' }),
      'messages.2.content: Field required',
      'messages.2.content',
    ],
    [
      'a message with content null',
      withMessages({ role: 'user', content: null }),
      'messages.0.content: Input should be a valid list',
      'messages.0.content',
    ],
    ['a message without role', withMessages({ content: 'a' }), 'messages.0.role: Field required', 'messages.0.role'],
    [
      'an unknown role',
      withMessages({ role: 'user', content: 'a' }, { role: 'tool', content: 'b' }),
      "messages.1.role: Input should be 'user' or 'assistant'",
      'messages.1.role',
    ],
    [
      'a block without type',
      withBlock({ text: 'a' }),
      'messages.0.content.0.type: Field required',
      'messages.0.content.0.type',
    ],
    [
      'a text without text',
      withBlock({ type: 'text' }),
      'messages.0.content.0.text.text: Field required',
      'messages.0.content.0.text',
    ],
    [
      'an image without source',
      withBlock({ type: 'image' }),
      'messages.0.content.0.image.source: Field required',
      'messages.0.content.0.source',
    ],
    [
      'an image without data',
      withBlock({ type: 'image', source: { type: 'base64', media_type: 'image/png' } }),
      'messages.0.content.0.image.source.base64.data: Field required',
      'messages.0.content.0.source.data',
    ],
    [
      'a document without address',
      withBlock({ type: 'document', source: { type: 'url', url: null } }),
      'messages.0.content.0.document.source.url.url: Input should be a valid string',
      'messages.0.content.0.source.url',
    ],
    [
      'thinking without signature',
      withMessages({ role: 'assistant', content: [{ type: 'thinking', thinking: 'x' }] }),
      'messages.0.content.0.thinking.signature: Field required',
      'messages.0.content.0.signature',
    ],
    [
      'a tool result without its call',
      withBlock({ type: 'tool_result', content: 'x' }),
      'messages.0.content.0.tool_result.tool_use_id: Field required',
      'messages.0.content.0.tool_use_id',
    ],
    [
      'a block within a tool result',
      withBlock({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 1 }] }),
      'messages.0.content.0.tool_result.content.0.text.text: Input should be a valid string',
      'messages.0.content.0.content.0.text',
    ],
    [
      'a tool without schema',
      { ...good, tools: [{ name: 'f' }] },
      'tools.0.custom.input_schema: Field required',
      'tools.0.input_schema',
    ],
    [
      'a tool without name',
      { ...good, tools: [{ type: 'custom', input_schema: {} }] },
      'tools.0.custom.name: Field required',
      'tools.0.name',
    ],
    ['tools as an object', { ...good, tools: {} }, 'tools: Input should be a valid list', 'tools'],
    [
      'a tool choice without name',
      { ...good, tool_choice: { type: 'tool' } },
      'tool_choice.tool.name: Field required',
      'tool_choice.name',
    ],
    [
      'a tool choice as text',
      { ...good, tool_choice: 'auto' },
      'tool_choice: Input should be a valid dictionary or object to extract fields from',
      'tool_choice',
    ],
    [
      'thinking without budget',
      { ...good, thinking: { type: 'enabled' } },
      'thinking.enabled.budget_tokens: Field required',
      'thinking.budget_tokens',
    ],
    [
      'metadata as text',
      { ...good, metadata: 'me' },
      'metadata: Input should be a valid dictionary or object to extract fields from',
      'metadata',
    ],
  ])("are rejected with Anthropic's message: %s", (_, body, message, param) => {
    expect(complaint(body)).toEqual({ message, param, status: 400 })
  })
})

describe('new, optional and unknown fields', () => {
  test.each<[string, JsonObject]>([
    ['unknown fields', { ...good, speed: 'fast', nested: { a: [1] } }],
    ['unknown blocks', withBlock({ type: 'hologram', depth: 3 })],
    ['unknown sources', withBlock({ type: 'image', source: { type: 'memory' } })],
    ['unknown tools', { ...good, tools: [{ type: 'browser_20300101', mode: 'x' }] }],
    ['an unknown tool choice', { ...good, tool_choice: { type: 'perhaps' } }],
    ['an unknown kind of thinking', { ...good, thinking: { type: 'between_tools' } }],
    [
      'null for what is optional',
      { ...good, system: null, temperature: null, tools: null, thinking: null, stream: null },
    ],
    ['system as blocks', { ...good, system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }] }],
    ['system within the messages', withMessages({ role: 'user', content: 'a' }, { role: 'system', content: 'b' })],
    [
      'a system message that sets the effort only',
      withMessages({ role: 'user', content: 'a' }, { role: 'system', output_config: { effort: 'low' } }),
    ],
    ['an empty tool list', { ...good, tools: [] }],
    ['a tool result without content', withBlock({ type: 'tool_result', tool_use_id: 'a' })],
    ['bounds', { ...good, max_tokens: 1, temperature: 1, top_p: 1, top_k: 0 }],
    ['zero temperature', { ...good, temperature: 0 }],
  ])('pass unchanged: %s', (_, body) => {
    expect(messagesCodec.validateRequest(body)).toBe(body)
  })
})

test('rejects a thread with the code that makes the SDK send the whole conversation', () => {
  let error: unknown
  try {
    messagesCodec.validateRequest({ ...good, thread: { type: 'create' } })
  } catch (caught) {
    error = caught
  }
  expect(error).toBeInstanceOf(GatewayError)
  const { status, body } = messagesCodec.encodeError((error as GatewayError).info, 'req_1')
  expect(status).toBe(400)
  expect(body).toEqual({
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: expect.stringContaining('thread'),
      details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
    },
    request_id: 'req_1',
  })
})
