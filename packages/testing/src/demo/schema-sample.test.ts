import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../base/json.ts'
import { countTokens, tokenize } from '../base/tokens.ts'
import { sampleOf } from './schema-sample.ts'

const recursive: JsonObject = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: { name: { type: 'string' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
      required: ['name', 'next'],
    },
  },
}

describe('sample of a JSON schema', () => {
  it.each([
    [{ type: 'string' }, 'example'],
    [{ type: 'STRING' }, 'example'],
    [{ enum: ['a', 'b'] }, 'a'],
    [{ const: 3 }, 3],
    [{ type: ['string', 'null'] }, 'example'],
    [{ type: 'integer', minimum: 50, maximum: 60 }, 50],
    [{ type: 'integer', exclusiveMaximum: 10 }, 9],
    [{ type: 'integer', multipleOf: 5 }, 40],
    [{ type: 'number', minimum: 0, maximum: 1 }, 1],
    [{ type: 'string', maxLength: 3 }, 'exa'],
    [{ type: 'string', minLength: 9 }, 'examplexx'],
    [{ type: 'string', format: 'date' }, '2026-01-02'],
    [{ type: 'array', items: { type: 'boolean' }, minItems: 2 }, [true, true]],
    [{ type: 'array', items: { type: 'integer' }, uniqueItems: true, minItems: 2 }, [42, 43]],
    [{ prefixItems: [{ const: 1 }, { const: 2 }] }, [1, 2]],
    [{ anyOf: [{ type: 'null' }, { type: 'boolean' }] }, true],
    [{ allOf: [{ properties: { a: { const: 1 } } }, { properties: { b: { const: 2 } } }] }, { a: 1, b: 2 }],
    [{ properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: { const: 'x' } } }, { a: 'x' }],
    [recursive, { name: 'example', next: null }],
  ] satisfies [JsonObject, Json][])('satisfies %j', (schema, wanted) => {
    expect(sampleOf(schema)).toEqual(wanted)
  })

  it('is finite for a schema that requires itself', () => {
    const endless: JsonObject = { type: 'object', properties: { self: { $ref: '#' } }, required: ['self'] }
    expect(JSON.stringify(sampleOf(endless)).length).toBeLessThan(1000)
  })

  it('leaves the prototype unchanged', () => {
    const value = sampleOf(
      JSON.parse('{"properties":{"__proto__":{"type":"object","properties":{"bad":{}}}}}') as JsonObject,
    )
    expect(Object.keys(value as object)).toEqual(['__proto__'])
    expect((value as { bad?: unknown }).bad).toBeUndefined()
  })
})

describe('tokenizer', () => {
  it.each([
    '',
    'a',
    'one two',
    '  lead',
    'trail  ',
    'a\n\nb',
    'x'.repeat(30),
    'naïve 😀😀😀😀😀😀😀😀😀😀😀😀😀 ok',
    ' ',
  ])('splits %j into tokens that join to the text, and counts them', (text) => {
    expect(tokenize(text).join('')).toBe(text)
    expect(countTokens(text)).toBe(tokenize(text).length)
  })
})
