import { expect, test } from 'vitest'
import { codecs } from '../codecs.ts'
import { type AnswerPointers, answerPath } from './answer-pointers.ts'

const gathered: AnswerPointers = {
  choice: '/candidates/{n}',
  'choice.finish': '/candidates/{n}/finishReason',
  'choice.sequence': '/candidates/{n}/finishReason',
  'choice.explanation': '/candidates/{n}/finishMessage',
  'choice.logprobs': '/candidates/{n}/logprobsResult',
  'choice.promptFeedback': '/promptFeedback',
  usage: '/usageMetadata',
  serviceTier: '/usageMetadata/serviceTier',
}

test.each([
  ['/choices/2', '/candidates/2'],
  ['/choices/0/groundingMetadata', '/candidates/0/groundingMetadata'],
  ['/choices/1/finish', '/candidates/1/finishReason'],
  ['/choices/1/logprobs/refusal', '/candidates/1/logprobsResult/refusal'],
  ['/choices/0/promptFeedback', '/promptFeedback'],
  ['/usage', '/usageMetadata'],
  ['/usage/speed', '/usageMetadata/speed'],
  ['/serviceTier', '/usageMetadata/serviceTier'],
  ['/candidates/0/content/parts/3', '/candidates/0/content/parts/3'],
  ['/usages', '/usages'],
  ['', ''],
])('%s of the IR stands at %s', (path, expected) => {
  expect(answerPath(path, gathered)).toBe(expected)
})

test('a format with one answer has its choice at the root', () => {
  const single = { ...gathered, choice: '', 'choice.finish': '/stop_reason' }
  expect(['/choices/0/container', '/choices/0/finish', '/choices/0'].map((path) => answerPath(path, single))).toEqual([
    '/container',
    '/stop_reason',
    '',
  ])
})

test.each(codecs)('$format names places in its own answers', ({ answerPointers }) => {
  for (const place of Object.values(answerPointers)) expect(place).toMatch(/^(\/[a-zA-Z_]+|\/\{n\})*$/)
})
