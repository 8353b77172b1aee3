import { GatewayError } from '../base/errors.ts'
import { editJson } from '../base/json/edit.ts'
import { parseExact, stringifyExact } from '../base/json/exact-number.ts'
import { isObject } from '../base/json/object.ts'
import { type Member, scanJson } from '../base/json/scan.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { Hosting } from './upstream.ts'

/** What a target's configuration says of the body. */
export interface BodyOverrides {
  readonly defaults?: JsonObject | undefined
  readonly overrides?: JsonObject | undefined
}

export interface BodyEditCall {
  readonly model: string
  readonly stream: boolean
  header(name: string): string | undefined
  /** Told of each field of the body that is replaced though it said something else. */
  replaced(field: string): void
}

/**
 * A request's body as one particular upstream takes it: with its target's defaults and overrides, and with what a host of
 * other vendors' models wants said differently. Bodies that nobody has a wish for are not even read.
 */
export function editRequestBody(
  body: string | Uint8Array,
  wishes: BodyOverrides,
  hosting: Hosting | undefined,
  call: BodyEditCall,
): string | Uint8Array {
  const { defaults, overrides } = wishes
  if (defaults === undefined && overrides === undefined && hosting?.edit === undefined) return body
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const value = parseExact(text) as Json
  if (!isObject(value)) throw new GatewayError('internal', 'A body that is no object cannot be edited.')
  const wished = withWishes(text, value, wishes, call)
  if (hosting?.edit === undefined) return wished ?? body
  const whole = wished === undefined ? value : (parseExact(wished) as JsonObject)
  const { set = {}, drop = [] } = hosting.edit({ body: whole, ...call })
  if (Object.keys(set).length === 0 && drop.length === 0) return wished ?? body
  return editJson(wished ?? text, membersOf(wished ?? text), set, drop)
}

/** Undefined where nothing changes. All that the wishes leave alone stays as it was written: no number loses digits. */
function withWishes(
  text: string,
  value: JsonObject,
  { defaults = {}, overrides = {} }: BodyOverrides,
  { replaced }: BodyEditCall,
): string | undefined {
  const members = membersOf(text)
  const own = new Map(members.map(({ key, start, end }) => [key, text.slice(start, end)]))
  const changed = new Map<string, string | undefined>()
  for (const [field, wish] of Object.entries(defaults)) {
    const filled = fill(own.get(field), wish)
    if (filled !== own.get(field)) changed.set(field, filled)
  }
  for (const [field, wish] of Object.entries(overrides)) {
    if (wish === undefined) continue
    changed.set(field, patch(changed.get(field) ?? own.get(field), wish))
    if (own.has(field) && contradicts(value[field], wish)) replaced(field)
  }
  if (changed.size === 0) return undefined
  return written([
    ...members
      .filter(({ key }) => !changed.has(key))
      .map(({ key, start, end }) => [key, text.slice(start, end)] as const),
    ...changed,
  ])
}

const membersOf = (text: string): readonly Member[] => scanJson(text, Number.POSITIVE_INFINITY).members

const written = (members: Iterable<readonly [string, string | undefined]>): string =>
  `{${[...members].flatMap(([key, value]) => (value === undefined ? [] : `${JSON.stringify(key)}:${value}`)).join(',')}}`

const fieldsOf = (text: string | undefined): Map<string, string | undefined> =>
  new Map(
    text?.startsWith('{') === true ? membersOf(text).map(({ key, start, end }) => [key, text.slice(start, end)]) : [],
  )

/** A value's text with what it does not say itself; what it says stays, `null` too. */
function fill(own: string | undefined, wish: Json | undefined): string | undefined {
  if (own === undefined) return wish === undefined ? undefined : JSON.stringify(wish)
  if (!isObject(wish) || !own.startsWith('{')) return own
  const fields = fieldsOf(own)
  let filled = own
  for (const [field, value] of Object.entries(wish)) {
    const text = fill(fields.get(field), value)
    if (text === fields.get(field)) continue
    fields.set(field, text)
    filled = ''
  }
  return filled === '' ? written(fields) : filled
}

/** A value's text after a wish (a JSON merge patch); undefined: it is taken out. */
function patch(own: string | undefined, wish: Json): string | undefined {
  if (wish === null) return undefined
  if (!isObject(wish)) return JSON.stringify(wish)
  const fields = fieldsOf(own)
  for (const [field, value] of Object.entries(wish))
    if (value !== undefined) fields.set(field, patch(fields.get(field), value))
  return written(fields)
}

/** Whether a wish leaves something else there than stood there; what it only adds contradicts nothing. */
function contradicts(own: Json | undefined, wish: Json | undefined): boolean {
  if (own === undefined || wish === undefined) return false
  if (isObject(own) && isObject(wish))
    return Object.entries(wish).some(([field, value]) => contradicts(own[field], value))
  return stringifyExact(own) !== JSON.stringify(wish)
}
