import { describe, expect, test } from 'vitest'
import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import type { Json } from '../../base/json/json.ts'
import { chatCodec } from './codec.ts'

const messages = [{ role: 'user', content: 'hi' }]
const plain = { model: 'm', messages }
const say = (message: Json): Json => ({ model: 'm', messages: [message] })

function rejection(body: Json): ErrorInfo | undefined {
  try {
    chatCodec.validateRequest(body)
    return undefined
  } catch (error) {
    if (error instanceof GatewayError) return error.info
    throw error
  }
}

const mixed = 'expected one of a string or array of objects, but got'
const rejected: readonly (readonly [body: Json, message: string, param?: string, code?: string])[] = [
  [5, 'Invalid body: expected an object, but got an integer instead.'],
  [null, 'Invalid body: expected an object, but got null instead.'],
  [{ messages }, "Missing required parameter: 'model'.", 'model', 'missing_required_parameter'],
  [
    { ...plain, model: '' },
    "Invalid 'model': empty string. Expected a string with minimum length 1, but got an empty string instead.",
    'model',
    'empty_string',
  ],
  [
    { ...plain, model: 5 },
    "Invalid type for 'model': expected a string, but got an integer instead.",
    'model',
    'invalid_type',
  ],
  [{ model: 'm' }, "Missing required parameter: 'messages'.", 'messages', 'missing_required_parameter'],
  [
    { model: 'm', messages: [] },
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    'messages',
    'empty_array',
  ],
  [
    { model: 'm', messages: 'hi' },
    "Invalid type for 'messages': expected an array of objects, but got a string instead.",
    'messages',
    'invalid_type',
  ],
  [
    say({ content: 'x' }),
    "Missing required parameter: 'messages.0.role'.",
    'messages.0.role',
    'missing_required_parameter',
  ],
  [
    say({ role: 'robot', content: 'x' }),
    "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
    'messages.0.role',
    'invalid_value',
  ],
  [
    say({ role: 'user' }),
    "Missing required parameter: 'messages.0.content'.",
    'messages.0.content',
    'missing_required_parameter',
  ],
  [
    say({ role: 'user', content: null }),
    `Invalid type for 'messages.0.content': ${mixed} null instead.`,
    'messages.0.content',
    'invalid_type',
  ],
  [
    say({ role: 'user', content: 5 }),
    `Invalid type for 'messages.0.content': ${mixed} an integer instead.`,
    'messages.0.content',
    'invalid_type',
  ],
  [
    say({ role: 'user', content: [{ type: 'text' }] }),
    "Missing required parameter: 'messages.0.content.0.text'.",
    'messages.0.content.0.text',
    'missing_required_parameter',
  ],
  [
    say({ role: 'user', content: [{ text: 'x' }] }),
    "Missing required parameter: 'messages.0.content.0.type'.",
    'messages.0.content.0.type',
    'missing_required_parameter',
  ],
  [
    say({ role: 'user', content: [{ type: 'image_url', image_url: {} }] }),
    "Missing required parameter: 'messages.0.content.0.image_url.url'.",
    'messages.0.content.0.image_url.url',
    'missing_required_parameter',
  ],
  [
    say({ role: 'assistant' }),
    "Missing required parameter: 'messages.0.content'.",
    'messages.0.content',
    'missing_required_parameter',
  ],
  [
    say({ role: 'tool', content: 'x' }),
    "Missing required parameter: 'messages.0.tool_call_id'.",
    'messages.0.tool_call_id',
    'missing_required_parameter',
  ],
  [
    say({ role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: {} }] }),
    "Missing required parameter: 'messages.0.tool_calls.0.function.name'.",
    'messages.0.tool_calls.0.function.name',
    'missing_required_parameter',
  ],
  [
    { ...plain, temperature: 3 },
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    'temperature',
    'decimal_above_max_value',
  ],
  [
    { ...plain, temperature: -1 },
    "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
    'temperature',
    'decimal_below_min_value',
  ],
  [
    { ...plain, temperature: '1' },
    "Invalid type for 'temperature': expected a decimal, but got a string instead.",
    'temperature',
    'invalid_type',
  ],
  [
    { ...plain, top_p: 1.1 },
    "Invalid 'top_p': decimal above maximum value. Expected a value <= 1, but got 1.1 instead.",
    'top_p',
    'decimal_above_max_value',
  ],
  [
    { ...plain, n: 0 },
    "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    'n',
    'integer_below_min_value',
  ],
  [
    { ...plain, n: 1.5 },
    "Invalid type for 'n': expected an integer, but got a decimal number instead.",
    'n',
    'invalid_type',
  ],
  [
    { ...plain, seed: 'x' },
    "Invalid type for 'seed': expected an integer, but got a string instead.",
    'seed',
    'invalid_type',
  ],
  [
    { ...plain, max_completion_tokens: 0 },
    "Invalid 'max_completion_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    'max_completion_tokens',
    'integer_below_min_value',
  ],
  [
    { ...plain, presence_penalty: -3 },
    "Invalid 'presence_penalty': decimal below minimum value. Expected a value >= -2, but got -3 instead.",
    'presence_penalty',
    'decimal_below_min_value',
  ],
  [
    { ...plain, frequency_penalty: 2.5 },
    "Invalid 'frequency_penalty': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
    'frequency_penalty',
    'decimal_above_max_value',
  ],
  [
    { ...plain, stop: 5 },
    "Invalid type for 'stop': expected one of a string or array of strings, but got an integer instead.",
    'stop',
    'invalid_type',
  ],
  [
    { ...plain, stop: ['a', 5] },
    "Invalid type for 'stop.1': expected a string, but got an integer instead.",
    'stop.1',
    'invalid_type',
  ],
  [
    { ...plain, tool_choice: 5 },
    "Invalid type for 'tool_choice': expected one of a string or an object, but got an integer instead.",
    'tool_choice',
    'invalid_type',
  ],
  [
    { ...plain, tools: [{ type: 'function', function: {} }] },
    "Missing required parameter: 'tools.0.function.name'.",
    'tools.0.function.name',
    'missing_required_parameter',
  ],
  [
    { ...plain, tools: {} },
    "Invalid type for 'tools': expected an array, but got an object instead.",
    'tools',
    'invalid_type',
  ],
  [
    { ...plain, reasoning_effort: 'hard' },
    "Invalid value: 'hard'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.",
    'reasoning_effort',
    'invalid_value',
  ],
  [
    { ...plain, stream: 'true' },
    "Invalid type for 'stream': expected a boolean, but got a string instead.",
    'stream',
    'invalid_type',
  ],
  [
    { ...plain, logit_bias: [] },
    "Invalid type for 'logit_bias': expected an object, but got an array instead.",
    'logit_bias',
    'invalid_type',
  ],
  [
    { ...plain, modalities: 'text' },
    "Invalid type for 'modalities': expected an array of strings, but got a string instead.",
    'modalities',
    'invalid_type',
  ],
  [
    { ...plain, response_format: {} },
    "Missing required parameter: 'response_format.type'.",
    'response_format.type',
    'missing_required_parameter',
  ],
]

const accepted: [title: string, body: Json][] = [
  ['the required fields only', plain],
  ['values at their bounds', { ...plain, temperature: 2, top_p: 0, n: 1, presence_penalty: -2, frequency_penalty: 2 }],
  ['null in optional fields', { ...plain, temperature: null, stop: null, tools: null, response_format: null, n: null }],
  [
    'unknown fields at every level',
    { ...plain, invented: 1, messages: [{ role: 'user', content: 'x', prefix: true }] },
  ],
  ['unknown part types', say({ role: 'user', content: [{ type: 'video_url', video_url: { url: 'u' } }] })],
  ['unknown tool types', { ...plain, tools: [{ type: 'openrouter:web_search' }] }],
  ['functions without a type or parameters', { ...plain, tools: [{ function: { name: 'f' } }] }],
  [
    'calls without content',
    say({ role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] }),
  ],
  ['reasoning without content', say({ role: 'assistant', content: null, reasoning_content: 'hm' })],
  [
    'a custom call',
    say({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'c', input: 'x' } }],
    }),
  ],
  ['a list in stop', { ...plain, stop: ['a', 'b'] }],
  ['an object in tool_choice', { ...plain, tool_choice: { type: 'function', function: { name: 'f' } } }],
  ['an image as a bare URL', say({ role: 'user', content: [{ type: 'image_url', image_url: 'https://a' }] })],
  ['the effort xhigh', { ...plain, reasoning_effort: 'xhigh' }],
  ['a big seed', { ...plain, seed: 2 ** 60 }],
]

describe('chat requests', () => {
  test.each(rejected)('are rejected with a 400 for the body %j', (body, message, param, code) => {
    const info = rejection(body as Json)
    expect(info).toMatchObject({ kind: 'invalid_request', status: 400, message })
    expect(info?.param).toBe(param)
    expect(info?.code).toBe(code)
  })

  test.each(accepted)('are accepted unchanged with %s', (_, body: Json) => {
    expect(rejection(body)).toBeUndefined()
    expect(chatCodec.validateRequest(body)).toBe(body)
  })
})
