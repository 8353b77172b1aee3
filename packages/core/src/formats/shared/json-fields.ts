import { doubleOf, stringifyExact } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'

/** Any value in words: `String` calls what a sender named `toString`. */
export const toText = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined ? '' : stringifyExact(value)

/**
 * The fields of an object that nobody has read yet. Decoders take field by field; what is left in the end goes to
 * `extra` and not on the floor. A field of an unexpected type is not taken; null counts as absent and is dropped.
 */
export interface Unread {
  [key: string]: Json | undefined
}

export const unread = (source: JsonObject): Unread => ({ ...source })

/**
 * Takes the field, whatever it holds. It stays as `undefined`: an object that a field is deleted from becomes a hash table,
 * and that costs more than all the reading.
 */
export function drop(from: Unread, key: string): void {
  if (from[key] !== undefined) from[key] = undefined
}

/** Takes the fields that hold null. */
export function dropNulls(from: Unread): void {
  for (const key in from) if (from[key] === null) from[key] = undefined
}

/** Puts back what nobody read of a field. One that was taken comes behind all others. */
export function putBack(into: Unread, key: string, rest: Json): void {
  if (into[key] === undefined) delete into[key]
  into[key] = rest
}

/** Takes the field if `fits` says yes. */
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
/** An integer that no double holds is not taken: no field of a format means one, and what is left is kept or reported. */
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

/** What nobody read; undefined if that is nothing. */
export function leftover(from: Unread): JsonObject | undefined {
  for (const key in from) if (from[key] !== undefined) return onlyLeft(from)
  return undefined
}

function onlyLeft(from: Unread): JsonObject {
  for (const key of Object.keys(from)) if (from[key] === undefined) delete from[key]
  return from as JsonObject
}

/**
 * What stands in `source` beside the known fields and says something. Copies nothing unless there is something: chunks
 * of a stream are read with it.
 */
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
 * Sets a member by a name that a sender chose. Assigned, a member named `__proto__` would replace the object's prototype and be
 * lost from its JSON. Object literals, spread and `Object.fromEntries` have no such exception; `Object.assign` has.
 */
export function setOwn<V>(target: { [name: string]: V }, name: string, value: V): void {
  if (name === '__proto__')
    Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true })
  else target[name] = value
}

/** Sets all members of another object, under whatever names. */
export function assignOwn<V>(target: { [name: string]: V }, source: { readonly [name: string]: V }): void {
  for (const name of Object.keys(source)) setOwn(target, name, source[name] as V)
}

/** The named fields of a body, those that are there. */
export function pick(body: JsonObject, keys: readonly string[]): JsonObject {
  const out: JsonObject = {}
  for (const key of keys) {
    const value = body[key]
    if (value !== undefined) out[key] = value
  }
  return out
}

/** A number of tokens as upstreams write it. */
export const tokensIn = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined

/** Adds all items to a list, in time of their number. `push(...items)` throws where they are a hundred thousand. */
export function append<T>(list: T[], items: readonly T[]): void {
  for (const item of items) list.push(item)
}
