import { GatewayError } from '../base/errors.ts'
import { editJson, spliceJson } from '../base/json/edit.ts'
import { isObject, type Json, type JsonObject, type Member, scanJson, stringifyExact } from '../base/json/json.ts'
import { parseExact } from '../base/json/parse.ts'
import type { Loss } from '../formats/ir.ts'
import type { Hosting } from './upstream.ts'

/** Changes to request bodies in a target's configuration. */
export interface BodyOverrides {
  /** Members to add if the body has none of that name, recursively. */
  readonly defaults?: JsonObject | undefined
  /** JSON merge patch (RFC 7396) that is applied to the body. */
  readonly overrides?: JsonObject | undefined
  /** Returns members to set after these changes; undefined for none. */
  readonly mark?: ((body: JsonObject) => JsonObject | undefined) | undefined
}

/** The call whose body is edited. */
export interface BodyEditCall {
  readonly model: string
  readonly stream: boolean
  header(name: string): string | undefined
  /** Reports a field whose value is replaced by a different one. */
  replaced(field: string): void
  /** Reports a part of the request that its host does not get. */
  lost(loss: Loss): void
}

/**
 * Returns a request's body for one upstream: with the defaults and overrides of its target, and with the changes that its host requires.
 * Without any of these the body is not even parsed.
 */
export function editRequestBody(
  body: string | Uint8Array,
  changes: BodyOverrides,
  hosting: Hosting | undefined,
  call: BodyEditCall,
): string | Uint8Array {
  const { defaults, overrides, mark } = changes
  if (defaults === undefined && overrides === undefined && mark === undefined && hosting?.edit === undefined)
    return body
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const value = parseExact(text) as Json
  if (!isObject(value)) throw new GatewayError('internal', 'The body is not an object and cannot be edited.')
  let edited = applyOverrides(text, value, changes, call)
  let whole = edited === undefined ? value : (parseExact(edited) as JsonObject)
  const marks = mark?.(whole)
  if (marks !== undefined && Object.keys(marks).length > 0) {
    edited = spliceJson(edited ?? text, membersOf(edited ?? text), marks)
    whole = { ...whole, ...marks }
  }
  if (hosting?.edit === undefined) return edited ?? body
  const isRepeated = (...path: readonly string[]): boolean => repeats(edited ?? text, path)
  const { set = {}, drop = [], losses = [] } = hosting.edit({ body: whole, ...call, isRepeated })
  for (const loss of losses) call.lost(loss)
  if (Object.keys(set).length === 0 && drop.length === 0) return edited ?? body
  return editJson(edited ?? text, membersOf(edited ?? text), set, drop)
}

/**
 * Applies defaults and overrides. Returns undefined if nothing changes. Members that stay keep their text, so that no number loses digits.
 */
function applyOverrides(
  text: string,
  value: JsonObject,
  { defaults = {}, overrides = {} }: BodyOverrides,
  { replaced }: BodyEditCall,
): string | undefined {
  const members = membersOf(text)
  const present = new Map(members.map(({ key, start, end }) => [key, text.slice(start, end)]))
  const changed = new Map<string, string | undefined>()
  for (const [field, wanted] of Object.entries(defaults)) {
    const filled = fill(present.get(field), wanted)
    if (filled !== present.get(field)) changed.set(field, filled)
  }
  for (const [field, wanted] of Object.entries(overrides)) {
    if (wanted === undefined) continue
    changed.set(field, patch(changed.get(field) ?? present.get(field), wanted))
    if (present.has(field) && changesValue(value[field], wanted)) replaced(field)
  }
  if (changed.size === 0) return undefined
  return writeObject([
    ...members
      .filter(({ key }) => !changed.has(key))
      .map(({ key, start, end }) => [key, text.slice(start, end)] as const),
    ...changed,
  ])
}

const membersOf = (text: string): readonly Member[] => scanJson(text, Number.POSITIVE_INFINITY).members

/** Returns whether a JSON object contains a member more than once, or an object on the path to it. */
function repeats(object: string, [name, ...inner]: readonly string[]): boolean {
  const found = membersOf(object).filter(({ key }) => key === name)
  const [only] = found
  if (only === undefined || found.length > 1) return found.length > 1
  return inner.length > 0 && repeats(object.slice(only.start, only.end), inner)
}

const writeObject = (members: Iterable<readonly [string, string | undefined]>): string =>
  `{${[...members].flatMap(([key, value]) => (value === undefined ? [] : `${JSON.stringify(key)}:${value}`)).join(',')}}`

const fieldsOf = (text: string | undefined): Map<string, string | undefined> =>
  new Map(
    text?.startsWith('{') === true ? membersOf(text).map(({ key, start, end }) => [key, text.slice(start, end)]) : [],
  )

/** Returns the text of a value with the defaults that it lacks. Present members stay, `null` too. */
function fill(present: string | undefined, wanted: Json | undefined): string | undefined {
  if (present === undefined) return wanted === undefined ? undefined : JSON.stringify(wanted)
  if (!isObject(wanted) || !present.startsWith('{')) return present
  const fields = fieldsOf(present)
  let filled = present
  for (const [field, value] of Object.entries(wanted)) {
    const text = fill(fields.get(field), value)
    if (text === fields.get(field)) continue
    fields.set(field, text)
    filled = ''
  }
  return filled === '' ? writeObject(fields) : filled
}

/** Returns the text of a value after a JSON merge patch, or undefined if it is removed. */
function patch(present: string | undefined, wanted: Json): string | undefined {
  if (wanted === null) return undefined
  if (!isObject(wanted)) return JSON.stringify(wanted)
  const fields = fieldsOf(present)
  for (const [field, value] of Object.entries(wanted))
    if (value !== undefined) fields.set(field, patch(fields.get(field), value))
  return writeObject(fields)
}

/** Returns whether an override changes a present value. Members that it only adds change nothing. */
function changesValue(present: Json | undefined, wanted: Json | undefined): boolean {
  if (present === undefined || wanted === undefined) return false
  if (isObject(present) && isObject(wanted))
    return Object.entries(wanted).some(([field, value]) => changesValue(present[field], value))
  return stringifyExact(present) !== JSON.stringify(wanted)
}
