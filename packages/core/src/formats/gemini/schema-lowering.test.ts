import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/types.ts'
import { fromOpenApi, lowerToGoogle, lowerTypes, toOpenApi } from './schema-lowering.ts'

describe('Google’s subset', () => {
  test.each<[string, JsonObject, JsonObject]>([
    [
      'types',
      { type: 'OBJECT', properties: { type: { type: 'INTEGER' } } },
      { type: 'object', properties: { type: { type: 'integer' } } },
    ],
    ['nullable', { type: 'STRING', nullable: true }, { type: ['string', 'null'] }],
    [
      'nullable words',
      { type: 'STRING', enum: ['a'], nullable: true },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      'lists',
      { type: 'ARRAY', items: { type: 'NUMBER', format: 'double' }, maxItems: 3 },
      { type: 'array', items: { type: 'number', format: 'double' }, maxItems: 3 },
    ],
    [
      'order',
      { type: 'OBJECT', properties: { b: { type: 'STRING' } }, propertyOrdering: ['b'] },
      { type: 'object', properties: { b: { type: 'string' } }, propertyOrdering: ['b'] },
    ],
  ])('%s mean the same both ways', (_, subset, schema) => {
    expect(fromOpenApi(subset)).toEqual(schema)
    expect(toOpenApi(schema)).toEqual(subset)
  })

  test.each<[string, JsonObject, JsonObject]>([
    ['counts as text', { type: 'STRING', min_length: '2' }, { type: 'string', minLength: 2 }],
    [
      'a type by its number',
      { type: 6, properties: { a: { type: 1 } } },
      { type: 'object', properties: { a: { type: 'string' } } },
    ],
    ['no type by its number', { type: 0 }, {}],
    ['no type', { type: 'TYPE_UNSPECIFIED' }, {}],
    ['an example', { type: 'STRING', example: 'x' }, { type: 'string', examples: ['x'] }],
    ['a format of words', { type: 'STRING', format: 'enum', enum: ['a'] }, { type: 'string', enum: ['a'] }],
    [
      'a nullable choice',
      { anyOf: [{ type: 'STRING' }], nullable: true },
      { anyOf: [{ type: 'string' }, { type: 'null' }] },
    ],
    [
      'a property called like a field',
      { type: 'OBJECT', properties: { any_of: { type: 'STRING' } } },
      { type: 'object', properties: { any_of: { type: 'string' } } },
    ],
  ])('%s is read', (_, subset, schema) => {
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
    ['numbers to choose from', { type: 'integer', enum: [1] }],
    ['words whose null is ruled out', { type: ['string', 'null'], enum: ['a'] }],
    ['formats that the subset refuses', { type: 'string', format: 'uri' }],
    ['any of it deeper', { type: 'object', properties: { a: { type: 'array', items: { const: 1 } } } }],
    ['defaults', { type: 'string', default: 'x' }],
  ])('%s are beyond it', (_, schema) => {
    expect(toOpenApi(schema)).toBeUndefined()
  })
})

describe('JSON Schema', () => {
  test('with upper-case types is lowered where types stand, and nowhere else', () => {
    const properties = { type: { type: 'STRING', enum: ['STRING'], default: { type: 'OBJECT' } } }
    expect(lowerTypes({ type: ['OBJECT', 'NULL'], properties, anyOf: [{ items: { type: 'ARRAY' } }] })).toEqual({
      type: ['object', 'null'],
      properties: { type: { type: 'string', enum: ['STRING'], default: { type: 'OBJECT' } } },
      anyOf: [{ items: { type: 'array' } }],
    })
  })

  test('that needs no change is the same object', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, oneOf: [{ $ref: '#/x' }] }
    expect(lowerTypes(schema)).toBe(schema)
  })

  test('tells which of its keywords nobody enforces', () => {
    const schema = {
      properties: { not: { type: 'string' }, a: { not: {}, items: { const: 1 } } },
      allOf: [{ multipleOf: 2 }],
    }
    // A number to be equal to is written as the one of an enum, and a single part of a whole as the whole.
    expect([...lowerToGoogle(schema, '').unenforced].sort()).toEqual(["'multipleOf'", "'not'"])
  })
})
