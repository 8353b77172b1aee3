import { describe, expect, it } from 'vitest'
import type { Loss } from '../ir.ts'
import { innerJson, innerObject, objectIn } from './json-text.ts'
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
