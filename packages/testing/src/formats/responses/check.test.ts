import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../base/json.ts'
import { createFakeProvider } from '../../index.ts'
import { chatBody, requestTo, responsesBody } from '../../provider/requests.test-support.ts'

const user = { role: 'user', content: 'Hi' }
const call1 = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' }
const answer1 = { type: 'function_call_output', call_id: 'call_1', output: 'ok' }
const input = (...items: Json[]): JsonObject => responsesBody('', { input: items })
const tools = (...list: Json[]): JsonObject => responsesBody('x', { tools: list })
const loose = { type: 'object', properties: { a: { type: 'string' } } }
const open = { ...loose, additionalProperties: false, required: ['a'], properties: { a: loose } }

const cases: [name: string, body: JsonObject, message: string, rest: JsonObject][] = [
  [
    'no model',
    { input: 'x' },
    "Missing required parameter: 'model'.",
    { param: 'model', code: 'missing_required_parameter' },
  ],
  [
    'no input',
    { model: 'm' },
    'One of "input" or "previous_response_id" or \'prompt\' or \'conversation_id\' must be provided.',
    { param: 'input' },
  ],
  ['an unknown field', responsesBody('x', { foo: 1 }), "Unknown parameter: 'foo'.", { code: 'unknown_parameter' }],
  [
    'a field name of chat',
    responsesBody('x', { max_tokens: 100 }),
    "Unsupported parameter: 'max_tokens'. In the Responses API, this parameter has moved to 'max_output_tokens'. Try again with the new parameter. See the API documentation for more information: https://platform.openai.com/docs/api-reference/responses/create.",
    { code: 'unsupported_parameter' },
  ],
  [
    'a token limit below the minimum',
    responsesBody('x', { max_output_tokens: 10 }),
    "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 10 instead.",
    { code: 'integer_below_min_value' },
  ],
  [
    'an unknown effort',
    responsesBody('x', { reasoning: { effort: 'huge' } }),
    "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', and 'max'.",
    { param: 'reasoning.effort', code: 'invalid_value' },
  ],
  [
    'an unknown role',
    input({ role: 'tool', content: 'x' }),
    "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
    { param: 'input[0].role' },
  ],
  [
    'a content part of chat',
    input({ role: 'user', content: [{ type: 'text', text: 'x' }] }),
    "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', 'input_file', and 'input_audio'.",
    { param: 'input[0].content[0]' },
  ],
  [
    'a user part in an assistant message',
    input({ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }),
    "Invalid value: 'input_text'. Supported values are: 'output_text', and 'refusal'.",
    { param: 'input[0].content[0]' },
  ],
  [
    'an image part of chat',
    input({ role: 'user', content: [{ type: 'input_image', image_url: { url: 'x' } }] }),
    "Invalid type for 'input[0].content[0].image_url': expected a string, but got an object instead.",
    { code: 'invalid_type' },
  ],
  [
    'a call without its id',
    input({ type: 'function_call', name: 'f', arguments: '{}' }),
    "Missing required parameter: 'input[0].call_id'.",
    { code: 'missing_required_parameter' },
  ],
  [
    'arguments that are not a string',
    input({ ...call1, arguments: {} }, answer1),
    "Invalid type for 'input[0].arguments': expected a string, but got an object instead.",
    { code: 'invalid_type' },
  ],
  [
    'an id of another kind',
    input({ ...call1, id: 'call_1' }, answer1),
    "Invalid 'input[0].id': 'call_1'. Expected an ID that begins with 'fc'.",
    { param: 'input[0].id', code: 'invalid_value' },
  ],
  [
    'a call without an output',
    input(user, call1),
    'No tool output found for function call call_1.',
    { param: 'input', code: null },
  ],
  [
    'an output without a call',
    input(user, answer1),
    'No tool call found for function call output with call_id call_1.',
    { param: 'input' },
  ],
  [
    'encrypted reasoning of another provider',
    input(user, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'foreign-content' }, user),
    'The encrypted content fore...tent could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
    { param: null, code: 'invalid_encrypted_content' },
  ],
  [
    'a tool in the format of chat',
    tools({ type: 'function', function: { name: 'f' } }),
    "Missing required parameter: 'tools[0].name'.",
    { param: 'tools[0].name' },
  ],
  [
    'a non-strict schema declared as strict',
    tools({ type: 'function', name: 'f', parameters: loose, strict: true }),
    "Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be false.",
    { param: 'tools[0].parameters', code: 'invalid_function_parameters' },
  ],
  [
    'a nested non-strict schema declared as strict',
    responsesBody('x', { text: { format: { type: 'json_schema', name: 'a', schema: open, strict: true } } }),
    "Invalid schema for response_format 'a': In context=('properties', 'a'), 'additionalProperties' is required to be supplied and to be false.",
    { param: 'text.format.schema' },
  ],
  [
    'a tool choice of an unknown tool',
    responsesBody('x', { tool_choice: { type: 'function', name: 'g' } }),
    "Tool choice 'function' not found in 'tools' parameter.",
    { param: 'tool_choice' },
  ],
  [
    'an unknown value of include',
    responsesBody('x', { include: ['reasoning'] }),
    "Invalid value: 'reasoning'. Supported values are:",
    { param: 'include[0]' },
  ],
]

describe('invalid Responses request', () => {
  it.each(cases)('is rejected: %s', async (_name, body, message, rest) => {
    const response = await createFakeProvider().fetch(requestTo('/v1/responses', body))
    expect(response.status).toBe(400)
    const { error } = await response.json()
    expect(error).toMatchObject({ type: 'invalid_request_error', ...rest })
    expect(error.message).toContain(message)
  })

  it('is also rejected by Chat Completions for an invalid strict schema', async () => {
    const strict = { name: 'f', parameters: { ...loose, additionalProperties: false }, strict: true }
    const body = chatBody('x', { tools: [{ type: 'function', function: strict }] })
    const { error } = await (await createFakeProvider().fetch(requestTo('/v1/chat/completions', body))).json()
    expect(error).toMatchObject({
      message:
        "Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'a'.",
      param: 'tools[0].function.parameters',
      code: 'invalid_function_parameters',
    })
  })
})

it('compacts when a Responses request ends with the compaction item, and accepts the result', async () => {
  const provider = createFakeProvider()
  const send = async (...items: Json[]) => (await provider.fetch(requestTo('/v1/responses', input(...items)))).json()
  const { output } = await send(user, { type: 'compaction_trigger' })
  expect(output).toEqual([
    { id: expect.stringMatching(/^cmp_/), type: 'compaction', encrypted_content: expect.any(String) },
  ])
  expect((await send(...output, user)).status).toBe('completed')
  expect((await send({ ...output[0], encrypted_content: 'other' }, user)).error.code).toBe('invalid_encrypted_content')
})
