import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../base/json/json.ts'
import { asJson, completion, setUp } from '../../gateway/create-gateway.test-support.ts'
import { SchemaGraph } from './schema-graph.ts'

const list = <T>(length: number, make: (index: number) => T): T[] => Array.from({ length }, (_, index) => make(index))

/** Creates a schema with definitions that each refer to the next one. */
function chain(length: number, link: (reference: JsonObject) => JsonObject, last: JsonObject): JsonObject {
  const $defs = Object.fromEntries(
    list(length, (index): [string, JsonObject] => [
      `d${index}`,
      index === length - 1 ? last : link({ $ref: `#/$defs/d${index + 1}` }),
    ]),
  )
  return { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs }
}

const first: Json = { $ref: '#/$defs/d0' }
const anyOf = (reference: JsonObject): JsonObject => ({ anyOf: [reference, { type: 'string' }] })

describe('nullability of a schema', () => {
  it.each<[string, JsonObject, boolean]>([
    ['through a chain of references', chain(50, (reference) => reference, { type: ['string', 'null'] }), true],
    ['through alternatives within alternatives', chain(50, anyOf, { type: 'null' }), true],
    ['without a nullable alternative', chain(50, anyOf, { type: 'number' }), false],
    ['in circular references', chain(3, (reference) => reference, first as JsonObject), false],
    ['in circular alternatives', chain(3, anyOf, { anyOf: [first] }), false],
    [
      'in circular alternatives with one nullable alternative',
      chain(3, anyOf, { anyOf: [first, { type: 'null' }] }),
      true,
    ],
    [
      'in alternatives that a type excludes',
      chain(3, (reference) => ({ type: 'string', anyOf: [reference] }), { type: 'null' }),
      false,
    ],
  ])('is computed %s', (_, root, expected) => {
    expect(new SchemaGraph(root).admitsNull(first)).toBe(expected)
  })

  it('is computed for each node of a circle in any order', () => {
    const root: JsonObject = {
      $defs: { A: anyOf({ $ref: '#/$defs/B' }), B: { anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }] } },
    }
    const nullability = (names: string[]): boolean[] => {
      const graph = new SchemaGraph(root)
      return names.map((name) => graph.admitsNull({ $ref: `#/$defs/${name}` }))
    }
    expect([nullability(['A', 'B']), nullability(['B', 'A'])]).toEqual([
      [true, true],
      [true, true],
    ])
  })

  it('is computed without deep recursion for 30,000 references', () => {
    const root = chain(30_000, anyOf, { type: 'null' })
    const graph = new SchemaGraph(root)
    expect(graph.admitsNull(first)).toBe(true)
    expect(graph.isRecursive()).toBe(false)
    expect(graph.areDisjoint([first, { $ref: '#/$defs/d1' }])).toBe(false)
  })
})

describe('recursion in a schema', () => {
  it.each<[string, JsonObject, boolean]>([
    ['for a reference to the root', { properties: { a: { $ref: '#' } } }, true],
    ['for definitions that refer to each other', chain(9, anyOf, { items: first }), true],
    [
      'for a reference to an enclosing property',
      { properties: { a: { properties: { b: { $ref: '#/properties/a' } } } } },
      true,
    ],
    [
      'for one definition under two spellings',
      { properties: { a: { $ref: '#/$defs/%41' } }, $defs: { A: { items: { $ref: '#/$defs/A' } } } },
      true,
    ],
    ['for definitions that are used twice', { anyOf: [first, first], $defs: { d0: { type: 'string' } } }, false],
    ['for unused definitions', { $defs: { A: { $ref: '#/$defs/A' } } }, false],
  ])('is detected correctly %s', (_, root, expected) => {
    expect(new SchemaGraph(root).isRecursive()).toBe(expected)
  })
})

describe('disjointness of schemas', () => {
  it.each<[string, Json[], boolean]>([
    ['different types', [{ type: 'string' }, { type: 'number' }], true],
    ['a number and an integer', [{ type: 'integer' }, { type: 'number' }], false],
    ['different values', [{ enum: ['a', 'b'] }, { const: 'c' }], true],
    ['two references to one schema', [{ $ref: '#/$defs/A' }, { $ref: '#/$defs/%41' }], false],
    [
      'a required property with different values',
      ['x', 'y'].map((kind) => ({ required: ['kind'], properties: { kind: { const: kind } } })),
      true,
    ],
    [
      'a property that one schema does not require',
      [{ required: ['kind'], properties: { kind: { const: 'x' } } }, { properties: { kind: { const: 'y' } } }],
      false,
    ],
  ])('is detected correctly for %s', (_, schemas, expected) => {
    expect(new SchemaGraph({ $defs: { A: { type: 'string' } } }).areDisjoint(schemas)).toBe(expected)
  })
})

/** Long lists of values that make every pair a comparison. */
const wasteful: JsonObject = {
  type: 'object',
  properties: Object.fromEntries(
    list(60, (one) =>
      list(one, (other): [string, JsonObject] => [
        `p${one}_${other}`,
        { oneOf: [{ $ref: `#/$defs/A${one}` }, { $ref: `#/$defs/A${other}` }] },
      ]),
    ).flat(),
  ),
  $defs: Object.fromEntries(
    list(60, (name): [string, JsonObject] => [`A${name}`, { enum: list(300, (index) => `${name} ${index}`) }]),
  ),
}

describe('a schema whose references need too many steps', () => {
  it('throws when it exceeds a step budget proportional to its size', () => {
    const graph = new SchemaGraph(wasteful, '/tools/3')
    const compareAll = (): void => {
      for (const { oneOf } of Object.values(wasteful.properties as JsonObject) as JsonObject[])
        graph.areDisjoint(oneOf as Json[])
    }
    expect(compareAll).toThrow(
      expect.objectContaining({ info: expect.objectContaining({ kind: 'invalid_request', param: 'tools.3' }) }),
    )
    expect(graph.steps).toBeLessThan(900_000)
  })

  it.each([
    [
      '/v1/responses',
      { model: 'claude-x', input: 'hi', tools: [{ type: 'function', name: 'f', parameters: wasteful }] },
      'tools.0',
    ],
    [
      '/v1/messages',
      {
        model: 'real',
        max_tokens: 9,
        messages: [{ role: 'user', content: 'hi' }],
        tools: [{ name: 'f', input_schema: wasteful, strict: true }],
      },
      'tools.0',
    ],
    [
      '/v1/chat/completions',
      {
        model: 'claude-sonnet-4-5',
        messages: [{ role: 'user', content: 'hi' }],
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema: wasteful, strict: true } },
      },
      'response_format',
    ],
  ])('is rejected with a 400 that names the field: POST %s', async (path, body, field) => {
    const { post, seen } = setUp({ a: asJson(completion), m: asJson({}) })
    const response = await post(path, body, { 'anthropic-version': '2023-06-01' })
    const text = await response.text()
    expect({ status: response.status, sent: seen.length }).toEqual({ status: 400, sent: 0 })
    expect(text).toContain(`${field}: the JSON Schema is too complex to be translated`)
  })

  it('stays within the budget if the same long lists are compared many times', () => {
    const graph = new SchemaGraph(wasteful)
    for (let count = 0; count < 5000; count++)
      expect(graph.areDisjoint([{ $ref: '#/$defs/A1' }, { $ref: '#/$defs/A2' }])).toBe(true)
    for (let count = 0; count < 5000; count++) expect(graph.admitsNull({ $ref: '#/$defs/A1' })).toBe(false)
  })

  it('is accepted if it needs no translation', async () => {
    const { chat } = setUp({ a: asJson(completion) })
    const tools = [{ type: 'function', function: { name: 'f', parameters: wasteful, strict: true } }]
    expect((await chat({ tools })).status).toBe(200)
  })
})
