import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ExactNumber, stringifyExact } from './json.ts'
import { doubleOf, exactNumber, hasExactNumbers, parseExact, plainNumbers } from './parse.ts'

const again = (text: string): string => stringifyExact(parseExact(text))

describe('a number that a double cannot represent', () => {
  it.each([
    '1234567890123456789',
    '-1234567890123456789',
    '9007199254740993',
    '18446744073709551615',
    '1000000000000000000000',
    '0.1000000000000000055511151231257827',
    '12345678901234567.89',
    '12345678.123456789012',
    '1.2345678901234567890e5',
    '1e400',
    '-1E+400',
    '1e-400',
    `1${'0'.repeat(400)}`,
  ])('%s is preserved at any position of a document', (number) => {
    for (const text of [
      number,
      `[${number}]`,
      `{"a":${number}}`,
      `{"a":"${number}","b":[{"c":${number}},${number},null]}`,
      `{"a":"\\"${number}","__proto__":${number}}`,
    ]) {
      expect(hasExactNumbers(text)).toBe(true)
      expect(again(text)).toBe(text)
    }
    expect(again(` { "a" :\t${number} , "b" : [ ${number} , true , false ] } `)).toBe(
      `{"a":${number},"b":[${number},true,false]}`,
    )
  })

  it.each([
    ['1.0', '1'],
    ['-0', '0'],
    ['1E5', '100000'],
    ['0.10', '0.1'],
    ['1e21', '1e+21'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992', '9007199254740992'],
    ['1234567890123456800', '1234567890123456800'],
    ['-1.1920928955078125e-07', '-1.1920928955078125e-7'],
    ['1.00000000000000000000', '1'],
    ['1.5e300', '1.5e+300'],
    ['0.00000000000000000001', '1e-20'],
  ])('is not %s, which has the same value as %s', (number, written) => {
    expect(hasExactNumbers(`{"a":${number}}`)).toBe(false)
    expect(again(`{"a":${number}}`)).toBe(`{"a":${written}}`)
  })

  it('is not detected in strings', () => {
    for (const text of [
      '1234567890123456789',
      '{"id":1234567890123456789}',
      '\\',
      '-'.repeat(100),
      'e'.repeat(100),
      'a1e400,',
    ])
      expect(hasExactNumbers(JSON.stringify({ [text]: [text] }))).toBe(false)
  })

  it('becomes the nearest double with JSON.stringify', () => {
    expect(JSON.stringify(parseExact('{"a":1234567890123456789}'))).toBe('{"a":1234567890123456800}')
  })

  it('is read as a double in a format’s field if it is a fraction, and rejected if it is an integer', () => {
    expect(doubleOf(parseExact('0.69999999999999995559'))).toBe(0.7)
    expect(doubleOf(parseExact('1234567890123456789'))).toBeUndefined()
    expect(doubleOf(parseExact('1e400'))).toBeUndefined()
    expect(doubleOf(7)).toBe(7)
    expect(doubleOf('7')).toBeUndefined()
  })

  it('can be created from its text', () => {
    expect(exactNumber('9223372036854775807')).toEqual(new ExactNumber('9223372036854775807'))
    expect(exactNumber('7')).toBe(7)
  })
})

describe('any document', () => {
  const integers = fc.bigInt(-(10n ** 40n), 10n ** 40n).map(String)
  const decimals = fc
    .tuple(fc.bigInt(0n, 10n ** 30n), fc.stringMatching(/^\d{1,30}$/), fc.integer({ min: -400, max: 400 }))
    .map(([whole, fraction, exponent]) => `${whole}.${fraction}e${exponent}`)
  const { document } = fc.letrec((tie) => ({
    document: fc.oneof(
      { maxDepth: 4 },
      integers,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
      fc.string().map((text) => JSON.stringify(text)),
      fc.constantFrom('true', 'false', 'null', '{}', '[]'),
      fc.array(tie('document')).map((items) => `[${items.join(',')}]`),
      fc
        .array(fc.tuple(fc.string({ minLength: 1 }), tie('document')), { maxLength: 5 })
        .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(`k${key}`)}:${value}`).join(',')}}`),
    ),
  }))

  it('is parsed like JSON.parse except for such numbers', () => {
    fc.assert(
      fc.property(document as fc.Arbitrary<string>, (text) => {
        expect(JSON.parse(JSON.stringify(parseExact(text)))).toEqual(JSON.parse(JSON.stringify(JSON.parse(text))))
      }),
    )
  })

  it('keeps every integer, and the double of every decimal', () => {
    fc.assert(
      fc.property(fc.array(integers), fc.array(decimals), fc.string(), (whole, fractions, words) => {
        const text = `{"w":[${whole.join(',')}],"s":${JSON.stringify(words)},"f":[${fractions.join(',')}]}`
        const out = again(text)
        expect(out.slice(0, out.indexOf(']') + 1)).toBe(`{"w":[${whole.join(',')}]`)
        expect(JSON.parse(out)).toEqual(JSON.parse(text))
      }),
    )
  })

  it('throws if JSON.parse throws', () => {
    for (const text of ['', '{', '[1234567890123456789', '01234567890123456789', '{"a":1e400,}', 'NaN'])
      expect(() => parseExact(text)).toThrow(SyntaxError)
  })
})

describe('the value for readers outside the gateway', () => {
  it('contains doubles, and is the same object if it has no exact numbers', () => {
    const text = '{"a":[1,{"b":12345678901234567890,"__proto__":1e400}],"c":"x","d":null}'
    expect(plainNumbers(parseExact(text))).toStrictEqual(JSON.parse(text))
    const value = { a: [1, { b: null }] }
    expect(plainNumbers(value)).toBe(value)
  })
})
