import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { geminiCodec } from '../gemini/codec.ts'
import { messagesCodec } from '../messages/index.ts'
import { responsesCodec } from '../responses/codec.ts'
import { exchangeOf } from '../shared/exchange.test-support.ts'
import { chatCodec } from './codec.ts'

const url = 'https://a/b.pdf'
const data = { type: 'document_url', document_url: 'data:application/pdf;base64,QQ==' }

describe('a document URL in a chat request', () => {
  const requestWith = (...content: JsonObject[]): JsonObject => ({ model: 'm', messages: [{ role: 'user', content }] })
  const forms: [string, JsonObject][] = [
    ['a `document_url` part', { type: 'document_url', document_url: url }],
    ['a `document_url` part with an object', { type: 'document_url', document_url: { url } }],
    ['the data of a `file` part', { type: 'file', file: { file_data: url } }],
  ]

  test.each(forms)('in %s reaches upstreams that accept a URL', (_, part) => {
    const to = (codec: typeof messagesCodec) =>
      exchangeOf(chatCodec, requestWith(part), codec, 'claude-sonnet-4-5').sent
    expect(to(messagesCodec).messages).toMatchObject([
      { content: [{ type: 'document', source: { type: 'url', url } }] },
    ])
    expect(to(responsesCodec).input).toMatchObject([{ content: [{ type: 'input_file', file_url: url }] }])
    expect(to(geminiCodec).contents).toMatchObject([{ parts: [{ fileData: { fileUri: url } }] }])
  })

  test.each(forms)('in %s stays unchanged for an upstream of the same format', (_, part) => {
    expect(exchangeOf(chatCodec, requestWith(part), chatCodec)).toMatchObject({ sent: requestWith(part), losses: [] })
  })

  test('keeps its name, and a data URL becomes inline data', () => {
    const named = { type: 'document_url', document_url: url, document_name: 'b' }
    const [message] = exchangeOf(chatCodec, requestWith(named, data), messagesCodec).sent.messages as JsonObject[]
    expect(message?.content).toMatchObject([
      { type: 'document', title: 'b', source: { type: 'url', url } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'QQ==' } },
    ])
  })
})

describe('a document URL for a chat upstream', () => {
  const body: JsonObject = {
    model: 'm',
    max_tokens: 99,
    messages: [{ role: 'user', content: [{ type: 'document', title: 'b', source: { type: 'url', url } }] }],
  }

  test('is reported as a fatal loss because the response would ignore the document', () => {
    expect(exchangeOf(messagesCodec, body, chatCodec).losses).toContainEqual(
      expect.objectContaining({ path: '/messages/0/content/0', severity: 'fatal' }),
    )
  })

  test.each<['file_data' | 'document_url', JsonObject]>([
    ['file_data', { type: 'file', file: { file_data: url, filename: 'b' } }],
    ['document_url', { type: 'document_url', document_url: url, document_name: 'b' }],
  ])('is sent as %s if the upstream accepts that', (documentUrls, part) => {
    const { sent, losses } = exchangeOf(messagesCodec, body, chatCodec, 'm', { documentUrls })
    expect(sent.messages).toEqual([{ role: 'user', content: [part] }])
    expect(losses).toEqual([])
  })
})

test("translates Mistral's tool_choice any for upstreams of other formats", () => {
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], tools, tool_choice: 'any' }
  expect(exchangeOf(chatCodec, body, messagesCodec).sent.tool_choice).toEqual({ type: 'any' })
  expect(exchangeOf(chatCodec, body, responsesCodec).sent.tool_choice).toBe('required')
})
