import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import { chatCodec } from '../chat/codec.ts'
import type { Codec } from '../codec.ts'
import { geminiCodec } from '../gemini/codec.ts'
import { messagesCodec } from '../messages/index.ts'
import { responsesCodec } from '../responses/codec.ts'
import { exchangeOf } from './exchange.test-support.ts'

/** Tests of JSON Schemas that a client of one format sends to an upstream of another. */

const model = 'claude-sonnet-4-5'
const requestBodies = {
  chat: (schema: JsonObject): JsonObject => ({
    model,
    messages: [{ role: 'user', content: 'hi' }],
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
  }),
  messages: (schema: JsonObject): JsonObject => ({
    model,
    max_tokens: 99,
    messages: [{ role: 'user', content: 'hi' }],
    output_config: { format: { type: 'json_schema', schema } },
  }),
}

interface Sent {
  readonly schema?: unknown
  readonly strict?: unknown
  /** Severity (`warn` or `note`) and detail of each loss. */
  readonly reported: readonly string[]
}

function send(client: Codec, schema: JsonObject, upstream: Codec): Sent {
  const body = client === chatCodec ? requestBodies.chat(schema) : requestBodies.messages(schema)
  const { sent, losses } = exchangeOf(client, body, upstream, model)
  const reported = losses
    .filter(({ kind, detail }) => kind !== 'unsupported' || detail.includes('refers to itself'))
    .filter(
      ({ detail }) =>
        !detail.includes('needs a name') && !detail.includes('requires') && !detail.includes('has no name'),
    )
    .map(({ severity, detail }) => `${severity} ${detail.slice(detail.indexOf(':') + 2)}`)
  return { ...formatIn(sent), reported }
}

function formatIn(sent: JsonObject): { schema?: unknown; strict?: unknown } {
  const { response_format, text, output_config, generationConfig } = sent as { [key: string]: JsonObject }
  const wire = response_format?.json_schema ?? text?.format ?? output_config?.format
  if (wire !== undefined) return wire as JsonObject
  const { responseSchema, responseJsonSchema } = generationConfig ?? {}
  return responseSchema === undefined ? { schema: responseJsonSchema } : { schema: { subset: responseSchema } }
}

const string = { type: 'string' }
const object = (properties: JsonObject, more: JsonObject = { required: Object.keys(properties) }): JsonObject => ({
  type: 'object',
  properties,
  ...more,
})
const closed = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  ...object(properties),
  ...more,
  additionalProperties: false,
})
const reference = { $ref: '#/$defs/node' }
const tree = closed(
  { root: reference },
  { $defs: { node: closed({ next: { anyOf: [reference, { type: 'null' }] } }) } },
)

/** `expected` is the schema that is sent upstream; it defaults to the unchanged `schema`. */
type Row = [name: string, schema: JsonObject, reported: string[], expected?: JsonObject]

const proto = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}},"required":[]}') as JsonObject
const narrower = 'note properties that the schema does not name are forbidden'

describe.each([chatCodec, responsesCodec])('a schema for the strict mode of $format', (upstream) => {
  const strictRows: Row[] = [
    ['a strict schema', closed({ a: string }), []],
    ['an open object', object({ a: string }), [narrower], closed({ a: string })],
    [
      'nested open objects',
      closed({ a: { type: 'array', items: object({ b: string }) } }),
      [narrower],
      closed({ a: { type: 'array', items: closed({ b: string }) } }),
    ],
    [
      'an optional property that may be null',
      closed({ a: { type: ['string', 'null'] } }, { required: [] }),
      ['note optional properties are null instead of missing'],
      closed({ a: { type: ['string', 'null'] } }),
    ],
    [
      'an optional property that may be null, by reference',
      closed({ a: reference }, { required: [], $defs: { node: { anyOf: [string, { type: 'null' }] } } }),
      ['note optional properties are null instead of missing'],
      closed({ a: reference }, { $defs: { node: { anyOf: [string, { type: 'null' }] } } }),
    ],
    ['constants', closed({ a: { type: 'string', const: 'x' } }), []],
    ['a constant without its type', closed({ a: { const: 1 } }), [], closed({ a: { const: 1, type: 'number' } })],
    ['string enums', closed({ a: { type: 'string', enum: ['x', 'y'] } }), []],
    [
      'string enums without their type',
      closed({ a: { enum: ['x'] } }),
      [],
      closed({ a: { enum: ['x'], type: 'string' } }),
    ],
    ['alternatives', closed({ a: { anyOf: [string, { type: 'null' }] } }), []],
    ['several types', closed({ a: { type: ['string', 'integer', 'null'] } }), []],
    ['bounds', closed({ a: { type: 'integer', minimum: 1, exclusiveMaximum: 9, multipleOf: 2 } }), []],
    ['a pattern and a known format', closed({ a: { ...string, pattern: '^a' }, b: { ...string, format: 'date' } }), []],
    ['circular references', tree, []],
    [
      '`oneOf` with disjoint types',
      closed({ a: { oneOf: [string, { type: 'number' }] } }),
      [],
      closed({ a: { anyOf: [string, { type: 'number' }] } }),
    ],
    [
      '`oneOf` with a discriminating value',
      closed({
        a: { oneOf: [closed({ kind: { ...string, const: 'x' } }), closed({ kind: { ...string, enum: ['y'] } })] },
      }),
      [],
      closed({
        a: { anyOf: [closed({ kind: { ...string, const: 'x' } }), closed({ kind: { ...string, enum: ['y'] } })] },
      }),
    ],
    [
      '`allOf` with one part and a description',
      closed({ a: { allOf: [reference], description: 'd' } }, { $defs: { node: string } }),
      [],
      closed({ a: { description: 'd', anyOf: [reference] } }, { $defs: { node: string } }),
    ],
    [
      'hints that strict mode rejects',
      closed({ a: { ...string, default: 'x', examples: ['y'] } }),
      ["note 'default' is left out; 'examples' is left out"],
      closed({ a: string }),
    ],
  ]

  test.each(strictRows)('is sent as strict: %s', (_, schema, reported, expected = schema) => {
    expect(send(messagesCodec, schema, upstream)).toMatchObject({ schema: expected, strict: true, reported })
    expect(send(messagesCodec, schema, upstream).schema).toEqual(expected)
  })

  test.each<[string, JsonObject, string]>([
    ['an optional property', closed({ a: string, b: string }, { required: ['a'] }), 'optional properties'],
    ['a property called __proto__', proto, 'optional properties'],
    ['an object with any property names', closed({ a: { type: 'object' } }), 'objects with properties of any name'],
    ['a map', closed({ a: { type: 'object', additionalProperties: string } }), 'objects with properties of any name'],
    ['lengths', closed({ a: { ...string, maxLength: 3 } }), "'maxLength'"],
    ['an unknown format', closed({ a: { ...string, format: 'uri' } }), "format 'uri'"],
    ['`allOf` with several parts', closed({ a: { allOf: [string, { pattern: 'x' }] } }), "'allOf'"],
    ['`not`', closed({ a: { ...string, not: { const: 'x' } } }), "'not'"],
    [
      '`oneOf` with overlapping choices',
      closed({ a: { oneOf: [string, { ...string, pattern: 'x' }] } }),
      "'oneOf' with choices that overlap",
    ],
    ['a reference to another document', closed({ a: { $ref: 'https://x/y' } }), "'$ref' to another document"],
    ['a schema without a type', closed({ a: { description: 'd' } }), 'schema without a type'],
    ['true as a schema', closed({ a: true }), "'properties' with true or false as a schema"],
    ['an array at the root', { type: 'array', items: string }, 'schema whose root is not an object'],
    ['tuples', closed({ a: { type: 'array', prefixItems: [string] } }), "'prefixItems'"],
  ])('is sent unchanged without strict mode and reported: %s', (_, schema, fault) => {
    const sent = send(messagesCodec, schema, upstream)
    expect(sent.schema).toEqual(schema)
    expect(sent.strict).toBe(false)
    expect(sent.reported).toHaveLength(1)
    expect(sent.reported[0]).toMatch(/^warn strict mode does not accept /)
    expect(sent.reported[0]).toContain(fault)
  })

  test('follows the same rules for a strict tool', () => {
    const tool = (schema: JsonObject): unknown => {
      const body = {
        ...requestBodies.messages({}),
        output_config: null,
        tools: [{ name: 'f', input_schema: schema, strict: true }],
      }
      const [wire] = exchangeOf(messagesCodec, body, upstream, model).sent.tools as JsonObject[]
      const { parameters, strict } = (wire?.function ?? wire) as JsonObject
      return { parameters, strict }
    }
    expect(tool(object({ a: string }))).toEqual({ parameters: closed({ a: string }), strict: true })
    const optional = closed({ a: string }, { required: [] })
    expect(tool(optional)).toEqual({ parameters: optional, strict: false })
  })
})

test('keeps a strict schema unchanged between the two formats with a strict mode', () => {
  expect(send(chatCodec, tree, responsesCodec)).toMatchObject({ schema: tree, strict: true, reported: [] })
})

test('keeps any schema unchanged for an upstream of the client’s own format', () => {
  const odd = object({ a: { ...string, maxLength: 3, oneOf: [string] } })
  expect(send(chatCodec, odd, chatCodec)).toMatchObject({ schema: odd, strict: true, reported: [] })
  expect(send(messagesCodec, odd, messagesCodec)).toMatchObject({ schema: odd, reported: [] })
})

describe('a schema for messages', () => {
  test.each<Row>([
    ['a closed schema', closed({ a: string }), []],
    ['an open object', object({ a: string }), [narrower], closed({ a: string })],
    ['an optional property', closed({ a: string }, { required: [] }), []],
    [
      'constants, enums, hints and alternatives',
      closed({ a: { const: 1 }, b: { enum: ['x', null] }, c: { anyOf: [string], default: 'x' } }),
      [],
    ],
    ['a known format', closed({ a: { ...string, format: 'uri' } }), []],
    [
      'bounds and lengths',
      closed({ a: { type: 'integer', minimum: 1, maximum: 5, description: 'd' }, b: { ...string, maxLength: 3 } }),
      ["warn 'minimum', 'maximum', 'maxLength'"],
      closed({
        a: { type: 'integer', description: 'd\n\n{minimum: 1, maximum: 5}' },
        b: { ...string, description: '{maxLength: 3}' },
      }),
    ],
    [
      'item counts above one',
      closed({ a: { type: 'array', items: string, minItems: 2 }, b: { type: 'array', items: string, minItems: 1 } }),
      ["warn 'minItems'"],
      closed({
        a: { type: 'array', items: string, description: '{minItems: 2}' },
        b: { type: 'array', items: string, minItems: 1 },
      }),
    ],
    [
      'a pattern with a lookaround',
      closed({ a: { ...string, pattern: '^(?!x)' }, b: { ...string, pattern: '^(?:x)' } }),
      ["warn 'pattern'"],
      closed({ a: { ...string, description: '{pattern: "^(?!x)"}' }, b: { ...string, pattern: '^(?:x)' } }),
    ],
    [
      'a map',
      closed({ a: { type: 'object', additionalProperties: string } }),
      ['warn objects with properties of any name'],
      closed({ a: { type: 'object', additionalProperties: false } }),
    ],
    [
      '`oneOf` with disjoint choices',
      closed({ a: { oneOf: [string, { type: 'null' }] } }),
      [],
      closed({ a: { anyOf: [string, { type: 'null' }] } }),
    ],
  ])('is sent with the expected losses: %s', (_, schema, reported, expected = schema) => {
    expect(send(chatCodec, schema, messagesCodec)).toEqual({ type: 'json_schema', schema: expected, reported })
  })

  test('is dropped if it has circular references, which messages upstreams reject', () => {
    const { schema, reported } = send(chatCodec, tree, messagesCodec)
    expect(schema).toBeUndefined()
    expect(reported).toEqual(['warn it is not sent'])
  })

  test('is sent without strict mode for a strict tool with unsupported keywords', () => {
    const parameters = closed({ a: { ...string, maxLength: 3 } })
    const body = {
      ...requestBodies.chat({}),
      response_format: null,
      tools: [{ type: 'function', function: { name: 'f', parameters, strict: true } }],
    }
    const { sent, losses } = exchangeOf(chatCodec, body, messagesCodec, model)
    expect(sent.tools).toEqual([{ name: 'f', input_schema: parameters, strict: false }])
    expect(losses).toContainEqual(expect.objectContaining({ path: '/tools/0', kind: 'approximated', severity: 'warn' }))
  })
})

describe('a schema for generateContent', () => {
  const upper = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
    subset: { type: 'OBJECT', properties, required: Object.keys(properties), ...more },
  })
  test.each<Row>([
    ['a schema within the subset', object({ a: string }), [], upper({ a: { type: 'STRING' } })],
    ['null', object({ a: { type: ['string', 'null'] } }), [], upper({ a: { type: 'STRING', nullable: true } })],
    ['a constant string', object({ a: { ...string, const: 'x' } }), [], upper({ a: { type: 'STRING', enum: ['x'] } })],
    [
      'bounds',
      object({ a: { type: 'integer', exclusiveMinimum: 0 }, b: { ...string, pattern: 'x', maxLength: 3 } }),
      [],
      upper({ a: { type: 'INTEGER', minimum: 1 }, b: { type: 'STRING', pattern: 'x', maxLength: 3 } }),
    ],
    ['a closed object', closed({ a: string }), []],
    ['a constant number', closed({ a: { const: 1 } }), [], closed({ a: { enum: [1] } })],
    ['a boolean constant', closed({ a: { const: true } }), ["note 'const'"]],
    [
      'alternatives and several types',
      closed({ a: { anyOf: [string, { type: 'null' }] }, b: { type: ['string', 'number'] } }),
      [],
    ],
    [
      '`oneOf` with disjoint choices',
      closed({ a: { oneOf: [string, { type: 'null' }] } }),
      [],
      closed({ a: { anyOf: [string, { type: 'null' }] } }),
    ],
    [
      '`oneOf` with overlapping choices',
      closed({ a: { oneOf: [string, { ...string, title: 't' }] } }),
      ["note 'oneOf' with choices that overlap"],
      closed({ a: { anyOf: [string, { ...string, title: 't' }] } }),
    ],
    [
      'a reference with a description',
      closed({ a: { ...reference, description: 'd' } }, { $defs: { node: string } }),
      [],
      closed({ a: { description: 'd', anyOf: [reference] } }, { $defs: { node: string } }),
    ],
    [
      '`allOf` with one part',
      closed({ a: { allOf: [reference] } }, { $defs: { node: string } }),
      [],
      closed({ a: reference }, { $defs: { node: string } }),
    ],
    ['`allOf` with several parts', closed({ a: { allOf: [string, { title: 't' }] } }), ["note 'allOf'"]],
    ['circular references', tree, ['note circular references']],
    [
      'keywords that are not enforced',
      closed({ a: { ...string, pattern: 'x', format: 'uri', not: {} } }),
      ["note 'pattern', format 'uri', 'not'"],
    ],
  ])('is sent with the expected losses: %s', (_, schema, reported, expected = schema) => {
    expect(send(chatCodec, schema, geminiCodec)).toEqual({ schema: expected, reported })
  })

  test('uses the same two schema dialects for the parameters of functions', () => {
    const parametersOf = (parameters: JsonObject): unknown => {
      const body = {
        ...requestBodies.chat({}),
        response_format: null,
        tools: [{ type: 'function', function: { name: 'f', parameters } }],
      }
      return exchangeOf(chatCodec, body, geminiCodec).sent.tools
    }
    expect(parametersOf(object({ a: string }))).toEqual([
      { functionDeclarations: [{ name: 'f', parameters: upper({ a: { type: 'STRING' } }).subset }] },
    ])
    expect(parametersOf(tree)).toEqual([{ functionDeclarations: [{ name: 'f', parametersJsonSchema: tree }] }])
  })
})

describe('a schema from generateContent', () => {
  test('is translated from the subset to an enforced JSON Schema', () => {
    const body: JsonObject = {
      model: 'm',
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      generationConfig: {
        responseMimeType: 'application/json',
        responseSchema: {
          type: 'OBJECT',
          properties: { a: { type: 'STRING', nullable: true }, b: { type: 'INTEGER', format: 'int32' } },
          required: ['b'],
        },
      },
    }
    const { sent, losses } = exchangeOf(geminiCodec, body, chatCodec)
    expect(sent.response_format).toEqual({
      type: 'json_schema',
      json_schema: {
        name: 'response',
        schema: closed({ a: { type: ['string', 'null'] }, b: { type: 'integer' } }, { required: ['b', 'a'] }),
        strict: true,
      },
    })
    expect(losses.map(({ severity }) => severity)).toEqual(['note', 'note'])
  })
})
