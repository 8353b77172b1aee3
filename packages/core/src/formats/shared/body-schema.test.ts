import { describe, expect, it } from 'vitest'
import * as zod from 'zod'
import * as own from './body-schema.ts'
import { arrayOf } from './validate.ts'

/** The functions that both libraries have. */
type Library = typeof own

/** One schema for each kind and check. The tests run every schema on all values, which include values at its bounds. */
function kindsOf(z: Library): Readonly<Record<string, own.Schema>> {
  const text = z.string()
  const sent = {
    type: text,
    a: z.number(),
    b: text.optional(),
    c: z.boolean().nullish(),
    d: z.unknown(),
    e: z.unknown(),
  }
  const chain: own.Schema = z.looseObject({ next: z.lazy(() => chain.optional()).optional() })
  return {
    unknown: z.unknown(),
    boolean: z.boolean(),
    string: text,
    'string with bounds': text.min(1).max(3),
    number: z.number(),
    'described number': z.number({ error: 'an integer' }),
    'number with bounds': z.number().min(1).max(2),
    integer: z.int(),
    'integer with bounds': z.number().int().min(1),
    'described integer': z.number({ error: 'an integer' }).int({ error: 'an integer' }).min(1),
    literal: z.literal('a'),
    enum: z.enum(['a', 'b']),
    optional: text.optional(),
    nullable: text.nullable(),
    nullish: text.nullish(),
    'loose object': z.looseObject({ a: text, b: text.optional() }),
    'described object': z.looseObject({ a: text }, { error: 'a file' }),
    'object with many fields': z.looseObject(sent),
    'object with any field': z.looseObject({ a: z.unknown(), constructor: z.unknown() }),
    'object with inherited names': z.looseObject({ ...sent, toString: z.unknown() }),
    'object with a rule': z.looseObject({ a: text.optional() }).refine((value) => Object.keys(value).length < 2),
    record: z === own ? z.record(z.number()) : (zod.record(zod.string(), zod.number()) as unknown as own.Schema),
    array: z.array(text),
    'array with bounds': z.array(z.unknown()).min(1).max(2),
    union: z.union([text, z.array(text).min(1), z.looseObject({ a: text })], { error: 'a or b' }),
    'union of bounds': z.union([text.min(1), z.number().min(1)]),
    'tagged union': z.discriminatedUnion('type', [
      z.looseObject({ type: z.literal('a'), a: z.number() }),
      z.looseObject({ type: z.literal('b'), a: text.optional() }),
    ]),
    'recursive schema': chain,
    'consecutive rules': text.refine((value) => value !== 'a').refine((value) => value.length > 1),
    'rule with parameters': z
      .number()
      .refine(Number.isInteger, { params: { integral: true } })
      .min(1),
    superRefine: z.array(z.unknown()).superRefine((items, rule) => {
      if (items.length === 1) rule.addIssue({ code: 'custom', path: [0] })
    }),
    'field of an optional rule': z.looseObject({
      a: z
        .unknown()
        .refine((value) => value === 1)
        .optional(),
    }),
  }
}

const values: readonly unknown[] = [
  ...[undefined, null, true, false, Number.NaN, Number.POSITIVE_INFINITY, 0, -0, 0.3, 1, 1.5, 2, 2 ** 31, 2 ** 53],
  ...['', 'a', 'ab', ' a ', 'abc', 'abcd', 'b', '1'],
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
]

interface ZodLike {
  safeParse(value: unknown): { readonly error?: { readonly issues: readonly own.Issue[] } }
}

/** The part of an issue that formats read: no message of a bound, and no text that zod made up. */
function plain(issue: own.Issue): unknown {
  const { path, code, message, ...rest } = issue as own.Issue & Record<string, unknown>
  const described = code.startsWith('too_') || message.startsWith('Invalid') ? '' : message
  const { expected, minimum, maximum, origin, values: allowed, errors, params } = rest as Record<string, unknown>
  const inner = (errors as readonly (readonly own.Issue[])[] | undefined)?.map(plainAll)
  return { path, code, described, expected, minimum, maximum, origin, allowed, inner, params }
}

/** zod also checks the length of a value of another type. The formats read the first issue of a path. */
const plainAll = (issues: readonly own.Issue[]): readonly unknown[] =>
  issues
    .filter(({ code, path }, index) => {
      const sameValue = ({ code, path: other }: own.Issue) => code === 'invalid_type' && `${other}` === `${path}`
      return !code.startsWith('too_') || !issues.slice(0, index).some(sameValue)
    })
    .map(plain)

const ownKinds = kindsOf(own)
const zodKinds = kindsOf(zod as unknown as Library) as unknown as Readonly<Record<string, ZodLike>>

describe('a schema', () => {
  it.each(Object.keys(ownKinds))('reports the issues of zod, and accepts the same values: %s', (kind) => {
    const inOwn = ownKinds[kind] as own.Schema
    const inZod = zodKinds[kind] as ZodLike
    // The schema must also work as a field and as an element.
    const around = own.looseObject({ in: inOwn, all: own.array(inOwn).optional() })
    const zodAround = zod.looseObject({ in: inZod as zod.ZodType, all: zod.array(inZod as zod.ZodType).optional() })
    const inside = [{}, ...values.flatMap((value) => [{ in: value }, { in: value, all: [value, value] }])]
    for (const [schema, reference, bodies] of [
      [inOwn, inZod, values],
      [around, zodAround as unknown as ZodLike, inside],
    ] as const)
      for (const body of bodies) {
        const expected = reference.safeParse(body).error?.issues ?? []
        expect(plainAll(schema.issues(body)), JSON.stringify(body)).toEqual(plainAll(expected))
        expect(schema.accepts(body), JSON.stringify(body)).toBe(expected.length === 0)
      }
  })

  it('calls the acceptor that replaces a rule and never the rule', () => {
    const calls: string[] = []
    const schema = own
      .array(own.unknown())
      .superRefine(
        () => void calls.push('rule'),
        () => (items) => items.every((item) => item === 'a'),
      )
      .min(1)
    expect([['a'], ['b'], []].map((value) => schema.accepts(value))).toEqual([true, false, false])
    expect(calls).toEqual([])
  })

  it('requires that a value fits the schema that it chooses', () => {
    const strict = own.looseObject({ a: own.string() })
    const schema = own.looseObject({ type: own.string() }).and(({ type }) => (type === 'a' ? strict : undefined))
    expect(schema.accepts({ type: 'b' })).toBe(true)
    expect(schema.accepts({ type: 'a' })).toBe(false)
    expect(schema.issues({ type: 'a' }).map(plain)).toMatchObject([{ path: ['a'], code: 'invalid_type' }])
  })
})

it('arrayOf stops at the first element that does not fit', () => {
  const schema = arrayOf(own.string())
  expect(schema.issues(['a', 1, 2]).map(({ path }) => path)).toEqual([[1]])
  expect([schema.accepts(['a']), schema.accepts(['a', 1])]).toEqual([true, false])
})
