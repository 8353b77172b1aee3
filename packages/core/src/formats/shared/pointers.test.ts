import { expect, test } from 'vitest'
import { chatCodec } from '../chat/codec.ts'
import type { Codec } from '../codec.ts'
import { codecs } from '../codecs.ts'
import { geminiCodec } from '../gemini/codec.ts'
import { messagesCodec } from '../messages/index.ts'
import { responsesCodec } from '../responses/codec.ts'
import { type ResponsePointers, responsePath, translateParam } from './pointers.ts'

const gathered: ResponsePointers = {
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
])('maps the IR path %s to the response path %s', (path, expected) => {
  expect(responsePath(path, gathered)).toBe(expected)
})

test('maps a choice to the root in a format with a single choice', () => {
  const single = { ...gathered, choice: '', 'choice.finish': '/stop_reason' }
  expect(['/choices/0/container', '/choices/0/finish', '/choices/0'].map((path) => responsePath(path, single))).toEqual(
    ['/container', '/stop_reason', ''],
  )
})

test.each(codecs)('uses valid JSON pointers for the responses of $format', ({ responsePointers }) => {
  for (const place of Object.values(responsePointers)) expect(place).toMatch(/^(\/[a-zA-Z_]+|\/\{n\})*$/)
})

test.each<[string, Codec, Codec, string | undefined]>([
  ['max_completion_tokens', chatCodec, messagesCodec, 'max_tokens'],
  ['max_tokens', messagesCodec, chatCodec, 'max_completion_tokens'],
  ['stop_sequences', messagesCodec, geminiCodec, 'generationConfig.stopSequences'],
  ['generation_config.temperature', geminiCodec, chatCodec, 'temperature'],
  ['generationConfig.thinkingConfig.thinkingBudget', geminiCodec, messagesCodec, 'thinking.budget_tokens'],
  ['text.format', responsesCodec, chatCodec, 'response_format'],
  ['tools', chatCodec, geminiCodec, 'tools'],
  ['messages', messagesCodec, responsesCodec, 'input'],
  // The path alone does not identify the place in the client's body.
  ['messages.1.content.0', messagesCodec, chatCodec, undefined],
  ['contents[0].parts[1]', geminiCodec, chatCodec, undefined],
  ['tools[0].function.name', chatCodec, messagesCodec, undefined],
  ['output_config.effort', messagesCodec, chatCodec, 'reasoning_effort'],
  // The client's format does not have this field.
  ['user', chatCodec, geminiCodec, undefined],
  ['', chatCodec, messagesCodec, undefined],
])('translates the upstream parameter %s for the client', (param, upstream, client, expected) => {
  expect(translateParam(param, upstream.fieldPointers, client.fieldPointers)).toBe(expected)
})

test("returns the place that the request recorded instead of the format's default", () => {
  const at = { 'sampling.maxTokens': '/max_tokens' }
  expect(translateParam('max_tokens', messagesCodec.fieldPointers, chatCodec.fieldPointers, at)).toBe('max_tokens')
})
