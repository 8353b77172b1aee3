import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'

/**
 * JSON Pointers of IR response fields in a format's responses, for loss reports. `{n}` is the number of the choice. Fields of a choice
 * have keys like `choice.finish`; fields without an entry have the same name in the choice.
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

/** Translates an IR path of a response to a path of the format. Paths that a decoder recorded stay unchanged. */
export function responsePath(path: string, pointers: ResponsePointers): string {
  const [, first, second = '', third] = path.split('/')
  if (first === 'usage' || first === 'serviceTier') return pointers[first] + path.slice(first.length + 1)
  if (first !== 'choices') return path
  const rest = path.slice('/choices/'.length + second.length)
  const known = third === undefined ? undefined : pointers[`choice.${third}`]
  const found = known === undefined ? pointers.choice + rest : known + rest.slice(1 + (third ?? '').length)
  return found.replace('{n}', second)
}

/** Documented defaults of request fields, by JSON Pointer. `*` stands for any list index. */
export interface RequestDefaults {
  readonly [pointer: string]: Json
}

/** Returns whether the value at a path is the default, or an object of defaults only. */
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
 * Translates the field that an upstream's error names (`max_tokens`, `generation_config.temperature`, `tools[0].name`) to the client's
 * format. Returns undefined for an unknown field: a path of the upstream's body would mislead the client.
 *
 * @param at positions of fields in this request; they override the client format's table
 */
export function translateParam(
  param: string,
  upstream: FieldPointers,
  client: FieldPointers,
  at: { readonly [irField: string]: string } = {},
): string | undefined {
  const wanted = plain(`/${param.replace(/\[(\w+)\]/g, '.$1').replaceAll('.', '/')}`)
  // A group and its first member may have the same pointer: the longer name is more specific.
  const fields = Object.keys(upstream)
    .filter((field) => plain(upstream[field] ?? '') === wanted)
    .sort((a, b) => b.length - a.length)
  for (const field of fields) {
    const pointer = at[field] ?? client[field]
    if (pointer !== undefined) return pointer.slice(1).replaceAll('/', '.')
  }
  return undefined
}

/** Some servers write names in snake_case that they accept in camelCase. */
const plain = (pointer: string): string => pointer.replaceAll('_', '').toLowerCase()
