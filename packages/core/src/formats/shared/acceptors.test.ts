import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { compare } from './acceptors.test-support.ts'
import { acceptorOf, acceptorsOf, withAcceptor } from './acceptors.ts'
import { arrayOf } from './validate.ts'

class Point {
  x = 1
}

interface Chain {
  readonly next?: Chain | undefined
}
const chain: z.ZodType<Chain> = z.looseObject({ next: z.lazy(() => chain.optional()) })
const own = z.looseObject({
  get children() {
    return z.array(own).optional()
  },
})
const text = z.string()
const sent = { type: text, a: z.number(), b: text.optional(), c: z.boolean().nullish(), d: z.unknown(), e: z.unknown() }

/** One schema for each kind and check. The tests run every schema on all values, which include values at its bounds. */
const kinds: Readonly<Record<string, z.ZodType>> = {
  unknown: z.unknown(),
  any: z.any(),
  never: z.never(),
  null: z.null(),
  undefined: z.undefined(),
  boolean: z.boolean(),
  string: text,
  'string with bounds': text.min(2).max(3),
  'string of a fixed length': text.length(2),
  'string with a pattern': text.regex(/^a/g),
  'string with a prefix': text.startsWith('a'),
  'string with a format': z.email(),
  'trimmed string': text.trim().min(2),
  'coerced string': z.coerce.string().min(3),
  number: z.number(),
  'number with bounds': z.number().min(1).max(2),
  'number within bounds': z.number().gt(1).lt(2),
  'multiple of a number': z.number().multipleOf(0.1),
  integer: z.int(),
  'integer with bounds': z.number().int().min(1),
  '32-bit integer': z.int32(),
  literal: z.literal('a'),
  literals: z.literal(['a', 1, null]),
  enum: z.enum(['a', 'b']),
  optional: text.optional(),
  'optional, but never undefined': z.object({ a: z.exactOptional(text) }),
  nullable: text.nullable(),
  nullish: text.nullish(),
  default: text.default('a'),
  prefault: text.min(2).prefault('a'),
  'object with defaults': z.looseObject({ a: text.default('b'), b: text.prefault('c') }),
  'object with transformed fields': z.looseObject({ a: z.unknown().transform(String) }),
  catch: text.catch('a'),
  readonly: z.array(z.number()).readonly(),
  object: z.object({ a: text, b: text.optional() }),
  'loose object': z.looseObject({ a: text, b: text.optional() }),
  'strict object': z.strictObject({ a: text.optional() }),
  'object with a rest': z.object({ a: text.optional() }).catchall(z.number()),
  'object with many fields': z.looseObject(sent),
  'object with any field': z.looseObject({ a: z.unknown(), constructor: z.unknown() }),
  'object with inherited names': z.looseObject({ ...sent, toString: z.undefined() }),
  'object with a rule': z.looseObject({ a: text.optional() }).refine((value) => Object.keys(value).length < 2),
  'object that loses fields before a rule': z.object({ a: text.optional() }).refine((value) => !('type' in value)),
  'fields that lose fields before a rule': z
    .looseObject({ a: z.object({ b: text.optional() }).optional() })
    .refine(({ a }) => a === undefined || Object.keys(a).length < 2),
  record: z.record(text, z.number()),
  'record with listed keys': z.record(z.enum(['a', 'b']), z.number()),
  'partial record with listed keys': z.partialRecord(z.enum(['a', 'b']), z.number()),
  array: z.array(text),
  'array with bounds': z.array(z.unknown()).min(1).max(2),
  'array of a fixed length': z.array(z.unknown()).length(1),
  tuple: z.tuple([text, z.number().optional()]),
  union: z.union([text, z.array(text).min(1), z.looseObject({ a: text })]),
  'exclusive union': z.xor([text, z.literal('a')]),
  'tagged union': z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('a'), a: z.number() }),
    z.looseObject({ type: z.literal(['b', 'c']), a: text.optional() }),
  ]),
  'tagged union with an optional tag': z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('a') }),
    z.looseObject({ type: z.literal('b').optional() }),
  ]),
  'tagged union with optional tags': z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('a').optional() }),
    z.looseObject({ type: z.literal('b').optional() }),
  ]),
  intersection: z.looseObject({ a: text }).and(z.looseObject({ b: text })),
  'recursive schema': chain,
  'recursive schema with a getter': own,
  pipe: text.pipe(z.coerce.number()),
  transform: text.transform(Number).refine(Number.isFinite),
  custom: z.custom((value) => value === 1 || value === 'a'),
  instance: z.instanceof(Point),
  refine: z.unknown().refine((value) => value !== null),
  'consecutive rules': text.refine((value) => value !== 'a', { abort: true }).refine((value) => value.length > 0),
  'conditional rule': z.unknown().refine(() => false, { when: ({ value }) => value === 'a' }),
  superRefine: z.array(z.unknown()).superRefine((items, context) => {
    if (items.length === 1) context.addIssue('one')
  }),
  'rule that changes the value': text.overwrite((value) => `${value}a`).refine((value) => value !== 'aa'),
  'array with checked elements': arrayOf(text).min(1),
  'field of an optional rule': z.looseObject({
    a: z
      .unknown()
      .refine((value) => value === 1)
      .optional(),
  }),
  'check without effect': text.describe('a text'),
}

const parse = (json: string): unknown => JSON.parse(json)
const values: readonly unknown[] = [
  ...[undefined, null, true, false, Number.NaN, Number.POSITIVE_INFINITY, 0, -0, 0.3, 1, 1.5, 2, 2 ** 31, 2 ** 53, 1n],
  ...['', 'a', 'ab', ' a ', 'abc', 'abcd', 'b', '1', '😀', '😀😀', '😀😀😀😀', 'a@b.test'],
  ...[[], ['a'], [''], [1], ['a', 1], ['a', 'b'], ['a', 'b', 'c'], [undefined], [[]]],
  ...[{}, { a: 'b' }, { a: 1 }, { a: 1, b: 2 }, { a: 'b', b: 'c' }, { a: 'b', b: null }, { a: undefined }, { b: 'c' }],
  ...[{ a: 'b', b: undefined }, { more: 1 }, { a: 'b', more: 'c' }, { a: { b: 'c' } }, { a: { b: 'c', d: 1 } }],
  ...[{ type: 'a', a: 1 }, { type: 'a' }, { type: 'b' }, { type: 'c', a: 1 }, { type: 'd' }, { type: undefined }],
  ...[
    { type: 'a', a: 1, b: 'c', c: null, d: 1, e: 1 },
    { type: 'a', a: 1, c: 1, d: 1, e: 1 },
    { type: 'a', a: 1, d: 1 },
  ],
  ...[{ next: {} }, { next: { next: 1 } }, { children: [{}, { children: [] }] }, { children: [1] }],
  ...[
    { type: 'a', a: 1, d: undefined, e: undefined, toString: undefined },
    { a: 1, constructor: 1 },
  ],
  parse('{"a":"b","__proto__":{"b":1}}'),
  parse('{"__proto__":1}'),
  parse('{"a":{"__proto__":1,"b":"c"}}'),
  parse('{"type":"b","__proto__":{}}'),
  Object.assign(Object.create(null), { a: 'b' }),
  Object.create({ a: 'b' }),
  ...[new Point(), new Date(0), () => {}, Symbol('a')],
]

describe('the acceptor of a schema', () => {
  it.each(Object.entries(kinds))('gives the same results as zod: %s', (schema, kind) => {
    expect(compare(values, [{ name: schema, schema: kind }]).differing).toEqual([])
    // The schema must also work as a field and as an element.
    const around = { name: schema, schema: z.looseObject({ in: kind, all: z.array(kind).optional() }) }
    const inside = values.flatMap((value) => [{ in: value }, { in: value, all: [value, value] }])
    expect(compare([{}, ...inside], [around]).differing).toEqual([])
  })

  it('calls the acceptor that replaces a function and never the zod check', () => {
    const calls: string[] = []
    const check = z.array(z.unknown()).superRefine(() => void calls.push('function'))
    const schema = withAcceptor(check, () => {
      const { a } = Object.fromEntries(acceptorsOf({ a: z.literal('a') }))
      return (items) => items.every((item) => a?.(item))
    }).min(1)
    expect([['a'], ['b'], []].map((value) => acceptorOf(schema)(value))).toEqual([true, false, false])
    expect(calls).toEqual([])
    expect(() => withAcceptor(text, () => () => true)).toThrow(TypeError)
  })

  it('throws for a schema with an asynchronous check', () => {
    const later = text.refine(() => Promise.resolve(true))
    expect(() => acceptorOf(later)('a')).toThrow(z.core.$ZodAsyncError)
  })
})
