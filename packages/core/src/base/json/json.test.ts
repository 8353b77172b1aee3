import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { spliceJson } from './edit.ts'
import { nestsDeeper, scanJson } from './json.ts'

const splice = (text: string, set: Parameters<typeof spliceJson>[2]) =>
  spliceJson(text, scanJson(text, 100).members, set)

describe('scanJson', () => {
  it('finds every top-level member for any spacing, escapes and nesting', () => {
    const text = '{ "a" : 1 ,"b":[1,{"x":"}"}], "c\\u0064": "q\\"},{" , "e":{"a":2}\n}'
    const { members, tooDeep } = scanJson(text, 10)
    expect(tooDeep).toBe(false)
    expect(members.map(({ key, start, end }) => [key, text.slice(start, end)])).toEqual([
      ['a', '1'],
      ['b', '[1,{"x":"}"}]'],
      ['cd', '"q\\"},{"'],
      ['e', '{"a":2}'],
    ])
  })

  it.each([
    ['[1,2,3]', 3],
    ['{"a":1,"b":{"c":2}}', 6],
    ['[{},{},[]]', 6],
    ['["a,b:[{\\"",""]', 2],
    ['1', 0],
  ])('counts in %s %i values and names', (text, values) => {
    expect(scanJson(text, 10, values).tooMany).toBe(false)
    if (values > 0) expect(scanJson(text, 10, values - 1).tooMany).toBe(true)
  })

  it.each([
    ['[[1]]', 2, false],
    ['[[[1]]]', 2, true],
    ['{"a":{"b":[]}}', 3, false],
    ['{"a":{"b":[[]]}}', 3, true],
    ['"[[[["', 1, false],
  ])('checks %s against %i levels: too deep is %s', (text, depth, expected) => {
    expect(scanJson(text, depth).tooDeep).toBe(expected)
    expect(nestsDeeper(text, depth)).toBe(expected)
  })

  it('does not count adjacent brackets as depth', () => {
    const text = JSON.stringify({ list: Array.from({ length: 1000 }, () => [{}]), text: '[{'.repeat(1000) })
    expect(nestsDeeper(text, 4)).toBe(false)
    expect(nestsDeeper(text, 3)).toBe(true)
  })

  it('rejects 100,000 levels without recursion and handles malformed text', () => {
    expect(scanJson('['.repeat(100_000), 128).tooDeep).toBe(true)
    for (const text of ['', '{', '{"a', '{"a":', '"\\', '}}}', '{"a":1', ',:'])
      expect(() => scanJson(text, 10)).not.toThrow()
  })

  it('finds the ends of strings with consecutive escapes', () => {
    const pieces = fc.constantFrom('\\', '"', '\n', 'a', '}', 'letters in a row, without any escape in between')
    fc.assert(
      fc.property(fc.array(fc.array(pieces).map((list) => list.join(''))), (texts) => {
        const text = JSON.stringify({ texts, last: texts.join('') })
        const { members } = scanJson(text, 2)
        expect(members.map(({ key, start, end }) => [key, JSON.parse(text.slice(start, end))])).toEqual([
          ['texts', texts],
          ['last', texts.join('')],
        ])
      }),
    )
  })

  it('agrees with JSON.parse on any object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 1, 4), (object, indent) => {
        const text = JSON.stringify(object, null, indent)
        const { members } = scanJson(text, 1000)
        expect(
          Object.fromEntries(members.map(({ key, start, end }) => [key, JSON.parse(text.slice(start, end))])),
        ).toEqual(JSON.parse(text))
      }),
    )
  })
})

describe('spliceJson', () => {
  it('changes only the characters of the model', () => {
    const text = '{\n  "big": 12345678901234567890, "model" : "alias",\t"x": 1.0, "e":"\\u00e9" }'
    expect(splice(text, { model: 'real' })).toBe(text.replace('"alias"', '"real"'))
  })

  it('sets every occurrence of a repeated key, so that no reader downstream sees another value', () => {
    expect(splice('{"model":"a","n":1,"model":"b"}', { model: 'x' })).toBe('{"model":"x","n":1,"model":"x"}')
  })

  it('adds missing members after the last member, also to an empty object', () => {
    expect(splice('{"a":1 }', { b: { c: true } })).toBe('{"a":1,"b":{"c":true} }')
    expect(splice('{"model":"a","z":2}', { model: 'b', y: 1 })).toBe('{"model":"b","z":2,"y":1}')
    expect(splice('{ }', { b: 1 })).toBe('{"b":1 }')
  })

  it('does not change nested members of the same name', () => {
    const text = '{"m":{"model":"inner"},"model":"a","s":"\\"model\\":\\"a\\""}'
    expect(splice(text, { model: 'b' })).toBe('{"m":{"model":"inner"},"model":"b","s":"\\"model\\":\\"a\\""}')
  })

  it('returns text that parses to the object with the members set', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (object, set) => {
          const parsed = JSON.parse(splice(JSON.stringify(object), set as Parameters<typeof spliceJson>[2]))
          const expected = { ...JSON.parse(JSON.stringify(object)), ...JSON.parse(JSON.stringify(set)) }
          expect(parsed).toEqual(expected)
        },
      ),
    )
  })
})
