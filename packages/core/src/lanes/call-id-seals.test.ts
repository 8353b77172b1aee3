import { describe, expect, it } from 'vitest'
import type { ToolCallPart, Turn } from '../formats/ir.ts'
import { sealInId, unsealCallId } from './call-id-seals.ts'

const call: ToolCallPart = { type: 'tool-call', id: 'call_AbCdEfGhIjKlMnOpQrStUv', name: 'f', input: '{}' }
const sealed = (data: string, issuer: 'gemini' | 'chat' = 'gemini'): ToolCallPart => ({
  ...call,
  seal: { issuer, data },
})

describe('a seal in a call id', () => {
  it.each(['c2ln', 'a+b/c==', 'x'.repeat(45)])('is restored from the id: %s', (data) => {
    const part = sealInId(sealed(data), 'chat')
    expect(part.seal).toBeUndefined()
    expect(part.id.length).toBeLessThanOrEqual(64)
    const turns: Turn[] = [
      { role: 'assistant', parts: [{ ...part }] },
      { role: 'user', parts: [{ type: 'tool-result', callId: part.id, parts: [] }] },
    ]
    for (const { parts } of turns)
      for (const sent of parts) if (sent.type === 'tool-call' || sent.type === 'tool-result') unsealCallId(sent)
    const [made, result] = turns.flatMap(({ parts }) => parts)
    if (made?.type !== 'tool-call' || result?.type !== 'tool-result') throw new Error('The parts are others')
    expect(made.seal).toEqual({ issuer: 'gemini', data })
    expect(made.id).toBe(result.callId)
    expect(call.id.endsWith(made.id)).toBe(true)
  })

  it.each([
    ['is too long', sealed('x'.repeat(46))],
    ['is not plain text', sealed('{"google":{}}', 'chat')],
    ['is missing', call],
  ])('is not stored in the id if it %s', (_why, part) => {
    expect(sealInId(part, 'messages')).toBe(part)
  })

  it('is not stored in the id for a client of the format that issued it', () => {
    const part = sealed('c2ln', 'chat')
    expect(sealInId(part, 'chat')).toBe(part)
  })

  it('is not read from ids that only start like a seal', () => {
    const parts: ToolCallPart[] = [
      { ...call, id: 'mgs1.' },
      { ...call, id: 'mgs1.gemini.c2ln' },
    ]
    for (const part of parts) unsealCallId(part)
    expect(parts.map(({ id }) => id)).toEqual(['mgs1.', 'mgs1.gemini.c2ln'])
  })
})
