import { expect, it } from 'vitest'
import { drop, dropNulls, leftover, putBack, takeNumber, takeString, unread } from './reader.ts'

it('leaves what nobody took, in its order, and the source as it was', () => {
  const source = { a: 'x', b: 1, c: null, d: [], e: { f: 2 } }
  const fields = unread(source)
  expect(takeString(fields, 'a')).toBe('x')
  expect(takeString(fields, 'b')).toBeUndefined()
  expect(takeNumber(fields, 'c')).toBeUndefined()
  drop(fields, 'd')
  drop(fields, 'nowhere')
  expect(JSON.stringify(leftover(fields))).toBe('{"b":1,"e":{"f":2}}')
  expect(Object.keys(leftover(fields) ?? {})).toEqual(['b', 'e'])
  expect(source).toEqual({ a: 'x', b: 1, c: null, d: [], e: { f: 2 } })
})

it('leaves nothing of an object that was taken apart, or said nothing', () => {
  const fields = unread({ a: 'x', b: null })
  takeString(fields, 'a')
  dropNulls(fields)
  expect(leftover(fields)).toBeUndefined()
  expect(leftover(unread({}))).toBeUndefined()
})

it('puts back what was left of a field: in its place, or behind all others where it was taken', () => {
  const fields = unread({ a: { b: 1 }, c: 2, d: 3 })
  putBack(fields, 'c', 4)
  drop(fields, 'a')
  putBack(fields, 'a', { b: 5 })
  expect(JSON.stringify(leftover(fields))).toBe('{"c":4,"d":3,"a":{"b":5}}')
})

it('keeps a field by the name of an object’s prototype', () => {
  const fields = unread(JSON.parse('{"__proto__":{"x":1},"a":"b"}'))
  takeString(fields, 'a')
  expect(JSON.stringify(leftover(fields))).toBe('{"__proto__":{"x":1}}')
})
