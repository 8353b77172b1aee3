import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../base/json/json.ts'
import type { ModelResponse, Part } from '../ir.ts'
import { chatCodec } from './codec.ts'
import { run, testContext } from './context.test-support.ts'

const thoughts: Part[] = [
  { type: 'reasoning', text: 'first', seal: { issuer: 'messages', data: 'SIG1' } },
  { type: 'reasoning', text: '', redacted: true, seal: { issuer: 'messages', data: 'RED' } },
  { type: 'reasoning', text: '', seal: { issuer: 'messages', data: 'SIG2' } },
]
const call: Part = { type: 'tool-call', id: 'a', name: 'f', input: '{}', seal: { issuer: 'gemini', data: 'TS' } }
const answer = (parts: Part[]): ModelResponse => ({
  id: 'r',
  model: 'm',
  created: 1,
  choices: [{ parts, finish: { reason: 'tool-calls' } }],
})

function messageOf(parts: Part[]): JsonObject {
  const wire = chatCodec.encodeResponse(answer(parts), testContext())
  return ((wire.choices as JsonObject[])[0]?.message ?? {}) as JsonObject
}
const cleaned = (parts: readonly Part[]): Part[] => parts.map(({ at: _, ...part }) => part as Part)
const sentBack = (message: JsonObject): Part[] =>
  cleaned(chatCodec.decodeRequest({ model: 'm', messages: [message] }, testContext()).turns[0]?.parts ?? [])

describe('sealed reasoning through a chat client', () => {
  test('returns from the client unchanged', () => {
    expect(sentBack(messageOf([...thoughts, { type: 'text', text: 'x' }, call]))).toEqual([
      ...thoughts,
      { type: 'text', text: 'x' },
      call,
    ])
  })

  test('returns complete from a client that appends cumulative lists', () => {
    const message = messageOf([...thoughts, call])
    const details = message.reasoning_details as Json[]
    const appended = [details.slice(0, 1), details.slice(0, 2), details].flat()
    expect(sentBack({ ...message, reasoning_details: appended })).toEqual([...thoughts, call])
  })

  test('returns complete from a client that appends the fragments of a stream', () => {
    const fragments = [
      { type: 'reasoning.text', text: 'fi', index: 0 },
      { type: 'reasoning.text', text: 'rst', index: 0 },
      { type: 'reasoning.text', signature: 'mgs1.messages.SIG1', index: 0 },
    ]
    expect(sentBack({ role: 'assistant', content: 'x', reasoning_details: fragments })).toEqual([
      thoughts[0],
      { type: 'text', text: 'x' },
    ])
  })

  test('is sent as plain text only if no part has a seal', () => {
    const message = messageOf([
      { type: 'reasoning', text: 'a' },
      { type: 'reasoning', text: 'b' },
    ])
    expect(message).toMatchObject({ reasoning_content: 'a\n\nb' })
    expect(message).not.toHaveProperty('reasoning_details')
  })

  test('keeps unsealed parts in the list if one part is sealed', () => {
    const parts: Part[] = [{ type: 'reasoning', text: 'a' }, ...thoughts]
    expect(sentBack(messageOf(parts))).toEqual(parts)
  })

  test('keeps the signature and the fields of a chat upstream', () => {
    const details = [{ type: 'reasoning.text', text: 't', signature: 'S', format: 'anthropic-claude-v1', index: 0 }]
    const message = { role: 'assistant', content: 'x', reasoning_details: details }
    const seal = { issuer: 'chat', data: '{"signature":"S","type":"reasoning.text","format":"anthropic-claude-v1"}' }
    expect(sentBack(message)[0]).toMatchObject({ seal })
    const context = testContext()
    const request = chatCodec.decodeRequest(structuredClone({ model: 'm', messages: [message] }), context)
    expect(chatCodec.encodeRequest(request, context).messages).toEqual([message])
    expect(context.losses).toEqual([])
  })

  test("keeps every field of a chat upstream's stream that decoding it again needs", () => {
    const frame = { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: null }] }
    const chunks = [
      { reasoning: 'r', reasoning_details: [{ type: 'reasoning.text', text: 'r', format: 'f1', index: 0 }] },
      { reasoning_details: [{ type: 'reasoning.text', signature: 'S', format: 'f1', index: 0 }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'E', id: 'e', format: 'f1', index: 1 }] },
    ].map((delta) => ({ data: JSON.stringify({ ...frame, choices: [{ index: 0, delta, finish_reason: null }] }) }))
    const decoded = run(chatCodec.decodeStream(testContext()), [...chunks, { data: '[DONE]' }])
    const last = run(chatCodec.encodeStream(testContext()), decoded)
      .filter(({ data }) => data.includes('reasoning_details'))
      .map(({ data }) => JSON.parse(data).choices[0].delta.reasoning_details)
      .at(-1)
    expect(last).toEqual([
      { type: 'reasoning.text', text: 'r', signature: 'S', format: 'f1', index: 0 },
      { type: 'reasoning.encrypted', data: 'E', id: 'e', format: 'f1', index: 1 },
    ])
  })

  test("keeps the extra content of a call from Google's compatible endpoint verbatim", () => {
    const wire = { google: { thought_signature: 'TS' } }
    const message = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' }, extra_content: wire }],
    }
    expect(sentBack(message)[0]).toMatchObject({ seal: { issuer: 'chat', data: JSON.stringify(wire) } })
    const context = testContext()
    const request = chatCodec.decodeRequest(structuredClone({ model: 'm', messages: [message] }), context)
    expect(chatCodec.encodeRequest(request, context).messages).toEqual([message])
  })
})
