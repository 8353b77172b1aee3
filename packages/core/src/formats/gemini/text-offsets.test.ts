import fc from 'fast-check'
import { expect, it } from 'vitest'
import { TextOffsets } from './text-offsets.ts'

const encoder = new TextEncoder()
const texts = fc.array(fc.string({ unit: 'binary', maxLength: 40 }), { maxLength: 8 })

it('converts between bytes and characters as TextEncoder counts them, in any chunking', () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 99 }), (pieces, times) => {
      const offsets = new TextOffsets()
      for (const piece of pieces) for (let count = 0; count < times; count++) offsets.add(piece)
      const text = pieces.map((piece) => piece.repeat(times)).join('')
      let bytes = 0
      for (let index = 0; index < text.length; ) {
        const char = String.fromCodePoint(text.codePointAt(index) as number)
        expect([offsets.charAt(bytes), offsets.byteAt(index)]).toEqual([index, bytes])
        bytes += encoder.encode(char).length
        index += char.length
      }
      expect([offsets.charAt(bytes + 9), offsets.byteAt(text.length + 9)]).toEqual([text.length, bytes])
      expect([offsets.charAt(-1), offsets.byteAt(-1)]).toEqual([0, 0])
    }),
    { numRuns: 20 },
  )
})

it('joins surrogate pairs that chunks split', () => {
  const offsets = new TextOffsets('a\ud83d')
  expect(offsets.charAt(1)).toBe(1)
  offsets.add('\ude42b')
  expect([offsets.charAt(5), offsets.byteAt(3)]).toEqual([3, 5])
})

it('scans the text once, and a bounded stretch for each offset', () => {
  const offsets = new TextOffsets('é'.repeat(100_000))
  for (let place = 0; place < 1000; place++) offsets.charAt(place * 150)
  expect(offsets.steps).toBeLessThan(100_000 + 1000 * 1025)
})
