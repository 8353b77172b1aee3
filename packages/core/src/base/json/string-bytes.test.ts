import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StringBytes } from './string-bytes.ts'

const encoder = new TextEncoder()
const fatal = new TextDecoder('utf-8', { fatal: true })

/** Where the string ends that the bytes begin with, wherever they lie in memory. */
function endIn(bytes: Uint8Array, offset: number, shunned: readonly string[] = []): number {
  const memory = new Uint8Array(bytes.length + offset + 1).fill(34)
  memory.set(bytes, offset)
  const given = memory.subarray(offset, offset + bytes.length)
  return new StringBytes(
    given,
    shunned.map((text) => encoder.encode(text)),
  ).end(0)
}

function isString(bytes: Uint8Array): boolean {
  try {
    return typeof JSON.parse(fatal.decode(bytes)) === 'string'
  } catch {
    return false
  }
}

const offset = fc.nat({ max: 3 })
/** Bytes that mean something in strings are frequent. */
const byte = fc.oneof(
  fc.constantFrom(...encoder.encode('"\\\\u00a9DfnrtbxX/ ~')),
  fc.constantFrom(0x1f, 0x7f, 0x80, 0xbf, 0xc1, 0xc2, 0xe0, 0xa0, 0x9f, 0xed, 0xef, 0xf0, 0x90, 0x8f, 0xf4, 0xf5),
  fc.nat({ max: 255 }),
)

describe('a JSON string in bytes', () => {
  it('ends where it was written to, whatever is in it and behind it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.string(), offset, (text, rest, at) => {
        const bytes = encoder.encode(JSON.stringify(text))
        expect(endIn(new Uint8Array([...bytes, ...encoder.encode(rest)]), at)).toBe(bytes.length)
      }),
    )
  })

  it('is right exactly where a decoder and JSON.parse say so', () => {
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 12 }), offset, (content, at) => {
        const bytes = new Uint8Array([34, ...content, 34])
        const end = endIn(bytes, at)
        if (end === bytes.length) expect(isString(bytes)).toBe(true)
        else if (end < 0) expect(isString(bytes)).toBe(false)
        else expect(isString(bytes.subarray(0, end))).toBe(true)
      }),
      { numRuns: 5000 },
    )
  })

  it('may be made of all characters but surrogates', () => {
    for (let first = 0x80; first < 0x110000; first += 61) {
      if (first >= 0xd800 && first <= 0xdfff) continue
      const bytes = encoder.encode(`"${String.fromCodePoint(first)}"`)
      expect(endIn(bytes, 0)).toBe(bytes.length)
    }
    expect(endIn(new Uint8Array([34, 0xed, 0xa0, 0x80, 34]), 0)).toBe(-1)
  })

  it.each(['', '"', '"\\', '"\\"', '"a', '"\\u12"', '"\\x"', '"\n"', '"ab\u0001"'])('%j is broken', (text) => {
    for (let at = 0; at < 4; at++) expect(endIn(encoder.encode(text), at)).toBe(-1)
  })

  it.each([
    ['"no.a"', -1],
    ['"a \\"no.a\\""', -1],
    ['"a no.a"', 8],
    ['"a \\\\no.a"', 10],
    ['"no"', 4],
  ])('%s: what is shunned is found where a string, or one within it, begins', (text, end) => {
    expect(endIn(encoder.encode(text), 0, ['x', 'no.'])).toBe(end)
  })
})
