import { describe, expect, it } from 'vitest'
import type { ModelRequest, Turn } from '../formats/ir.ts'
import { withoutTurnContents } from './without-turn-contents.ts'

const long = 'long '.repeat(1000)
const instructions: Turn = { role: 'system', at: '/instructions', parts: [{ type: 'text', text: 'Be brief.' }] }

const request: ModelRequest = {
  model: 'm',
  stream: true,
  tools: { list: [{ type: 'function', name: 'find', description: long, schema: { type: 'object' } }] },
  turns: [
    instructions,
    { role: 'system', parts: [{ type: 'text', text: long }], changes: [{ removedTools: ['find'] }] },
    {
      role: 'user',
      parts: [
        { type: 'text', text: long },
        { type: 'media', kind: 'image', source: { type: 'base64', data: long } },
      ],
    },
    {
      role: 'assistant',
      parts: [
        { type: 'text', text: long },
        { type: 'tool-call', id: 'a', name: 'find', input: JSON.stringify({ long }) },
        { type: 'tool-call', id: 'b', name: 'old_tool', input: '{}' },
      ],
    },
    {
      role: 'user',
      parts: [
        { type: 'tool-result', callId: 'a', parts: [{ type: 'text', text: long }] },
        { type: 'tool-result', callId: 'b', name: 'old_tool', parts: [{ type: 'text', text: long }] },
      ],
    },
  ],
}

describe('a request without the contents of its turns', () => {
  const kept = withoutTurnContents(request, '/instructions')

  it('keeps settings, tools, instructions, changes of settings and names of tools', () => {
    expect(kept).toMatchObject({ model: 'm', stream: true, tools: request.tools })
    expect(kept.turns[0]).toBe(instructions)
    expect(kept.turns[1]?.changes).toBe(request.turns[1]?.changes)
    const parts = kept.turns.flatMap((turn) => turn.parts)
    expect(parts.flatMap((part) => ('name' in part ? [part.name] : []))).toEqual(['find', 'old_tool', 'old_tool'])
  })

  it('keeps no turn if responses repeat none', () => {
    expect(withoutTurnContents(request, undefined).turns[0]?.parts).toEqual([])
  })

  it('has no other content', () => {
    expect(JSON.stringify(kept.turns)).not.toContain('long')
  })

  it('is the whole request if that has reasoning', () => {
    const reasoning: Turn = { role: 'assistant', parts: [{ type: 'reasoning', text: long }] }
    const whole = { ...request, turns: [...request.turns, reasoning] }
    expect(withoutTurnContents(whole, '/instructions')).toBe(whole)
  })
})
