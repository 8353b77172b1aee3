import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
/** One step of a JSON Pointer (RFC 6901). */
export const escapeStep = (step: string): string =>
  step.includes('~') || step.includes('/') ? step.replaceAll('~', '~0').replaceAll('/', '~1') : step

/** The pointer to `key` below `base`. */
export const pointer = (base: string, key: string | number): string =>
  `${base}/${typeof key === 'number' ? key : escapeStep(key)}`

/**
 * Where the parts of an answer's IR stand in a format's own answers, for loss reports; `{n}` is the number of the choice.
 * Fields of a choice are keyed `choice.finish`; those that are not named stand in the choice under their own name.
 */
export interface ResponsePointers {
  readonly choice: string
  readonly usage: string
  readonly serviceTier: string
  readonly 'choice.finish': string
  readonly 'choice.sequence': string
  readonly 'choice.explanation': string
  readonly 'choice.logprobs': string
  readonly [field: `choice.${string}`]: string
}

/** Codecs name what they lose of an answer as the IR does, or by the pointer its decoder noted: both come out as the latter. */
export function responsePath(path: string, pointers: ResponsePointers): string {
  const [, first, second = '', third] = path.split('/')
  if (first === 'usage' || first === 'serviceTier') return pointers[first] + path.slice(first.length + 1)
  if (first !== 'choices') return path
  const rest = path.slice('/choices/'.length + second.length)
  const known = third === undefined ? undefined : pointers[`choice.${third}`]
  const found = known === undefined ? pointers.choice + rest : known + rest.slice(1 + (third ?? '').length)
  return found.replace('{n}', second)
}

/** The documented defaults of a format's request, by JSON Pointer; `*` stands for any place in a list. */
export interface RequestDefaults {
  readonly [pointer: string]: Json
}

/** Whether the body's value at the path is the default there, or an object of nothing but defaults. */
export function isDefaultValue(path: string, body: JsonObject, defaults: RequestDefaults): boolean {
  let value: Json | undefined = body
  for (const step of path.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return false
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    value = Array.isArray(value) ? value[Number(key)] : Object.hasOwn(value, key) ? value[key] : undefined
  }
  return value !== undefined && isDefault(path.replace(/\/\d+(?=\/|$)/g, '/*'), value, defaults)
}

function isDefault(at: string, value: Json, defaults: RequestDefaults): boolean {
  if (Object.hasOwn(defaults, at)) return JSON.stringify(defaults[at]) === JSON.stringify(value)
  if (!isObject(value)) return false
  const members = Object.entries(value)
  return members.length > 0 && members.every(([key, inner]) => isDefault(pointer(at, key), inner, defaults))
}

/** JSON Pointers of IR request fields in a format's requests. */
interface FieldPointers {
  readonly [irField: string]: string
}

/**
 * The field that an upstream's error names (`max_tokens`, `generation_config.temperature`, `tools[0].name`), in the terms of
 * a client of another format, as far as the two tables know it. Undefined where they do not: a path into the body that was
 * sent upstream would lead a client astray in its own.
 *
 * @param at where the client's request had its fields, if that is known better than by its format's table
 */
export function translateParam(
  param: string,
  upstream: FieldPointers,
  client: FieldPointers,
  at: { readonly [irField: string]: string } = {},
): string | undefined {
  const wanted = plain(`/${param.replace(/\[(\w+)\]/g, '.$1').replaceAll('.', '/')}`)
  // A group and its first member may stand in the same place: the longer name says more.
  const fields = Object.keys(upstream)
    .filter((field) => plain(upstream[field] ?? '') === wanted)
    .sort((a, b) => b.length - a.length)
  for (const field of fields) {
    const pointer = at[field] ?? client[field]
    if (pointer !== undefined) return pointer.slice(1).replaceAll('/', '.')
  }
  return undefined
}

/** Some servers write in snake_case what they take in camelCase. */
const plain = (pointer: string): string => pointer.replaceAll('_', '').toLowerCase()
