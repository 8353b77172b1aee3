import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { hasSealPrefix } from '../../lanes/generation.ts'
import type { Delta, ModelEvent, Part, Sealed } from '../ir.ts'
import { messagesCodec } from './index.ts'
import { contextFor, run } from './recorded.test-support.ts'
import { decode, encode, user } from './request.test-support.ts'

const chat = (data: string): Sealed => ({ issuer: 'chat', data })
const anthropic = (data: string): Sealed => ({ issuer: 'messages', data })

/** Returns the content that a messages client receives and sends back. */
const shown = (parts: Part[]): JsonObject[] =>
  messagesCodec.encodeResponse(
    { id: 'm', model: 'm', created: 0, choices: [{ parts, finish: { reason: 'stop' } }] },
    contextFor({ reasoning: { adaptive: true } }),
  ).content as JsonObject[]

/** Returns the same content from a stream. */
function streamed(parts: Part[]): JsonObject[] {
  const events: ModelEvent[] = [{ type: 'response-start', id: 'm', model: 'm', created: 0 }]
  for (const [part, whole] of parts.entries()) {
    const { value, deltas } = roundTrip(whole)
    events.push({ type: 'part-start', choice: 0, part, value })
    for (const delta of deltas) events.push({ type: 'part-delta', choice: 0, part, delta })
    events.push({ type: 'part-end', choice: 0, part })
  }
  events.push({ type: 'choice-end', choice: 0, finish: { reason: 'stop' } }, { type: 'response-end' })
  const sent = run(messagesCodec.encodeStream(contextFor({ reasoning: { adaptive: true } })), events).map(
    ({ data }) => JSON.parse(data) as JsonObject,
  )
  const blocks: JsonObject[] = []
  for (const { type, content_block, delta } of sent as { [key: string]: JsonObject }[]) {
    if (String(type) === 'content_block_start') blocks.push({ ...content_block })
    const block = blocks.at(-1)
    if (block === undefined || String(type) !== 'content_block_delta') continue
    if (delta?.type === 'thinking_delta') block.thinking = `${String(block.thinking)}${String(delta.thinking)}`
    if (delta?.type === 'signature_delta') block.signature = delta.signature ?? null
  }
  return blocks
}
function roundTrip(part: Part): { value: Part; deltas: Delta[] } {
  if (part.type !== 'reasoning') return { value: part, deltas: [] }
  const { seal, ...rest } = part
  const deltas: Delta[] = seal === undefined ? [] : [{ type: 'seal', seal }]
  return {
    value: { ...rest, text: '' },
    deltas: part.text === '' ? deltas : [{ type: 'reasoning', text: part.text }, ...deltas],
  }
}

const call = (seal?: Sealed): Part => ({
  type: 'tool-call',
  id: 'call:1',
  name: 'f',
  input: '{}',
  ...(seal && { seal }),
})

describe('seals of other providers', () => {
  test.each<[string, Part[], string[]]>([
    ['with a seal', [{ type: 'reasoning', text: 'Hm.', seal: chat('s.1') }], ['thinking mgs1.chat.s.1']],
    ['without one', [{ type: 'reasoning', text: 'Hm.' }], ['thinking mgs1.chat.']],
    ['withheld', [{ type: 'reasoning', text: '', redacted: true, seal: chat('s') }], ['redacted_thinking mgs1.chat.s']],
    ["Anthropic's own", [{ type: 'reasoning', text: '', seal: anthropic('sig') }], ['thinking sig']],
    ['a sealed call', [call(chat('{"a":"b.c"}'))], ['thinking mgs1.chat.@call:call%3A1:{"a":"b.c"}', 'tool_use ']],
  ])('reach the client and come back to their issuer: %s', (_, parts, wire) => {
    for (const blocks of [shown(parts), streamed(parts)]) {
      expect(blocks.map(({ type, signature, data }) => `${String(type)} ${String(signature ?? data ?? '')}`)).toEqual(
        wire,
      )
      const body: JsonObject = { model: 'm', max_tokens: 9, messages: [{ role: 'assistant', content: blocks }] }
      expect(messagesCodec.validateRequest(body)).toBe(body)
      const back = decode(body).turns[0]?.parts.map(({ at: _, ...part }) => part)
      expect(back).toEqual(parts)
      // Only signatures of Anthropic may be sent.
      expect(hasSealPrefix(JSON.stringify(body))).toBe(!JSON.stringify(parts).includes('"messages"'))
    }
  })

  test('are reported if the client dropped their call', () => {
    const context = contextFor({ reasoning: { adaptive: true } })
    const [carrier] = shown([call(chat('s'))])
    const request = messagesCodec.decodeRequest(
      {
        model: 'm',
        max_tokens: 9,
        messages: [{ role: 'assistant', content: [carrier ?? null, { type: 'text', text: 'x' }] }],
      },
      context,
    )
    expect(request.turns[0]?.parts.map(({ type }) => type)).toEqual(['text'])
    expect(context.report.losses).toMatchObject([{ path: '/messages/0/content/0', severity: 'note' }])
  })
})

describe('reasoning sent to Anthropic', () => {
  test.each<[string, Part, JsonObject | undefined]>([
    [
      'thinking',
      { type: 'reasoning', text: 'Hm.', seal: anthropic('sig') },
      { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
    ],
    [
      'thinking without text',
      { type: 'reasoning', text: '', seal: anthropic('sig') },
      { type: 'thinking', thinking: '', signature: 'sig' },
    ],
    [
      'redacted thinking',
      { type: 'reasoning', text: '', redacted: true, seal: anthropic('d') },
      { type: 'redacted_thinking', data: 'd' },
    ],
    ['unsigned reasoning', { type: 'reasoning', text: 'Hm.' }, undefined],
    ['reasoning signed with nothing', { type: 'reasoning', text: 'Hm.', seal: anthropic('') }, undefined],
    ["another's reasoning", { type: 'reasoning', text: 'Hm.', seal: chat('s') }, undefined],
  ])('contains only what Anthropic signed: %s', (_, part, block) => {
    const { out, losses } = encode({
      turns: [user('Hi'), { role: 'assistant', parts: [part, { type: 'text', text: 'x' }] }, user('Go on')],
    })
    const content = (out.messages as JsonObject[])[1]?.content
    expect(content).toEqual(block === undefined ? 'x' : [block, { type: 'text', text: 'x' }])
    expect(losses.map(({ severity }) => severity)).toEqual(block === undefined ? ['note'] : [])
  })

  test('does not contain the seal of another provider on a call', () => {
    const turns = [user('Hi'), { role: 'assistant' as const, parts: [call(chat('s'))] }]
    const { out, losses } = encode({ turns })
    expect(JSON.stringify(out)).not.toContain('mgs1')
    expect(losses).toMatchObject([{ severity: 'note', kind: 'unsupported' }])
  })
})

// Agents that print the last block of a response printed nothing when a seal came after the text.

const textSeal: Part = {
  type: 'reasoning',
  text: '',
  seal: { issuer: 'gemini', data: '@empty:c2ln' },
  at: '/candidates/0',
}
const text: Part = { type: 'text', text: 'Done.' }
const bareCall: Part = { type: 'tool-call', id: 'c', name: 'f', input: '{}' }
const carrier = { type: 'thinking', thinking: '', signature: 'mgs1.gemini.@empty:c2ln' }
const words = { type: 'text', text: 'Done.' }

function blocksOf(parts: readonly Part[], stream: boolean): { blocks: unknown[]; notes: string[] } {
  const context = contextFor({ stream, reasoning: { adaptive: true } })
  if (!stream) {
    const choices = [{ parts: [...parts], finish: { reason: 'stop' as const } }]
    const body = messagesCodec.encodeResponse({ id: 'm', model: 'x', created: 0, choices }, context)
    return { blocks: body.content as unknown[], notes: context.report.losses.map(({ detail }) => detail) }
  }
  const events: ModelEvent[] = [
    { type: 'response-start', id: 'm', model: 'x', created: 0 },
    ...parts.flatMap((value, part): ModelEvent[] => [
      { type: 'part-start', choice: 0, part, value },
      { type: 'part-end', choice: 0, part },
    ]),
    { type: 'choice-end', choice: 0, finish: { reason: 'stop' } },
    { type: 'response-end' },
  ]
  const blocks: JsonObject[] = []
  for (const { data } of run(messagesCodec.encodeStream(context), events)) {
    const event = JSON.parse(data) as JsonObject & { index: number; delta: JsonObject }
    if (event.type === 'content_block_start') blocks[event.index] = event.content_block as JsonObject
    const block = blocks[event.index]
    if (event.type !== 'content_block_delta' || block === undefined) continue
    if (event.delta.type === 'text_delta') block.text = `${String(block.text)}${String(event.delta.text)}`
    if (event.delta.type === 'signature_delta') block.signature = event.delta.signature ?? null
  }
  return { blocks, notes: context.report.losses.map(({ detail }) => detail) }
}

describe.each([false, true])('a seal after a text (streamed: %s)', (stream) => {
  test('is never the last block', () => {
    const { blocks, notes } = blocksOf([text, textSeal], stream)
    // A streamed text cannot be moved, so its seal is dropped and reported.
    expect(blocks).toEqual(stream ? [words] : [carrier, words])
    expect(notes.length).toBe(stream ? 1 : 0)
  })

  test('keeps its place if another part follows', () => {
    const { blocks, notes } = blocksOf([text, textSeal, bareCall], stream)
    expect(blocks).toMatchObject([words, carrier, { type: 'tool_use' }])
    expect(notes).toEqual([])
  })

  test('is sent if the response has no other part', () => {
    expect(blocksOf([textSeal], stream).blocks).toEqual([carrier])
  })
})
