import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutText, keptBytes, type Outline, outlineOf } from './outline.ts'
import { scanJson } from './scan.ts'
import type { Json } from './types.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const fatal = new TextDecoder('utf-8', { fatal: true })
const prose = 'All work and no play makes a gateway dull. '.repeat(10)

const outline = (text: string, depth = 100): Outline | undefined => outlineOf(encoder.encode(text), depth, [])

/** What an outline leaves of a value. */
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
  it('says what the document says, but for long texts, and where its members stand', () => {
    fc.assert(
      fc.property(object, fc.constantFrom(0, 1), (value, indent) => {
        // So much text is cut that the rest is less than half.
        const text = JSON.stringify({ ...value, long: prose.repeat(40) }, null, indent)
        const bytes = encoder.encode(text)
        const found = outlineOf(bytes, 100, [])
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

  it('is taken by a parser exactly where the document is', () => {
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
        const found = outlineOf(given, 100, [])
        const good = parses(() => fatal.decode(given))
        if (found !== undefined) expect(parses(() => found.text)).toBe(good)
        else expect(good).toBe(false)
      }),
      { numRuns: 3000 },
    )
  })

  it('keeps keys, however long', () => {
    const key = 'k'.repeat(200)
    expect(outline(`{"${key}" \n: "${prose.repeat(9)}"}`)?.text).toBe(`{"${key}" \n: "~"}`)
  })

  it('tells where very long texts stand', () => {
    const text = JSON.stringify({ a: prose, b: 'x'.repeat(3000) })
    const [far, ...others] = outline(text)?.farTexts ?? []
    expect(text.slice(far?.start, far?.end)).toBe('x'.repeat(3000))
    expect(others).toEqual([])
  })

  it.each([
    ['that nests too deep', JSON.stringify([[[[prose]]]]), 3],
    [
      'of which little can be cut',
      JSON.stringify({ a: Array.from({ length: 100 }, () => 1), b: prose.slice(0, 99) }),
      9,
    ],
    ['that has no end', `{"a":"${prose}`, 9],
  ])('is not made of a document %s', (_name, text, depth) => expect(outline(text, depth)).toBeUndefined())

  it('is made of documents of any length', () => {
    const text = JSON.stringify({ a: 'ё'.repeat(3_000_000), b: [1, 'c'] })
    expect(outline(text)?.text).toBe('{"a":"~","b":[1,"c"]}')
  })
})
