import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/types.ts'
import type { ModelEvent, Part } from '../ir.ts'
import { messagesCodec } from './index.ts'
import { contextFor, run } from './recorded.test-support.ts'

// An agent that prints the last block of an answer printed nothing when a seal came behind the text.

const seal: Part = { type: 'reasoning', text: '', seal: { issuer: 'gemini', data: '@empty:c2ln' }, at: '/candidates/0' }
const text: Part = { type: 'text', text: 'Done.' }
const call: Part = { type: 'tool-call', id: 'c', name: 'f', input: '{}' }
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

describe.each([false, true])('a seal behind a text, streamed: %s', (stream) => {
  test('is never the last block', () => {
    const { blocks, notes } = blocksOf([text, seal], stream)
    // What has been streamed cannot be moved: then the seal is given up, and reported.
    expect(blocks).toEqual(stream ? [words] : [carrier, words])
    expect(notes.length).toBe(stream ? 1 : 0)
  })

  test('stands where it was if something follows', () => {
    const { blocks, notes } = blocksOf([text, seal, call], stream)
    expect(blocks).toMatchObject([words, carrier, { type: 'tool_use' }])
    expect(notes).toEqual([])
  })

  test('alone is the answer', () => {
    expect(blocksOf([seal], stream).blocks).toEqual([carrier])
  })
})
