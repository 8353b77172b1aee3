import { expect, it } from 'vitest'
import { isAnswer } from './is-answer.ts'

const error = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' }

it.each([
  [{ error, candidates: [] }, false],
  [{ error, candidates: null }, false],
  [{ error, usageMetadata: { promptTokenCount: 3 } }, false],
  [{ candidates: null }, false],
  [{ error, candidates: [{ content: { parts: [{ text: 'a' }] } }] }, true],
  [{ error: null, candidates: [] }, true],
  [{ usageMetadata: { promptTokenCount: 3 } }, true],
  [{ promptFeedback: { blockReason: 'SAFETY' } }, true],
])('tells whether a body is an answer: %j is %s', (body, expected) => {
  expect(isAnswer(body)).toBe(expected)
})
