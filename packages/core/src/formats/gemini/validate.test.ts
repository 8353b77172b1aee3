import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/json.ts'
import { geminiCodec } from './codec.ts'

const text = { text: 'hi' }
const ask = (...parts: Json[]): JsonObject => ({ contents: [{ role: 'user', parts }] })
const config = (generationConfig: Json): JsonObject => ({ ...ask(text), generationConfig })

function complaint(body: Json): [message: string, param: string | undefined] {
  try {
    geminiCodec.validateRequest(body)
  } catch (error) {
    if (error instanceof GatewayError) return [error.info.message.trim(), error.info.param]
    throw error
  }
  return ['', undefined]
}
const request = '* GenerateContentRequest.'

describe('a rejected request', () => {
  test.each<[string, Json, string, string | undefined]>([
    [
      'a body that is not an object',
      [],
      'Invalid JSON payload received. The root of the request is not an object.',
      undefined,
    ],
    ['no contents', {}, `${request}contents: contents is not specified`, 'contents'],
    ['null contents', { contents: null }, `${request}contents: contents is not specified`, 'contents'],
    ['empty contents', { contents: [] }, `${request}contents: contents is not specified`, 'contents'],
    ['contents that are a number', { contents: 5 }, "Invalid value at 'contents' (a list), 5", 'contents'],
    ['a content that is a number', { contents: [5] }, "Invalid value at 'contents[0]' (an object), 5", 'contents.0'],
    [
      'an unknown role',
      { contents: [{ role: 'assistant', parts: [text] }] },
      'Please use a valid role: user, model.',
      'contents.0.role',
    ],
    [
      'a content without parts',
      { contents: [{ role: 'user' }] },
      `${request}contents[0].parts: contents.parts must not be empty.`,
      'contents.0.parts',
    ],
    ['empty parts', ask(), `${request}contents[0].parts: contents.parts must not be empty.`, 'contents.0.parts'],
    [
      'an empty part',
      ask({}),
      `${request}contents[0].parts[0].data: required oneof field 'data' must have one initialized field`,
      'contents.0.parts.0.data',
    ],
    [
      'a text that is a number',
      ask({ text: 1 }),
      `Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 1`,
      'contents.0.parts.0.text',
    ],
    [
      'an invalid field in snake_case',
      { contents: [{ parts: [{ inline_data: { data: 1 } }] }] },
      `Invalid value at 'contents[0].parts[0].inline_data.data' (TYPE_STRING), 1`,
      'contents.0.parts.0.inline_data.data',
    ],
    [
      'missing data',
      ask({ inlineData: {} }),
      `${request}contents[0].parts[0].inline_data.data: data is not specified`,
      'contents.0.parts.0.inlineData.data',
    ],
    [
      'a call without a name',
      ask({ functionCall: { args: {} } }),
      `${request}contents[0].parts[0].function_call.name: Name cannot be empty.`,
      'contents.0.parts.0.functionCall.name',
    ],
    [
      'arguments as text',
      ask({ functionCall: { name: 'f', args: '{}' } }),
      `Invalid value at 'contents[0].parts[0].function_call.args' (an object), "{}"`,
      'contents.0.parts.0.functionCall.args',
    ],
    [
      'a response as text',
      ask({ functionResponse: { name: 'f', response: 'x' } }),
      `Invalid value at 'contents[0].parts[0].function_response.response' (an object), "x"`,
      'contents.0.parts.0.functionResponse.response',
    ],
    [
      'a temperature out of range',
      config({ temperature: 2.5 }),
      `${request}generation_config.temperature: temperature must be in the range [0.0, 2.0].`,
      'generationConfig.temperature',
    ],
    [
      'a temperature as text',
      config({ temperature: 'warm' }),
      `Invalid value at 'generation_config.temperature' (TYPE_FLOAT), "warm"`,
      'generationConfig.temperature',
    ],
    [
      'too many candidates',
      config({ candidateCount: 9 }),
      `${request}generation_config.candidate_count: candidate_count must be in the range [1, 8].`,
      'generationConfig.candidateCount',
    ],
    [
      'a fractional number of tokens',
      { ...ask(text), generation_config: { max_output_tokens: 1.5 } },
      `Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32), 1.5`,
      'generation_config.max_output_tokens',
    ],
    [
      'zero tokens',
      config({ maxOutputTokens: 0 }),
      `${request}generation_config.max_output_tokens: max_output_tokens must be positive.`,
      'generationConfig.maxOutputTokens',
    ],
    [
      'a topP out of range',
      config({ topP: -1 }),
      `${request}generation_config.top_p: top_p must be in the range [0.0, 1.0].`,
      'generationConfig.topP',
    ],
    [
      'stop sequences that are text',
      config({ stopSequences: 'x' }),
      `Invalid value at 'generation_config.stop_sequences' (a list), "x"`,
      'generationConfig.stopSequences',
    ],
    [
      'a stop sequence that is a number',
      config({ stopSequences: [1] }),
      `Invalid value at 'generation_config.stop_sequences[0]' (TYPE_STRING), 1`,
      'generationConfig.stopSequences.0',
    ],
    [
      'a thinking budget as text',
      config({ thinkingConfig: { thinkingBudget: 'all' } }),
      `Invalid value at 'generation_config.thinking_config.thinking_budget' (TYPE_INT32), "all"`,
      'generationConfig.thinkingConfig.thinkingBudget',
    ],
    ['a tool that is text', { ...ask(text), tools: ['x'] }, `Invalid value at 'tools[0]' (an object), "x"`, 'tools.0'],
    [
      'allowed names that are not a list',
      { ...ask(text), toolConfig: { functionCallingConfig: { allowedFunctionNames: 'f' } } },
      `Invalid value at 'tool_config.function_calling_config.allowed_function_names' (a list), "f"`,
      'toolConfig.functionCallingConfig.allowedFunctionNames',
    ],
  ])('has Google’s message for %s', (_, body, message, param) => {
    expect(complaint(body)).toEqual([message, param])
  })

  test('has Google’s message for a function without a name', () => {
    const [message, param] = complaint({ ...ask(text), tools: [{ functionDeclarations: [{ description: 'x' }] }] })
    expect(message).toContain('tools[0].function_declarations[0].name: Invalid function name')
    expect(param).toBe('tools.0.functionDeclarations.0.name')
  })
})

describe('an accepted request', () => {
  test.each<[string, JsonObject]>([
    ['with nulls', { ...ask({ text: 'x', thought: null }), tools: null, generationConfig: { temperature: null } }],
    ['with numbers as text', config({ temperature: '0.5', maxOutputTokens: '100' })],
    [
      'with unknown fields and enum values',
      { ...ask({ newPart: 1 }), x: 1, toolConfig: { functionCallingConfig: { mode: 'NEW' } } },
    ],
    ['as a text', { contents: 'hi' }],
    [
      'with a single content, part and tool',
      { contents: { parts: text }, tools: { googleSearch: {} }, systemInstruction: 'x' },
    ],
    ['with model and stream from the URL', { ...ask(text), model: 'm', stream: false }],
    [
      'with values at their limits',
      config({ temperature: 2, topP: 1, candidateCount: 8, maxOutputTokens: 1, logprobs: 0 }),
    ],
  ])('may be written %s', (_, body) => {
    expect(complaint(body)).toEqual(['', undefined])
  })
})
