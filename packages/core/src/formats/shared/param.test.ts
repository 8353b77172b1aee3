import { expect, test } from 'vitest'
import { chatCodec } from '../chat/index.ts'
import type { Codec } from '../codec.ts'
import { geminiCodec } from '../gemini/index.ts'
import { messagesCodec } from '../messages/index.ts'
import { responsesCodec } from '../responses/index.ts'
import { translateParam } from './param.ts'

test.each<[string, Codec, Codec, string | undefined]>([
  ['max_completion_tokens', chatCodec, messagesCodec, 'max_tokens'],
  ['max_tokens', messagesCodec, chatCodec, 'max_completion_tokens'],
  ['stop_sequences', messagesCodec, geminiCodec, 'generationConfig.stopSequences'],
  ['generation_config.temperature', geminiCodec, chatCodec, 'temperature'],
  ['generationConfig.thinkingConfig.thinkingBudget', geminiCodec, messagesCodec, 'thinking.budget_tokens'],
  ['text.format', responsesCodec, chatCodec, 'response_format'],
  ['tools', chatCodec, geminiCodec, 'tools'],
  ['messages', messagesCodec, responsesCodec, 'input'],
  // Where these stood in the client's body nobody can tell from the path alone.
  ['messages.1.content.0', messagesCodec, chatCodec, undefined],
  ['contents[0].parts[1]', geminiCodec, chatCodec, undefined],
  ['tools[0].function.name', chatCodec, messagesCodec, undefined],
  ['output_config.effort', messagesCodec, chatCodec, 'reasoning_effort'],
  // The client's format has no such field.
  ['user', chatCodec, geminiCodec, undefined],
  ['', chatCodec, messagesCodec, undefined],
])('%s', (param, upstream, client, expected) => {
  expect(translateParam(param, upstream.fieldPointers, client.fieldPointers)).toBe(expected)
})

test('where the request noted another place, that is told', () => {
  const at = { 'sampling.maxTokens': '/max_tokens' }
  expect(translateParam('max_tokens', messagesCodec.fieldPointers, chatCodec.fieldPointers, at)).toBe('max_tokens')
})
