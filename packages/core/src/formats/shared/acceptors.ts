import type * as z from 'zod'
import { cutText } from '../../base/json/outline.ts'

/** Returns whether a value fits the schema. */
export type Acceptor = (value: unknown) => boolean

type Schema = z.core.$ZodType
type Check = z.core.$ZodCheck<never>

interface Node {
  accepts: Acceptor
  /** zod's copy of an accepted value equals the value: checks may run on the value itself. */
  faithful: boolean
}

const acceptors = new WeakMap<Schema, Acceptor>()
const nodes = new WeakMap<Schema, Node>()
const replacements = new WeakMap<Check, () => Acceptor>()

/** Set if only zod can judge a value: a check replaced it, or an object does not come from JSON.parse. All steps then fail, and zod decides. */
let inDoubt = false

/** Set while an outline is judged. Checks on texts that were cut then fail, and zod is not called. */
let outlined = false

/**
 * Runs `judge` on the outline of a body (base/json/outline.ts). Acceptors accept an outline only if they accept the body. A rejected outline
 * may still belong to a valid body.
 */
export function judgeOutline<T>(judge: () => T): T {
  outlined = true
  try {
    return judge()
  } finally {
    outlined = false
  }
}

export const judgesOutline = (): boolean => outlined

/**
 * Returns a function with the result of `schema.safeParse(value).success`, without zod's copies, contexts and results. Unknown kinds of schemas
 * and checks that do not clearly hold are left to zod. Values must come from JSON.parse: arrays without holes, enumerable fields.
 */
export function acceptorOf(schema: z.ZodType): Acceptor {
  let acceptor = acceptors.get(schema)
  if (acceptor === undefined) {
    const { accepts } = nodeOf(schema)
    acceptor = (value) => {
      const outer = inDoubt
      inDoubt = false
      const accepted = accepts(value)
      const judged = inDoubt ? zodAccepts(schema, value) : accepted
      inDoubt = outer
      return judged
    }
    acceptors.set(schema, acceptor)
  }
  return acceptor
}

/**
 * Replaces the last check of a schema, a function that runs other schemas, by a faster one for acceptors. It must return true exactly where
 * the check raises no issue. zod still runs the check.
 *
 * @param createAcceptor creates the replacement, once, on first use
 */
export function withAcceptor<S extends z.ZodType>(schema: S, createAcceptor: () => (value: z.output<S>) => boolean): S {
  const check = schema._zod.def.checks?.at(-1)
  if (check === undefined) throw new TypeError('The schema has no check that an acceptor can replace')
  replacements.set(check, createAcceptor as () => Acceptor)
  return schema
}

/** Returns the acceptors of schemas by name. */
export const acceptorsOf = (schemas: Readonly<Record<string, z.ZodType>>): ReadonlyMap<unknown, Acceptor> =>
  new Map(Object.entries(schemas).map(([name, schema]) => [name, acceptorOf(schema)]))

function nodeOf(schema: Schema): Node {
  const known = nodes.get(schema)
  if (known !== undefined) return known
  // A recursive schema finds this node, which is complete when it is used.
  const node: Node = { accepts: (value) => node.accepts(value), faithful: false }
  nodes.set(schema, node)
  const { accepts, faithful } = withChecks(schema, kindOf(schema) ?? judgedByZod(schema))
  node.accepts = accepts
  node.faithful = faithful
  return node
}

const judgedByZod = (schema: Schema): Node => ({
  accepts: (value) => zodAccepts(schema as z.ZodType, value),
  faithful: false,
})

const zodAccepts = (schema: z.ZodType, value: unknown): boolean => !outlined && schema.safeParse(value).success

const anything: Acceptor = () => true
const faithful = (accepts: Acceptor): Node => ({ accepts, faithful: true })

/** Compiles a schema without its checks; undefined for kinds that zod handles. */
function kindOf(schema: Schema): Node | undefined {
  const { def, values } = (schema as z.core.$ZodTypes)._zod
  // Coercion: the checks would get another value.
  if ('coerce' in def && def.coerce) return undefined
  switch (def.type) {
    case 'unknown':
    case 'any':
    case 'custom':
      return faithful(anything)
    case 'string':
      return faithful((value) => typeof value === 'string')
    case 'number':
      return faithful(Number.isFinite)
    case 'boolean':
      return faithful((value) => typeof value === 'boolean')
    case 'null':
      return faithful((value) => value === null)
    case 'undefined':
      return faithful((value) => value === undefined)
    case 'never':
      return faithful(() => false)
    case 'literal':
    case 'enum':
      return values && faithful(oneOf(values))
    case 'nullable':
      return nullable(nodeOf(def.innerType))
    case 'optional':
      // One kind of it, `exactOptional`, refuses undefined.
      return schema._zod.traits.has('$ZodExactOptional') ? undefined : optional(nodeOf(def.innerType))
    case 'lazy':
      return lazy(schema as z.core.$ZodLazy)
    case 'array':
      return array(nodeOf(def.element))
    case 'object':
      return object(def)
    case 'record':
      return record(def)
    case 'union':
      return union(def)
    default:
      return undefined
  }
}

function oneOf(values: ReadonlySet<unknown>): Acceptor {
  const [only] = values
  return values.size === 1 && typeof only === 'string' ? (value) => value === only : (value) => values.has(value)
}

const nullable = (inner: Node): Node => ({ ...inner, accepts: (value) => value === null || inner.accepts(value) })

const optional = (inner: Node): Node => ({ ...inner, accepts: (value) => value === undefined || inner.accepts(value) })

/** Resolves the inner schema on first use, as zod does: it may be defined later, or created again at each depth. */
function lazy(schema: z.core.$ZodLazy): Node {
  let inner: Node | undefined
  return {
    accepts: (value) => {
      inner ??= nodeOf(schema._zod.innerType)
      return inner.accepts(value)
    },
    faithful: false,
  }
}

function array(element: Node): Node {
  if (element.accepts === anything) return faithful(Array.isArray)
  const { accepts } = element
  return {
    accepts: (value) => {
      if (!Array.isArray(value)) return false
      for (let index = 0; index < value.length; index++) if (!accepts(value[index])) return false
      return true
    },
    faithful: element.faithful,
  }
}

type Fields = { readonly [key: string]: unknown }

/** Also sets `inDoubt` if zod's copy would differ from the object: it inherits fields, or has a field `__proto__`. */
function isFields(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  inDoubt ||= (prototype !== Object.prototype && prototype !== null) || Object.hasOwn(value, '__proto__')
  return !inDoubt
}

interface Field {
  readonly key: string
  readonly accepts: Acceptor
  /** Effect of a missing field; `tried`: it counts as undefined. */
  readonly missing: 'refused' | 'accepted' | 'tried'
}

/** Up to this many known fields are read from the value one by one. Requests hold few of a larger set: their own fields are looked up in it. */
const fewFields = 3

function object(def: z.core.$ZodObjectDef): Node | undefined {
  if (Object.getOwnPropertySymbols(def.shape).length > 0 || Object.hasOwn(def.shape, '__proto__')) return undefined
  const inner = Object.keys(def.shape).map((key) => ({ key, schema: def.shape[key] as Schema }))
  const fields = inner.map(({ key, schema }): Field => {
    const { optin, optout } = schema._zod
    const missing = optin === undefined ? 'refused' : optout === 'optional' ? 'accepted' : 'tried'
    return { key, accepts: nodeOf(schema).accepts, missing }
  })
  const named = fields.length <= fewFields || fields.some(({ key }) => key in Object.prototype) ? read : sent
  const known = named(fields)
  const rest = def.catchall && nodeOf(def.catchall)
  return {
    accepts: rest === undefined || rest.accepts === anything ? known : withOthers(known, fields, rest.accepts),
    // Without a `catchall`, zod drops other fields.
    faithful: rest?.faithful === true && inner.every(({ schema }) => nodeOf(schema).faithful),
  }
}

function read(fields: readonly Field[]): Acceptor {
  if (fields.length === 0) return isFields
  return (value) => {
    if (!isFields(value)) return false
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index] as Field
      const given = value[field.key]
      if (given === undefined ? !mayLack(field, value) : !field.accepts(given)) return false
    }
    return true
  }
}

/** Returns whether a field may be undefined, or not there at all. */
function mayLack({ key, accepts, missing }: Field, value: Fields): boolean {
  if (missing === 'accepted') return accepts(undefined) || !(key in value)
  return (missing === 'tried' || key in value) && accepts(undefined)
}

function sent(fields: readonly Field[]): Acceptor {
  const byKey = new Map(fields.map(({ key, accepts }) => [key, accepts]))
  const needed = fields.filter(({ missing }) => missing !== 'accepted')
  return (value) => {
    if (!isFields(value)) return false
    for (const field of needed) if (value[field.key] === undefined && !mayLack(field, value)) return false
    for (const key in value) {
      const accepts = byKey.get(key)
      if (accepts !== undefined && !accepts(value[key])) return false
    }
    return true
  }
}

function withOthers(known: Acceptor, fields: readonly Field[], accepts: Acceptor): Acceptor {
  const keys = new Set(fields.map(({ key }) => key))
  return (value) => {
    if (!known(value)) return false
    for (const key in value as Fields) if (!keys.has(key) && !accepts((value as Fields)[key])) return false
    return true
  }
}

function record({ keyType, valueType, mode }: z.core.$ZodRecordDef): Node | undefined {
  const key = (keyType as z.core.$ZodTypes)._zod.def
  // Only records with arbitrary names are compiled; others are rare.
  if (key.type !== 'string' || keyType._zod.traits.has('$ZodCheck') || key.checks?.length || key.coerce)
    return undefined
  if (mode === 'loose') return undefined
  const { accepts, faithful } = nodeOf(valueType)
  return { accepts: withOthers(isFields, [], accepts), faithful }
}

function union(def: z.core.$ZodUnionDef): Node | undefined {
  if ('discriminator' in def) return tagged(def as z.core.$ZodDiscriminatedUnionDef)
  // An exclusive union counts the options that match.
  if (def.inclusive === false) return undefined
  const options = def.options.map((option) => nodeOf(option))
  return {
    accepts: (value) => {
      for (const { accepts } of options) if (accepts(value)) return true
      return false
    },
    faithful: options.every(({ faithful }) => faithful),
  }
}

function tagged({ options, discriminator, unionFallback }: z.core.$ZodDiscriminatedUnionDef): Node | undefined {
  const byTag = new Map<unknown, Node>()
  for (const option of options)
    for (const tag of option._zod.propValues?.[discriminator] ?? []) {
      // zod has special rules for a tag of several options, such as an optional one.
      if (byTag.has(tag)) return undefined
      byTag.set(tag, nodeOf(option))
    }
  if (unionFallback) return undefined
  return {
    accepts: (value) =>
      typeof value === 'object' &&
      value !== null &&
      byTag.get((value as Fields)[discriminator])?.accepts(value) === true,
    faithful: options.every((option) => nodeOf(option).faithful),
  }
}

function withChecks(schema: Schema, { accepts, faithful }: Node): Node {
  const { def, traits } = schema._zod
  // Some kinds, such as `z.int()`, are checks themselves: these run first.
  const checks: Check[] = [...(traits.has('$ZodCheck') ? [schema as unknown as Check] : []), ...(def.checks ?? [])]
  if (checks.length === 0) return { accepts, faithful }
  if (!faithful) return judgedByZod(schema)
  const [first, ...others] = checks.map(holding)
  return {
    accepts: (value) => {
      if (!accepts(value) || inDoubt || (outlined && value === cutText) || !first?.(value)) return false
      for (const holds of others) if (!holds(value)) return false
      return true
    },
    faithful,
  }
}

function holding(check: Check): Acceptor {
  const replacement = replacements.get(check)
  if (replacement !== undefined && check._zod.def.when === undefined) return replacement()
  const surely = sure(check)
  return (value) => surely(value) || holds(check, value)
}

/** Runs the check as zod would. */
function holds(check: Check, value: unknown): boolean {
  const payload: z.core.ParsePayload = { value, issues: [] }
  const { when } = check._zod.def
  if (when !== undefined && !when(payload)) return true
  const result = check._zod.check(payload as z.core.ParsePayload<never>)
  if (!(result instanceof Promise) && payload.value === value) return payload.issues.length === 0
  inDoubt = true
  return false
}

/** Accepts the common cases of common checks. A rejected value may still be valid. */
function sure(check: Check): Acceptor {
  const { def } = (check as z.core.$ZodChecks)._zod
  switch (def.check) {
    case 'greater_than': {
      const { value: bound, inclusive } = def
      return (value) => (inclusive ? (value as number) >= (bound as number) : (value as number) > (bound as number))
    }
    case 'less_than': {
      const { value: bound, inclusive } = def
      return (value) => (inclusive ? (value as number) <= (bound as number) : (value as number) < (bound as number))
    }
    case 'number_format':
      return def.format === 'safeint' ? Number.isSafeInteger : () => false
    case 'min_length': {
      // zod counts code points, which have one or two UTF-16 units.
      const { minimum } = def
      return (value) =>
        Array.isArray(value) ? value.length >= minimum : typeof value === 'string' && value.length >= 2 * minimum - 1
    }
    case 'max_length': {
      const { maximum } = def
      return (value) => (Array.isArray(value) || typeof value === 'string') && value.length <= maximum
    }
    default:
      return () => false
  }
}
