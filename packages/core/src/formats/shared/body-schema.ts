import { type Acceptor, type Options, type Output, Schema } from './body-schema-class.ts'
import { defaultMessage } from './body-schema-issues.ts'

export { judgeOutline, judgesOutline, type Output, Schema } from './body-schema-class.ts'
export type { Issue, Rule } from './body-schema-issues.ts'

// Schemas of JSON bodies: small, since every server and every bundle loads them (docs/decisions/0018). Names and issues are those of
// zod, which the tests compare them with, and only what the formats need exists. Three methods differ: `and` takes a second schema that
// depends on the value, `accepts` is a compiled check without issues, and `issues` replaces `safeParse`.

/** Creates a schema of one type. */
const typed = <T>(expected: string, accepts: Acceptor, { error = defaultMessage }: Options = {}): Schema<T> =>
  new Schema<T>({
    inspect(value, found) {
      if (!accepts(value)) found.add({ code: 'invalid_type', expected, message: error }, true)
    },
    compile: () => accepts,
  })

const anything: Acceptor = () => true

export const unknown = (): Schema<unknown> => typed('unknown', anything)
export const string = (): Schema<string> => typed('string', (value) => typeof value === 'string')
export const boolean = (): Schema<boolean> => typed('boolean', (value) => typeof value === 'boolean')
/** Finite numbers: JSON has no others. */
export const number = (options?: Options): Schema<number> => typed('number', Number.isFinite, options)
export const int = (): Schema<number> => number().int()

function oneOf<const V extends readonly (string | number | null)[]>(values: V): Schema<V[number]> {
  const [only] = values
  const known: ReadonlySet<unknown> = new Set(values)
  const accepts: Acceptor = values.length === 1 ? (value) => value === only : (value) => known.has(value)
  return new Schema<V[number]>({
    values,
    inspect(value, found) {
      if (!accepts(value)) found.add({ code: 'invalid_value', values }, true)
    },
    compile: () => accepts,
  })
}

export const literal = <const V extends string | number | null>(value: V): Schema<V> => oneOf([value])
export { oneOf as enum }

/** Resolves the inner schema on first use: it may be defined later. */
export function lazy<T>(create: () => Schema<T>): Schema<T> {
  let created: Schema<T> | undefined
  const inner = (): Schema<T> => {
    created ??= create()
    return created
  }
  return new Schema<T>({
    inspect(value, found) {
      found.addAll(inner().find(value))
    },
    compile: () => (value) => inner().accepts(value),
  })
}

/** Reports all elements that do not fit. For lists of clients use `arrayOf`, which stops at the first. */
export function array<T>(element: Schema<T>, { error = defaultMessage }: Options = {}): Schema<T[]> {
  return new Schema<T[]>({
    inspect(value, found) {
      if (!Array.isArray(value)) return found.add({ code: 'invalid_type', expected: 'array', message: error }, true)
      for (const [index, item] of value.entries()) found.addWithin(index, element.find(item))
    },
    compile() {
      const { accepts } = element
      if (accepts === anything) return Array.isArray
      return (value) => {
        if (!Array.isArray(value)) return false
        for (let index = 0; index < value.length; index++) if (!accepts(value[index])) return false
        return true
      }
    },
  })
}

type Shape = Readonly<Record<string, Schema>>
type Fields = Readonly<Record<string, unknown>>

type OptionalKeys<S extends Shape> = { [K in keyof S]: undefined extends Output<S[K]> ? K : never }[keyof S]
type ObjectOf<S extends Shape> = {
  [K in Exclude<keyof S, OptionalKeys<S>>]: Output<S[K]>
} & { [K in OptionalKeys<S>]?: Output<S[K]> } & { [name: string]: unknown }

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An object with these fields, and any others. */
export function looseObject<const S extends Shape>(
  shape: S,
  { error = defaultMessage }: Options = {},
): Schema<ObjectOf<S>> {
  const entries = Object.entries(shape)
  return new Schema<ObjectOf<S>>({
    shape,
    inspect(value, found) {
      if (!isFields(value)) return found.add({ code: 'invalid_type', expected: 'object', message: error }, true)
      for (const [key, schema] of entries) {
        const isPresent = key in value
        if (!isPresent && schema.isOptional) continue
        const inner = schema.find(value[key])
        if (!isPresent && inner.issues.length === 0) inner.add({ code: 'invalid_type', expected: 'nonoptional' }, true)
        found.addWithin(key, inner)
      }
    },
    compile: () => objectAcceptor(entries),
  })
}

/** Up to this many known fields are read from the value one by one. Requests hold few of a larger set: their own fields are looked up in it. */
const fewFields = 3

function objectAcceptor(entries: readonly (readonly [string, Schema])[]): Acceptor {
  if (entries.length === 0) return isFields
  const fields = entries.map(([key, schema]) => ({ key, schema, accepts: schema.accepts }))
  const mayLack = ({ key, schema, accepts }: (typeof fields)[number], value: Fields): boolean =>
    key in value ? accepts(undefined) : schema.isOptional
  if (fields.length <= fewFields || fields.some(({ key }) => key in Object.prototype))
    return (value) => {
      if (!isFields(value)) return false
      for (const field of fields) {
        const given = value[field.key]
        if (given === undefined ? !mayLack(field, value) : !field.accepts(given)) return false
      }
      return true
    }
  const byKey = new Map(fields.map(({ key, accepts }) => [key, accepts]))
  const required = fields.filter(({ schema }) => !schema.isOptional)
  return (value) => {
    if (!isFields(value)) return false
    for (const field of required) if (value[field.key] === undefined && !mayLack(field, value)) return false
    for (const key in value) {
      const accepts = byKey.get(key)
      if (accepts !== undefined && !accepts(value[key])) return false
    }
    return true
  }
}

/** An object whose fields all fit one schema. */
export const record = <T>(element: Schema<T>): Schema<Record<string, T>> =>
  new Schema<Record<string, T>>({
    inspect(value, found) {
      if (!isFields(value)) return found.add({ code: 'invalid_type', expected: 'record' }, true)
      for (const [key, item] of Object.entries(value)) found.addWithin(key, element.find(item))
    },
    compile() {
      const { accepts } = element
      return (value) => {
        if (!isFields(value)) return false
        for (const key in value) if (!accepts(value[key])) return false
        return true
      }
    },
  })

/** Accepts what one of the options accepts. */
export function union<const O extends readonly Schema[]>(
  options: O,
  { error = defaultMessage }: Options = {},
): Schema<Output<O[number]>> {
  return new Schema<Output<O[number]>>({
    inspect(value, found) {
      const results = options.map((option) => option.find(value))
      if (results.some(({ issues }) => issues.length === 0)) return
      // If the value has the type of one option only, its issues are more precise than those of the union.
      const [alike, ...others] = results.filter(({ aborted }) => !aborted)
      if (alike !== undefined && others.length === 0) found.issues.push(...alike.issues)
      else found.add({ code: 'invalid_union', errors: results.map(({ issues }) => issues), message: error }, true)
    },
    compile() {
      const acceptors = options.map(({ accepts }) => accepts)
      return (value) => {
        for (const accepts of acceptors) if (accepts(value)) return true
        return false
      }
    },
  })
}

/** Objects whose schema depends on the literal in one of their fields. */
export function discriminatedUnion<const O extends readonly Schema[]>(
  name: string,
  options: O,
): Schema<Output<O[number]>> {
  const byTag = new Map<unknown, Schema>(
    options.flatMap((option) => (option.kind.shape?.[name]?.kind.values ?? []).map((tag) => [tag, option] as const)),
  )
  return new Schema<Output<O[number]>>({
    inspect(value, found) {
      if (!isFields(value)) return found.add({ code: 'invalid_type', expected: 'object' }, true)
      const option = byTag.get(value[name])
      if (option === undefined) return found.add({ code: 'invalid_union', errors: [], path: [name] }, true)
      found.addAll(option.find(value))
    },
    compile() {
      const acceptors = new Map([...byTag].map(([tag, { accepts }]) => [tag, accepts]))
      return (value) => isFields(value) && acceptors.get(value[name])?.(value) === true
    },
  })
}
