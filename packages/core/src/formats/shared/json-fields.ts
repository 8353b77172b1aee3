import { isObject, type Json, type JsonObject, stringifyExact } from '../../base/json/json.ts'
import { doubleOf } from '../../base/json/parse.ts'

/** Converts any JSON value to text. `String` would call a member that the sender named `toString`. */
export const toText = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined ? '' : stringifyExact(value)

/**
 * The fields of an object that a decoder has not read yet. A decoder takes one field after the other and keeps the remaining ones in
 * `extra`. It does not take fields of an unexpected type. Null counts as absent and is removed.
 */
export interface Unread {
  [key: string]: Json | undefined
}

export const unread = (source: JsonObject): Unread => ({ ...source })

/** Marks a field as read by `undefined`. Deleting it would turn the object into a hash table, which costs more than all the reading. */
export function drop(from: Unread, key: string): void {
  if (from[key] !== undefined) from[key] = undefined
}

/** Removes fields with null. */
export function dropNulls(from: Unread): void {
  for (const key in from) if (from[key] === null) from[key] = undefined
}

/** Puts back the unread part of a field. A field that was taken moves to the end. */
export function putBack(into: Unread, key: string, rest: Json): void {
  if (into[key] === undefined) delete into[key]
  into[key] = rest
}

/** Takes a field if `fits` accepts its value. */
export function take<T extends Json>(from: Unread, key: string, fits: (value: Json) => value is T): T | undefined {
  const value = from[key]
  if (value === undefined) return undefined
  if (value !== null && !fits(value)) return undefined
  from[key] = undefined
  return value === null ? undefined : (value as T)
}

const isString = (value: Json): value is string => typeof value === 'string'
const isBoolean = (value: Json): value is boolean => typeof value === 'boolean'
const isArray = (value: Json): value is Json[] => Array.isArray(value)
const isAny = (value: Json): value is Json => value !== undefined

export const takeString = (from: Unread, key: string): string | undefined => take(from, key, isString)
/**
 * Takes a number. Leaves an integer that a double cannot represent unread: no field of a format needs one, and unread fields are kept or
 * reported.
 */
export function takeNumber(from: Unread, key: string): number | undefined {
  const value = from[key]
  if (value === undefined) return undefined
  const number = doubleOf(value)
  if (number !== undefined || value === null) from[key] = undefined
  return number
}
export const takeBoolean = (from: Unread, key: string): boolean | undefined => take(from, key, isBoolean)
export const takeObject = (from: Unread, key: string): JsonObject | undefined => take(from, key, isObject)
export const takeArray = (from: Unread, key: string): Json[] | undefined => take(from, key, isArray)
export const takeAny = (from: Unread, key: string): Json | undefined => take(from, key, isAny)

/** Returns the unread fields; undefined if there are none. */
export function leftover(from: Unread): JsonObject | undefined {
  for (const key in from) if (from[key] !== undefined) return onlyLeft(from)
  return undefined
}

function onlyLeft(from: Unread): JsonObject {
  for (const key of Object.keys(from)) if (from[key] === undefined) delete from[key]
  return from as JsonObject
}

/** Returns the fields that are unknown and not empty; undefined if there are none. Copies nothing then, because every stream chunk is read with it. */
export function fieldsExcept(source: JsonObject, known: ReadonlySet<string>): JsonObject | undefined {
  let found: JsonObject | undefined
  for (const key in source) {
    if (known.has(key)) continue
    const value = source[key]
    if (value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)) continue
    found ??= {}
    setOwn(found, key, value)
  }
  return found
}

/**
 * Sets a member by a name that a sender chose. Assigning to `__proto__` would replace the prototype and lose the member.
 * `Object.assign` has the same problem; object literals, spread and `Object.fromEntries` have not.
 */
export function setOwn<V>(target: { [name: string]: V }, name: string, value: V): void {
  if (name === '__proto__')
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true })
  else target[name] = value
}

/** Sets all members of another object; see `setOwn`. */
export function assignOwn<V>(target: { [name: string]: V }, source: { readonly [name: string]: V }): void {
  for (const name of Object.keys(source)) setOwn(target, name, source[name] as V)
}

/** Returns those of the named fields that are present. */
export function pick(body: JsonObject, keys: readonly string[]): JsonObject {
  const out: JsonObject = {}
  for (const key of keys) {
    const value = body[key]
    if (value !== undefined) out[key] = value
  }
  return out
}

/** Reads a token count; undefined for any other value. */
export const tokensIn = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined

/** Appends all items to a list. `push(...items)` throws for about a hundred thousand items. */
export function append<T>(list: T[], items: readonly T[]): void {
  for (const item of items) list.push(item)
}
