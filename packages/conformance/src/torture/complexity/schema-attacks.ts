import type { JsonObject } from '../../base/json.ts'

/** Builds a schema attack of `n` parts. */
type Attack = (n: number) => JsonObject

const times = <T>(n: number, make: (at: number) => T): T[] =>
  Array.from({ length: Math.max(1, n) }, (_, at) => make(at))
const name = (at: number): string => `p${at.toString(36)}`
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more })
const string = { type: 'string' }
const properties = (n: number, value: (at: number) => JsonObject = () => string): JsonObject =>
  Object.fromEntries(times(n, (at) => [name(at), value(at)]))
const ref = (to: string): JsonObject => ({ $ref: `#/$defs/${to}` })
const half = (n: number): number => Math.ceil(n / 2)
const root = (n: number): number => Math.ceil(Math.sqrt(n))

/** Returns spellings of a sixteen-letter name: each letter as it is, or as `%41`. */
const respelled = (at: number): string => times(16, (bit) => ((at >> bit) % 2 === 1 ? '%41' : 'A')).join('')
const spelledName = 'A'.repeat(16)

/** Returns a chain of definitions, each linked to the next; the last is a string. */
const chain = (n: number, link: (next: JsonObject, at: number) => JsonObject): JsonObject =>
  Object.fromEntries([
    ...times(n, (at): [string, JsonObject] => [`d${at}`, link(ref(`d${at + 1}`), at)]),
    [`d${Math.max(1, n)}`, string],
  ])

/** Nests a schema as deep as a body allows. */
const nested = (levels: number, wrap: (inner: JsonObject) => JsonObject): JsonObject => {
  let schema: JsonObject = string
  for (let level = 0; level < levels; level++) schema = wrap(schema)
  return schema
}

/** Attacks with lists of alternatives, one per keyword. */
const lists = (keyword: 'anyOf' | 'oneOf' | 'allOf'): Readonly<Record<string, Attack>> => ({
  [`${keyword} of texts`]: (n) => object({ a: { [keyword]: times(n, () => string) } }),
  [`${keyword} of nulls`]: (n) => object({ a: { [keyword]: times(n, () => ({ type: 'null' })) } }),
  [`${keyword} of objects`]: (n) => object({ a: { [keyword]: times(n, (at) => object({ [name(at)]: string })) } }),
  [`${keyword} of constants under one key`]: (n) =>
    object({
      a: { [keyword]: times(n, (at) => object({ kind: { const: name(at) } }, { required: ['kind'] })) },
    }),
  [`${keyword} of objects with many required names`]: (n) => {
    const names = times(root(n), name)
    return object({ a: { [keyword]: times(root(n), () => object({}, { required: names })) } })
  },
  [`${keyword} of one reference`]: (n) =>
    object({ a: { [keyword]: times(n, () => ref('A')) } }, { $defs: { A: string } }),
  [`${keyword} at the root`]: (n) => object({}, { [keyword]: times(n, (at) => object({ [name(at)]: string })) }),
  [`${keyword} within each other`]: (n) =>
    object(properties(Math.ceil(n / 40), () => nested(40, (inner) => ({ [keyword]: [inner] })))),
  [`${keyword} of itself`]: (n) => object({ a: ref('A') }, { $defs: { A: { [keyword]: times(n, () => ref('A')) } } }),
  [`${keyword} of each other`]: (n) =>
    object(
      { a: ref('A') },
      {
        $defs: {
          A: { [keyword]: times(half(n), () => ref('B')) },
          B: { [keyword]: times(half(n), () => ref('A')) },
        },
      },
    ),
  [`${keyword} that doubles at each step`]: (n) =>
    object({ a: ref('d0') }, { $defs: chain(n, (next) => ({ [keyword]: [next, next] })) }),
  [`properties that refer to one ${keyword}`]: (n) =>
    object(
      properties(half(n), () => ref('A')),
      { $defs: { A: { [keyword]: times(half(n), () => ({ type: 'integer' })) } } },
    ),
  [`properties of a ${keyword} that refer to it`]: (n) =>
    object({ a: ref('A') }, { $defs: { A: { [keyword]: times(n, (at) => object({ [name(at)]: ref('A') })) } } }),
})

const attacks: Readonly<Record<string, Attack>> = {
  ...lists('anyOf'),
  ...lists('oneOf'),
  ...lists('allOf'),
  'required names without properties': (n) => object({}, { required: times(n, name) }),
  'required names of properties': (n) => object(properties(half(n)), { required: times(half(n), name) }),
  'required names in reverse': (n) => object(properties(half(n)), { required: times(half(n), name).reverse() }),
  'required names that others lack': (n) =>
    object(properties(half(n)), { required: times(half(n), (at) => `q${name(at)}`) }),
  'one required name': (n) => object({ a: string }, { required: times(n, () => 'a') }),
  'optional properties': (n) => object(properties(n)),
  'properties with long names': (n) =>
    object(Object.fromEntries(times(Math.ceil(n / 20), (at) => [`${'x'.repeat(200)}${at}`, string]))),
  'nullable properties': (n) => object(properties(n, () => ({ type: ['string', 'null'] }))),
  'properties that refer to one definition': (n) =>
    object(
      properties(n, () => ref('A')),
      { $defs: { A: string } },
    ),
  'properties that refer to a definition in different spellings': (n) =>
    object(
      properties(n, (at) => ref(respelled(at))),
      { $defs: { [spelledName]: string } },
    ),
  'spellings of a long definition': (n) =>
    object(
      properties(half(n), (at) => ref(respelled(at))),
      { $defs: { [spelledName]: object(properties(half(n))) } },
    ),
  'spellings of a definition that refers to itself': (n) =>
    object({ a: ref(spelledName) }, { $defs: { [spelledName]: object(properties(n, (at) => ref(respelled(at)))) } }),
  'pointers with escapes': (n) =>
    object(
      properties(n, (at) => ref(at % 2 === 0 ? 'a~1b' : 'a%2Fb')),
      { $defs: { 'a/b': string } },
    ),
  'definitions that nothing refers to': (n) => object({ a: string }, { $defs: properties(n) }),
  'definitions that each refer to the next': (n) =>
    object({ a: ref('d0') }, { $defs: chain(n, (next) => object({ next })) }),
  'references that each lead to the next': (n) => object({ a: ref('d0') }, { $defs: chain(n, (next) => next) }),
  'references that lead in a circle': (n) =>
    object(
      properties(half(n), () => ref('d0')),
      { $defs: { ...chain(half(n), (next) => next), [`d${half(n)}`]: ref('d0') } },
    ),
  'properties that refer to a chain': (n) =>
    object(
      properties(half(n), () => ref('d0')),
      { $defs: chain(half(n), (next) => next) },
    ),
  'properties that refer to each link of a chain': (n) =>
    object(
      properties(half(n), (at) => ref(`d${at}`)),
      { $defs: chain(half(n), (next) => object({ next })) },
    ),
  'properties that double at each step': (n) =>
    object({ a: ref('d0') }, { $defs: chain(n, (next) => object({ a: next, b: next })) }),
  'definitions that each refer to all': (n) =>
    object(
      { a: ref('d0') },
      {
        $defs: Object.fromEntries(
          times(root(n), (at) => [`d${at}`, object(properties(root(n), (to) => ref(`d${to}`)))]),
        ),
      },
    ),
  'references to the root': (n) => object(properties(n, () => ({ $ref: '#' }))),
  'references to deep places': (n) => {
    const depth = 40
    const pointer = `#${'/properties/a'.repeat(depth)}`
    return object({
      ...(nested(depth, (inner) => object({ a: inner })).properties as JsonObject),
      ...properties(Math.ceil(n / 20), () => ({ $ref: pointer })),
    })
  },
  'external references': (n) => object(properties(n, (at) => ({ $ref: `https://e.example/${at}` }))),
  'references next to keywords': (n) =>
    object(
      properties(n, () => ({ ...ref('A'), description: 'd', minLength: 1 })),
      { $defs: { A: string } },
    ),
  'items that refer to themselves': (n) =>
    object({ a: ref('A') }, { $defs: { A: { type: 'array', prefixItems: times(n, () => ref('A')) } } }),
  'enum of texts': (n) => object({ a: { type: 'string', enum: times(n, name) } }),
  'enum of one text': (n) => object({ a: { enum: times(n, () => 'a') } }),
  'enum of many types': (n) =>
    object({ a: { enum: times(n, (at) => [name(at), at, null, true, [at]][at % 5] ?? null) } }),
  'enum of objects': (n) => object({ a: { enum: times(n, (at) => ({ [name(at)]: at })) } }),
  'properties with an enum each': (n) =>
    object(properties(root(n), () => ({ type: 'string', enum: times(root(n), name) }))),
  'long list of types': (n) =>
    object({ a: { type: times(n, (at) => ['string', 'null', 'integer', name(at)][at % 4] ?? '') } }),
  'unknown keywords': (n) => object({ a: Object.fromEntries(times(n, (at) => [`x-${name(at)}`, at])) }),
  'unsupported keywords': (n) =>
    object(
      properties(Math.ceil(n / 3), (at) => ({ type: 'string', format: name(at), minLength: at, not: { const: 'a' } })),
    ),
  'pattern properties': (n) =>
    object({}, { patternProperties: Object.fromEntries(times(n, (at) => [`^${name(at)}(a+)+$`, string])) }),
  'long patterns': (n) => object({ a: { type: 'string', pattern: '(a+)+(?=b)\\1'.repeat(n) } }),
  'long descriptions': (n) => object({ a: { type: 'string', description: 'word '.repeat(n * 4) } }),
  'objects within objects': (n) =>
    object(properties(Math.ceil(n / 40), () => nested(40, (inner) => object({ a: inner }, { required: ['a'] })))),
  'lists within lists': (n) =>
    object(properties(Math.ceil(n / 40), () => nested(40, (items) => ({ type: 'array', items })))),
  'property ordering': (n) => object(properties(half(n)), { propertyOrdering: times(half(n), name).reverse() }),
  'dependent names': (n) =>
    object(properties(half(n)), {
      dependentRequired: Object.fromEntries(times(half(n), (at) => [name(at), [name(at + 1)]])),
    }),
  'titles and examples': (n) =>
    object(properties(Math.ceil(n / 2), (at) => ({ ...string, title: name(at), examples: [at], default: 'd' }))),
}

/** Attacks whose cost may explode with few parts: each is also sent as small as possible. */
export const schemaAttacks: readonly { readonly name: string; write(bytes: number): string }[] = Object.entries(
  attacks,
).map(([name, attack]) => {
  // Size of one further part, measured once.
  const each = (JSON.stringify(attack(120)).length - JSON.stringify(attack(40)).length) / 80
  return { name, write: (bytes) => JSON.stringify(attack(Math.max(2, Math.floor(bytes / Math.max(1, each))))) }
})
