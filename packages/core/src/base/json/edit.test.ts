import fc from 'fast-check'
import { expect, it } from 'vitest'
import { editJson, spliceJson } from './edit.ts'
import { type JsonObject, scanJson } from './json.ts'
import { createOutline } from './outline.ts'

const edit = (text: string, set: JsonObject, drop: readonly string[] = []): string =>
  editJson(text, scanJson(text, 100).members, set, drop)

it.each([
  ['adds a new member', '{"a":1}', { b: [2] }, [], '{"a":1,"b":[2]}'],
  ['replaces every occurrence of a member', '{"a":1,"b":2,"a":3}', { a: 9 }, [], '{"b":2,"a":9}'],
  ['removes every occurrence of a member', '{"model":"m", "a":1 ,"model":"n"}', {}, ['model'], '{"a":1}'],
  ['removes the only member', '{ "a" : 1 }', {}, ['a'], '{}'],
  ['adds a member to an empty object', '{}', { a: 1 }, ['b'], '{"a":1}'],
  [
    'keeps values as written',
    '{"n":12345678901234567890,"s":"\\u00e4","o":{"x": 1.0}}',
    { z: 0 },
    [],
    '{"n":12345678901234567890,"s":"\\u00e4","o":{"x": 1.0},"z":0}',
  ],
])('%s', (_name, text, set, drop, wanted) => expect(edit(text, set as JsonObject, drop)).toBe(wanted))

const object = fc.dictionary(fc.string({ unit: 'binary', maxLength: 4 }), fc.jsonValue()) as fc.Arbitrary<JsonObject>

it('edits bytes to the same document as text', () => {
  fc.assert(
    fc.property(object, object, fc.constantFrom(0, 2), (own, set, indent) => {
      const text = JSON.stringify({ ...own, long: 'łong '.repeat(2000) }, null, indent)
      const bytes = new TextEncoder().encode(text)
      const { members } = scanJson(text, 1000)
      const places = createOutline(bytes, 1000, [])?.members ?? []
      const drop = Object.keys(own).slice(0, 2)
      const written = (source: string | Uint8Array): string => new TextDecoder().decode(source as Uint8Array)
      expect(written(spliceJson(bytes, places, set))).toBe(spliceJson(text, members, set))
      expect(written(editJson(bytes, places, set, drop))).toBe(editJson(text, members, set, drop))
    }),
  )
})

it('adds to an object without members', () => {
  const bytes = new TextEncoder().encode(' { }')
  expect(new TextDecoder().decode(spliceJson(bytes, [], { a: 1 }) as Uint8Array)).toBe(' {"a":1 }')
})
