import { describe, expect, it } from 'vitest'
import type { Loss } from '../ir.ts'
import { innerJson, innerObject, objectIn, quoted } from './json-text.ts'
import { inputObject } from './tool-input.ts'

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}`

describe('JSON in a text of a document', () => {
  it('is read to depths that can be walked', () => {
    const text = nested(500)
    expect(JSON.stringify(innerJson(text))).toBe(text)
    expect(JSON.stringify(innerObject(text))).toBe(text)
    expect(JSON.stringify(objectIn(text))).toBe(text)
  })

  it.each([5000, 100_000])('of %i levels is a text', (levels) => {
    for (const read of [innerJson, innerObject, objectIn]) expect(read(nested(levels))).toBeUndefined()
    expect(innerJson(`"${'['.repeat(levels)}"`)).toBe('['.repeat(levels))
  })

  it("a call's input that nests deeper is wrapped, and reported", () => {
    const losses: Loss[] = []
    const report = { losses, add: (loss: Loss) => void losses.push(loss) }
    const input = nested(5000)
    expect(inputObject({ input, name: 'f', at: '/x' }, report)).toEqual({ invalid_json: input })
    expect(losses).toEqual([expect.objectContaining({ severity: 'warn' })])
  })
})

describe('a text as JSON', () => {
  const long = 'a é 晴 ~ \x7f\ud7ff\ue000\uffff'.repeat(1000)

  it('that is long is written out as it stands where nothing in it is to be escaped', () => {
    expect(quoted(long)).toBe(JSON.stringify(long))
    expect(quoted(long)).toBe(`"${long}"`)
  })

  // Every character below 256, surrogates in pairs and alone, and what stands beside them.
  const odd = [...Array(256).keys(), 0x2028, 0x2029, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfeff, 0xffff]
  it('is as JSON.stringify writes it, whatever is in it', () => {
    for (const code of odd)
      for (const text of [String.fromCharCode(code), `${String.fromCharCode(code)}\udc00`, '😀'])
        for (const whole of [text, long + text, text + long]) expect(quoted(whole)).toBe(JSON.stringify(whole))
  })
})
