import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/types.ts'
import { geminiCodec } from '../gemini/codec.ts'
import { messagesCodec } from '../messages/index.ts'
import { responsesCodec } from '../responses/codec.ts'
import { exchangeOf } from '../shared/exchange.test-support.ts'
import { chatCodec } from './codec.ts'

const url = 'https://a/b.pdf'
const data = { type: 'document_url', document_url: 'data:application/pdf;base64,QQ==' }

describe('a document by its address in a chat request', () => {
  const asked = (...content: JsonObject[]): JsonObject => ({ model: 'm', messages: [{ role: 'user', content }] })
  const forms: [string, JsonObject][] = [
    ['a `document_url` part', { type: 'document_url', document_url: url }],
    ['a `document_url` part with an object', { type: 'document_url', document_url: { url } }],
    ['in place of a file’s data', { type: 'file', file: { file_data: url } }],
  ]

  test.each(forms)('as %s reaches those who take one', (_, part) => {
    const to = (codec: typeof messagesCodec) => exchangeOf(chatCodec, asked(part), codec, 'claude-sonnet-4-5').sent
    expect(to(messagesCodec).messages).toMatchObject([
      { content: [{ type: 'document', source: { type: 'url', url } }] },
    ])
    expect(to(responsesCodec).input).toMatchObject([{ content: [{ type: 'input_file', file_url: url }] }])
    expect(to(geminiCodec).contents).toMatchObject([{ parts: [{ fileData: { fileUri: url } }] }])
  })

  test.each(forms)('as %s stays as it is for a server of the same format', (_, part) => {
    expect(exchangeOf(chatCodec, asked(part), chatCodec)).toMatchObject({ sent: asked(part), losses: [] })
  })

  test('keeps its name, and data in its place are data', () => {
    const named = { type: 'document_url', document_url: url, document_name: 'b' }
    const [message] = exchangeOf(chatCodec, asked(named, data), messagesCodec).sent.messages as JsonObject[]
    expect(message?.content).toMatchObject([
      { type: 'document', title: 'b', source: { type: 'url', url } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QQ==' } },
    ])
  })
})

describe('a document by its address for a chat upstream', () => {
  const body: JsonObject = {
    model: 'm',
    max_tokens: 99,
    messages: [{ role: 'user', content: [{ type: 'document', title: 'b', source: { type: 'url', url } }] }],
  }

  test('is refused: the answer would be one to another question', () => {
    expect(exchangeOf(messagesCodec, body, chatCodec).losses).toContainEqual(
      expect.objectContaining({ path: '/messages/0/content/0', severity: 'fatal' }),
    )
  })

  test.each<['file_data' | 'document_url', JsonObject]>([
    ['file_data', { type: 'file', file: { file_data: url, filename: 'b' } }],
    ['document_url', { type: 'document_url', document_url: url, document_name: 'b' }],
  ])('goes to one that takes it as %s', (documentUrls, part) => {
    const { sent, losses } = exchangeOf(messagesCodec, body, chatCodec, 'm', { documentUrls })
    expect(sent.messages).toEqual([{ role: 'user', content: [part] }])
    expect(losses).toEqual([])
  })
})

test("Mistral's word for a call that must be made is known everywhere", () => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], tools, tool_choice: 'any' }
  expect(exchangeOf(chatCodec, body, messagesCodec).sent.tool_choice).toEqual({ type: 'any' })
  expect(exchangeOf(chatCodec, body, responsesCodec).sent.tool_choice).toBe('required')
})
