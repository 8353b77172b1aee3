import Anthropic from '@anthropic-ai/sdk'
import { ApiError } from '@google/genai'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { describeRejection, namesField, rejectionOf } from './rejection.ts'

const refusal = (message: string, param = '') => ({ status: 400, message, param, details: '', body: {}, thrown: '' })

test.each([
  ["Unsupported parameter: 'n' is not supported with this model.", 'n', true],
  ['n: messages returns one response, not 2.', 'n', true],
  ['anthropic error: max_tokens: Field required', 'n', false],
  ['generationConfig.topK is out of range', 'top_k', true],
  ["Invalid value at 'generation_config.temperature'", 'temperature', true],
  ['messages.0.content.1.input_audio cannot be sent', 'audio', true],
  ['`thinking` is not supported', 'thinking', true],
  ['Rethinking is not supported', 'thinking', false],
  ['models/conformance-no-such-model is not found', 'conformance-no-such-model', true],
] as const)('%s: names %s is %s', (message, field, named) => {
  expect(namesField(refusal(message), field)).toBe(named)
})

test('finds a field at its place in another format', () => {
  expect(namesField(refusal('Invalid value.', 'top_p'), 'top_p')).toBe(true)
})

test('reads the errors of every SDK into the same shape', () => {
  const body = { type: 'not_found_error', message: 'model: x', param: null, code: null }
  const openai = OpenAI.APIError.generate(404, { error: body }, undefined, new Headers())
  const anthropic = Anthropic.APIError.generate(404, { type: 'error', error: body }, undefined, new Headers())
  const google = new ApiError({ status: 404, message: JSON.stringify({ error: { ...body, code: 404 } }) })
  const read = [openai, anthropic, google].map(rejectionOf)
  expect(read).toMatchObject(
    Array(3).fill({ status: 404, message: 'model: x', body: { error: { message: 'model: x' } } }),
  )
  expect(read.map((one) => one?.thrown)).toEqual(['NotFoundError', 'NotFoundError', 'ApiError'])
  expect(rejectionOf(new OpenAI.APIConnectionError({ message: 'no' }))).toBeUndefined()
})

test('formats a rejection in one line', () => {
  expect(describeRejection(refusal(`one\n  two ${'x'.repeat(400)}`))).toMatch(/^400: one two x+…$/)
})
