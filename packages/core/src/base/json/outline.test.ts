import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Json, scanJson } from './json.ts'
import { createOutline, cutText, keptBytes, type Outline, StringScanner } from './outline.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const fatal = new TextDecoder('utf-8', { fatal: true })
const prose = 'All work and no play makes a gateway dull. '.repeat(10)

const outline = (text: string, depth = 100): Outline | undefined => createOutline(encoder.encode(text), depth, [])

/** Returns the value as an outline shortens it. */
function cutIn(value: Json): Json {
  if (typeof value === 'string') return encoder.encode(JSON.stringify(value)).length > keptBytes ? cutText : value
  if (Array.isArray(value)) return value.map(cutIn)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cutIn(inner)]))
}

const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary', maxLength: 100 }),
    fc.constant(prose),
    fc.jsonValue({ maxDepth: 0 }) as fc.Arbitrary<Json>,
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: 'binary', maxLength: 90 }), tie('json'), { maxKeys: 4 }),
  ),
}))
const object = fc.dictionary(fc.string({ unit: 'binary' }), json, { maxKeys: 6 })

describe('an outline', () => {
  it('has the content of the document without long texts, and the positions of its members', () => {
    fc.assert(
      fc.property(object, fc.constantFrom(0, 1), (value, indent) => {
        // The cut text is more than half of the document.
        const text = JSON.stringify({ ...value, long: prose.repeat(40) }, null, indent)
        const bytes = encoder.encode(text)
        const found = createOutline(bytes, 100, [])
        const whole = JSON.parse(text)
        expect(JSON.parse(found?.text ?? '')).toEqual(cutIn(whole))
        expect(found?.members.map(({ key, start, end }) => [key, decoder.decode(bytes.subarray(start, end))])).toEqual(
          scanJson(text, 100).members.map(({ key, start, end }) => [key, text.slice(start, end)]),
        )
        for (const [key, inner] of Object.entries(whole as { [key: string]: Json }))
          expect(found?.cutKeys.has(key)).toBe(JSON.stringify(cutIn(inner)) !== JSON.stringify(inner))
      }),
    )
  })

  it('is valid JSON if and only if the document is', () => {
    const parses = (text: () => string): boolean => {
      try {
        JSON.parse(text())
        return true
      } catch {
        return false
      }
    }
    const whole = encoder.encode(
      JSON.stringify({ a: [prose, 'é', { ключ: 1.5 }], b: prose, c: null, d: '\n'.repeat(99) }),
    )
    const edit = fc.record({ at: fc.nat({ max: whole.length - 1 }), byte: fc.nat({ max: 255 }), drop: fc.boolean() })
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 3 }), (edits) => {
        const bytes = [...whole]
        for (const { at, byte, drop } of edits) bytes.splice(Math.min(at, bytes.length - 1), 1, ...(drop ? [] : [byte]))
        const given = new Uint8Array(bytes)
        const found = createOutline(given, 100, [])
        const good = parses(() => fatal.decode(given))
        if (found !== undefined) expect(parses(() => found.text)).toBe(good)
        else expect(good).toBe(false)
      }),
      { numRuns: 3000 },
    )
  })

  it('keeps keys of any length', () => {
    const key = 'k'.repeat(200)
    expect(outline(`{"${key}" \n: "${prose.repeat(9)}"}`)?.text).toBe(`{"${key}" \n: "~"}`)
  })

  it('reports the positions of very long texts', () => {
    const text = JSON.stringify({ a: prose, b: 'x'.repeat(3000) })
    const [far, ...others] = outline(text)?.longTexts ?? []
    expect(text.slice(far?.start, far?.end)).toBe('x'.repeat(3000))
    expect(others).toEqual([])
  })

  it.each([
    ['that is nested too deeply', JSON.stringify([[[[prose]]]]), 3],
    ['without enough long text', JSON.stringify({ a: Array.from({ length: 100 }, () => 1), b: prose.slice(0, 99) }), 9],
    ['that is truncated', `{"a":"${prose}`, 9],
  ])('is not created for a document %s', (_name, text, depth) => expect(outline(text, depth)).toBeUndefined())

  it('is created for documents of any length', () => {
    const text = JSON.stringify({ a: 'ё'.repeat(3_000_000), b: [1, 'c'] })
    expect(outline(text)?.text).toBe('{"a":"~","b":[1,"c"]}')
  })
})

/** Returns the end of the string at the beginning of the bytes, for any alignment in memory. */
function endIn(bytes: Uint8Array, offset: number, shunned: readonly string[] = []): number {
  const memory = new Uint8Array(bytes.length + offset + 1).fill(34)
  memory.set(bytes, offset)
  const given = memory.subarray(offset, offset + bytes.length)
  return new StringScanner(
    given,
    shunned.map((text) => encoder.encode(text)),
  ).endOf(0)
}

function isString(bytes: Uint8Array): boolean {
  try {
    return typeof JSON.parse(fatal.decode(bytes)) === 'string'
  } catch {
    return false
  }
}

const offset = fc.nat({ max: 3 })
/** Bytes with a meaning in JSON strings are frequent. */
const byte = fc.oneof(
  fc.constantFrom(...encoder.encode('"\\\\u00a9DfnrtbxX/ ~')),
  fc.constantFrom(0x1f, 0x7f, 0x80, 0xbf, 0xc1, 0xc2, 0xe0, 0xa0, 0x9f, 0xed, 0xef, 0xf0, 0x90, 0x8f, 0xf4, 0xf5),
  fc.nat({ max: 255 }),
)

describe('a JSON string in bytes', () => {
  it('ends at its closing quote for any content and any following bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.string(), offset, (text, rest, at) => {
        const bytes = encoder.encode(JSON.stringify(text))
        expect(endIn(new Uint8Array([...bytes, ...encoder.encode(rest)]), at)).toBe(bytes.length)
      }),
    )
  })

  it('is valid if and only if a decoder and JSON.parse accept it', () => {
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

  it('may contain all characters except surrogates', () => {
    for (let first = 0x80; first < 0x110000; first += 61) {
      if (first >= 0xd800 && first <= 0xdfff) continue
      const bytes = encoder.encode(`"${String.fromCodePoint(first)}"`)
      expect(endIn(bytes, 0)).toBe(bytes.length)
    }
    expect(endIn(new Uint8Array([34, 0xed, 0xa0, 0x80, 34]), 0)).toBe(-1)
  })

  it.each(['', '"', '"\\', '"\\"', '"a', '"\\u12"', '"\\x"', '"\n"', '"ab\u0001"'])(
    'is rejected if it is malformed: %j',
    (text) => {
      for (let at = 0; at < 4; at++) expect(endIn(encoder.encode(text), at)).toBe(-1)
    },
  )

  it.each([
    ['"no.a"', -1],
    ['"a \\"no.a\\""', -1],
    ['"a no.a"', 8],
    ['"a \\\\no.a"', 10],
    ['"no"', 4],
  ])('%s: an excluded prefix is found at the beginning of a string or a nested string', (text, end) => {
    expect(endIn(encoder.encode(text), 0, ['x', 'no.'])).toBe(end)
  })
})
