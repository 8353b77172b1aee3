import { expect, it } from 'vitest'
import { upstreamCodecs } from '../codecs.ts'
import type { ModelRequest, Part, Turn } from '../ir.ts'
import { append } from './append.ts'

it('takes lists of any length', () => {
  const list = [0]
  append(
    list,
    Array.from({ length: 300_000 }, (_, i) => i),
  )
  expect(list.length).toBe(300_001)
})

const text = (of: string): Part => ({ type: 'text', text: of })
const turn = (role: Turn['role'], ...parts: Part[]): Turn => ({ role, parts })

it.each(upstreamCodecs)('$format: turns that become one leave the request as it was', (codec) => {
  const call = (id: string): Part => ({ type: 'tool-call', id, name: 'f', input: '{}' })
  const result = (callId: string): Part => ({ type: 'tool-result', callId, parts: [text(callId)] })
  const request: ModelRequest = {
    model: 'm',
    stream: false,
    turns: [
      turn('system', text('a')),
      turn('system', text('b')),
      turn('user', text('c')),
      turn('user', text('d')),
      turn('assistant', call('1')),
      turn('assistant', call('2')),
      turn('assistant', call('3')),
      turn('user', result('1')),
      turn('user', result('2'), result('3')),
    ],
  }
  const before = structuredClone(request)
  const encode = () =>
    codec.encodeRequest(request, {
      report: { losses: [], add() {} },
      newId: (prefix) => `${prefix}1`,
      now: () => 0,
      target: { model: 'm', quirks: { alternatingRoles: true } },
    })
  const first = JSON.stringify(encode())
  expect(JSON.stringify(encode())).toBe(first)
  expect(request).toEqual(before)
})
