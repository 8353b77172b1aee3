import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { fromOpenApi, lowerToGoogle, lowerTypes, toOpenApi } from './schema-lowering.ts'

describe('Google’s OpenAPI subset', () => {
  test.each<[string, JsonObject, JsonObject]>([
    [
      'types',
      { type: 'OBJECT', properties: { type: { type: 'INTEGER' } } },
      { type: 'object', properties: { type: { type: 'integer' } } },
    ],
    ['nullable', { type: 'STRING', nullable: true }, { type: ['string', 'null'] }],
    [
      'a nullable enum',
      { type: 'STRING', enum: ['a'], nullable: true },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      'lists',
      { type: 'ARRAY', items: { type: 'NUMBER', format: 'double' }, maxItems: 3 },
      { type: 'array', items: { type: 'number', format: 'double' }, maxItems: 3 },
    ],
    [
      'the order of properties',
      { type: 'OBJECT', properties: { b: { type: 'STRING' } }, propertyOrdering: ['b'] },
      { type: 'object', properties: { b: { type: 'string' } }, propertyOrdering: ['b'] },
    ],
  ])('converts in both directions: %s', (_, subset, schema) => {
    expect(fromOpenApi(subset)).toEqual(schema)
    expect(toOpenApi(schema)).toEqual(subset)
  })

  test.each<[string, JsonObject, JsonObject]>([
    ['counts written as text', { type: 'STRING', min_length: '2' }, { type: 'string', minLength: 2 }],
    [
      'a type by its number',
      { type: 6, properties: { a: { type: 1 } } },
      { type: 'object', properties: { a: { type: 'string' } } },
    ],
    ['type number 0', { type: 0 }, {}],
    ['no type', { type: 'TYPE_UNSPECIFIED' }, {}],
    ['an example', { type: 'STRING', example: 'x' }, { type: 'string', examples: ['x'] }],
    ['the format enum', { type: 'STRING', format: 'enum', enum: ['a'] }, { type: 'string', enum: ['a'] }],
    [
      'a nullable anyOf',
      { anyOf: [{ type: 'STRING' }], nullable: true },
      { anyOf: [{ type: 'string' }, { type: 'null' }] },
    ],
    [
      'a property called like a field',
      { type: 'OBJECT', properties: { any_of: { type: 'STRING' } } },
      { type: 'object', properties: { any_of: { type: 'string' } } },
    ],
  ])('is decoded: %s', (_, subset, schema) => {
    expect(fromOpenApi(subset)).toEqual(schema)
  })

  test.each<[string, JsonObject]>([
    ['references', { $ref: '#/x' }],
    ['constants', { type: 'string', const: 'x' }],
    ['alternatives', { anyOf: [{ type: 'string' }] }],
    ['closed objects', { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }],
    ['empty objects', { type: 'object', properties: {} }],
    ['lists of anything', { type: 'array' }],
    ['several types', { type: ['string', 'number'] }],
    ['an enum of numbers', { type: 'integer', enum: [1] }],
    ['an enum without the null of its type', { type: ['string', 'null'], enum: ['a'] }],
    ['formats that the subset refuses', { type: 'string', format: 'uri' }],
    [
      'such a keyword deeper in the schema',
      { type: 'object', properties: { a: { type: 'array', items: { const: 1 } } } },
    ],
    ['defaults', { type: 'string', default: 'x' }],
  ])('cannot express %s', (_, schema) => {
    expect(toOpenApi(schema)).toBeUndefined()
  })
})

describe('JSON Schema', () => {
  test('has upper-case types lowered where types stand, and nowhere else', () => {
    const properties = { type: { type: 'STRING', enum: ['STRING'], default: { type: 'OBJECT' } } }
    expect(lowerTypes({ type: ['OBJECT', 'NULL'], properties, anyOf: [{ items: { type: 'ARRAY' } }] })).toEqual({
      type: ['object', 'null'],
      properties: { type: { type: 'string', enum: ['STRING'], default: { type: 'OBJECT' } } },
      anyOf: [{ items: { type: 'array' } }],
    })
  })

  test('is the same object if it needs no change', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, oneOf: [{ $ref: '#/x' }] }
    expect(lowerTypes(schema)).toBe(schema)
  })

  test('lists its keywords that Google does not enforce', () => {
    const schema = {
      properties: { not: { type: 'string' }, a: { not: {}, items: { const: 1 } } },
      allOf: [{ multipleOf: 2 }],
    }
    // `const` becomes an enum of one value, and an `allOf` with one member becomes that member.
    expect([...lowerToGoogle(schema, '').unenforced].sort()).toEqual(["'multipleOf'", "'not'"])
  })
})
