import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/json.ts'
import { responsesCodec } from './codec.ts'

const whole = (fields: JsonObject): JsonObject => ({ model: 'm', input: 'hi', ...fields })

function complaintAbout(body: Json): { message: string; param: string | undefined; code: string | undefined } {
  try {
    responsesCodec.validateRequest(body)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    const { kind, message, param, code } = error.info
    expect(kind).toBe('invalid_request')
    return { message, param, code }
  }
  return { message: '', param: undefined, code: undefined }
}

describe('a rejected body', () => {
  test.each<[Json, string | undefined, string | undefined, string]>([
    [{ input: 'x' }, 'model', 'missing_required_parameter', "Missing required parameter: 'model'."],
    [{ model: 'm' }, 'input', 'missing_required_parameter', "Missing required parameter: 'input'."],
    [
      whole({ input: 5 }),
      'input',
      'invalid_type',
      "Invalid type for 'input': expected one of a string or array of objects, but got an integer instead.",
    ],
    [
      whole({ temperature: 3 }),
      'temperature',
      'decimal_above_max_value',
      "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    ],
    [
      whole({ top_p: -1 }),
      'top_p',
      'decimal_below_min_value',
      "Invalid 'top_p': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
    ],
    [
      whole({ max_output_tokens: 0 }),
      'max_output_tokens',
      'integer_below_min_value',
      "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ],
    [
      whole({ max_output_tokens: 1.5 }),
      'max_output_tokens',
      'invalid_type',
      "Invalid type for 'max_output_tokens': expected an integer, but got a decimal number instead.",
    ],
    [
      whole({ top_logprobs: 21 }),
      'top_logprobs',
      'integer_above_max_value',
      "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but got 21 instead.",
    ],
    [
      whole({ stream: 'yes' }),
      'stream',
      'invalid_type',
      "Invalid type for 'stream': expected a boolean, but got a string instead.",
    ],
    [
      whole({ truncation: 'some' }),
      'truncation',
      'invalid_value',
      "Invalid value: 'some'. Supported values are: 'auto', and 'disabled'.",
    ],
    [
      whole({ reasoning: { effort: 'huge' } }),
      'reasoning.effort',
      'invalid_value',
      "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.",
    ],
    [
      whole({ input: [{ role: 'robot', content: 'x' }] }),
      'input.0.role',
      'invalid_value',
      "Invalid value: 'robot'. Supported values are: 'user', 'assistant', 'system', and 'developer'.",
    ],
    [
      whole({ input: [{ role: 'user' }] }),
      'input.0.content',
      'missing_required_parameter',
      "Missing required parameter: 'input.0.content'.",
    ],
    [
      whole({ input: [{ role: 'user', content: [{ type: 'input_text' }] }] }),
      'input.0.content.0.text',
      'missing_required_parameter',
      "Missing required parameter: 'input.0.content.0.text'.",
    ],
    [
      whole({ input: [{ type: 'function_call', name: 'f', arguments: '{}' }] }),
      'input.0.call_id',
      'missing_required_parameter',
      "Missing required parameter: 'input.0.call_id'.",
    ],
    [
      whole({ input: [{ type: 'function_call_output', call_id: 'c' }] }),
      'input.0.output',
      'missing_required_parameter',
      "Missing required parameter: 'input.0.output'.",
    ],
    [
      whole({ tools: [{ name: 'f' }] }),
      'tools.0.type',
      'missing_required_parameter',
      "Missing required parameter: 'tools.0.type'.",
    ],
    [
      whole({ tools: [{ type: 'function' }] }),
      'tools.0.name',
      'missing_required_parameter',
      "Missing required parameter: 'tools.0.name'.",
    ],
    [
      whole({ text: { format: { type: 'json_schema', schema: {} } } }),
      'text.format.name',
      'missing_required_parameter',
      "Missing required parameter: 'text.format.name'.",
    ],
    [[], undefined, undefined, 'Invalid body: expected an object, but got an array instead.'],
  ])('has the provider’s message: %j', (body, param, code, message) => {
    expect(complaintAbout(body)).toEqual({ message, param, code })
  })
})

describe('an accepted body', () => {
  test.each<JsonObject>([
    { prompt: { id: 'p' } },
    { previous_response_id: 'r' },
    { conversation: { id: 'c' } },
    { input: [] },
    { input: [{ id: 'msg_1' }] },
    { input: [{ type: 'from_next_year', anything: true }] },
    { input: [{ role: 'user', content: [{ type: 'input_smell', x: 1 }] }], next: {} },
    { input: 'x', tools: [{ type: 'hologram' }], tool_choice: { type: 'hologram' } },
    { input: 'x', instructions: null, temperature: null, tools: null, text: { format: null } },
    { input: 'x', reasoning: { effort: 'max', summary: 'auto', context: 'all_turns' } },
  ])('may hold %j', (fields) => {
    const body = { model: 'm', ...fields }
    expect(responsesCodec.validateRequest(body)).toBe(body)
  })
})
