import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import * as z from './body-schema.ts'
import { dotted, validateBody } from './validate.ts'

const check = (schema: z.Schema) => (body: JsonObject) => {
  try {
    return validateBody(schema, body, ({ path, code }) => ({ message: `${dotted(path)}: ${code}` }))
  } catch (error) {
    return (error as Error).message
  }
}
const plain = z.looseObject({
  name: z.string(),
  size: z.number().min(1).nullish(),
  tags: z.array(z.string()).optional(),
})

describe.each([
  ['a plain schema', plain],
  ['a schema with a custom rule', plain.superRefine(() => {})],
])('validation by %s', (_name, schema) => {
  it.each<[JsonObject, string]>([
    [{}, 'name: invalid_type'],
    [{ name: null }, 'name: invalid_type'],
    [{ name: 1, size: 0 }, 'name: invalid_type'],
    [{ size: 0, name: 'a' }, 'size: too_small'],
    [{ name: 'a', tags: ['b', 2] }, 'tags.1: invalid_type'],
  ])('rejects %j with the error %s', (body, message) => {
    expect(check(schema)(body)).toBe(message)
  })

  it('returns a valid body as the same object with unknown fields and nulls', () => {
    const body = JSON.parse('{"name":"a","size":null,"other":{"deep":1},"__proto__":{"name":2}}') as JsonObject
    expect(check(schema)(body)).toBe(body)
  })
})

it('applies a rule over several fields', () => {
  const schema = z.looseObject({ a: z.number(), b: z.number() }).refine(({ a, b }) => a < b)
  expect(check(schema)({ a: 2, b: 1 })).toMatch(/custom/)
})

describe('the error of a union', () => {
  const schema = z.looseObject({ in: z.union([z.string(), z.array(z.looseObject({ a: z.string(), b: z.number() }))]) })

  it('is that of the option that fits furthest', () => {
    expect(check(schema)({ in: [{ a: 'x', b: 'y' }] })).toBe('in.0.b: invalid_type')
  })

  it('names the union if no option fits at all', () => {
    expect(check(schema)({ in: 1 })).toBe('in: invalid_union')
  })
})
