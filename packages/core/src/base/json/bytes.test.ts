import fc from 'fast-check'
import { expect, it } from 'vitest'
import { editJson } from './edit.ts'
import { outlineOf } from './outline.ts'
import { scanJson } from './scan.ts'
import { spliceJson } from './splice.ts'
import type { JsonObject } from './types.ts'

const object = fc.dictionary(fc.string({ unit: 'binary', maxLength: 4 }), fc.jsonValue()) as fc.Arbitrary<JsonObject>

it('edits bytes to the same document as text', () => {
  fc.assert(
    fc.property(object, object, fc.constantFrom(0, 2), (own, set, indent) => {
      const text = JSON.stringify({ ...own, long: 'łong '.repeat(2000) }, null, indent)
      const bytes = new TextEncoder().encode(text)
      const { members } = scanJson(text, 1000)
      const places = outlineOf(bytes, 1000, [])?.members ?? []
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
