import type { Loss } from '@modelgate/core'
import type { JsonObject } from '@modelgate/core/test-support'
import type { Json } from '../base/json.ts'
import { type Probe, parentOf } from './walk.ts'

/** Result of one body. */
export interface Carried {
  readonly sent: JsonObject
  readonly losses: readonly Loss[]
}

/** A value that may replace another one, because the other format expresses the same this way. */
export interface Meaning {
  /** Paths of the fields. */
  readonly at: RegExp
  readonly value: Json
  /** Values that the other side may have instead, if the body changed. */
  readonly as: readonly Json[]
}

/**
 * Reported: a loss names the field, something in it, or the block that contains it. A loss that also occurs without the
 * field does not count, unless the whole block is dropped.
 */
export function isReported(
  { subject, body }: Probe,
  carried: Carried,
  without: Carried,
  send: (body: JsonObject) => Carried,
): boolean {
  return carried.losses.some(({ path: reported, kind, detail }) => {
    const path = standing(body, reported)
    if (path === subject || path.startsWith(`${subject}/`)) return true
    if (path === '' || !subject.startsWith(`${path}/`)) return false
    if (!without.losses.some((other) => other.path === reported && other.detail === detail)) return true
    if (kind !== 'unsupported') return false
    return [undefined, stranger].some((one) => equal(send(replaced(body, path, one)).sent, carried.sent))
  })
}

/** A block that no format knows: the value written in its place is dropped. */
const stranger: JsonObject = { type: 'stranger', stranger: {} }

/** Returns the body with something else, or nothing, at a place. */
function replaced(body: JsonObject, pointer: string, by: JsonObject | undefined): JsonObject {
  const copy = structuredClone(body)
  const holder = valueAt(copy, parentOf(pointer))
  const key = lastStep(pointer)
  if (Array.isArray(holder)) holder.splice(Number(key), 1, ...(by === undefined ? [] : [by]))
  else if (typeof holder === 'object' && holder !== null) {
    delete holder[key]
    if (by !== undefined) holder[key] = by
  }
  return copy
}

/** Returns the longest part of the pointer that exists in the body: codecs name some fields as the IR does. */
function standing(body: JsonObject, pointer: string): string {
  let path = pointer
  while (path !== '' && valueAt(body, path) === undefined) path = parentOf(path)
  return path
}

/** Returns true if the value is unchanged at its place in the same format. */
export const isUntouched = ({ pointer, value }: Probe, { sent }: Carried): boolean =>
  equal(valueAt(sent, pointer) ?? null, value)

/**
 * Arrived: the text is in the body; or, if the body differs from one without the field or with another value, the
 * value, an equivalent value or a key of that name; for mere presence, any difference.
 */
export function arrival(
  { kind, token, value, path }: Probe,
  carried: Carried,
  others: readonly Carried[],
  meanings: readonly Meaning[],
): 'itself' | Meaning | undefined {
  if (kind === 'token') return readable(carried.sent).includes(token.toLowerCase()) ? 'itself' : undefined
  const changed = others.flatMap(({ sent }) => changes(carried.sent, sent))
  const says = (values: Json): boolean =>
    leaves(values).some((one) => changed.some(({ key, leaf }) => same(one, leaf) || one === `${key}:`))
  if (kind === 'presence' ? changed.length > 0 : says(value)) return 'itself'
  return meanings.find((meaning) => meaning.at.test(path) && equal(meaning.value, value) && says([...meaning.as]))
}

/** Returns all texts of a body, with base64 also decoded. */
function readable(body: JsonObject): string {
  const texts = leaves(body).filter((leaf): leaf is string => typeof leaf === 'string')
  const encoded = texts.filter((text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text))
  return [JSON.stringify(body), ...encoded.map((text) => atob(text))].join('\n').toLowerCase()
}

const equal = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b)

/**
 * Compares values across formats: enum values ignore case, numbers may be strings, and media types may be in data URLs.
 */
function same(wanted: Json, found: Json): boolean {
  const [a, b] = [wanted, found].map((value) =>
    (typeof value === 'string' ? value : JSON.stringify(value)).toLowerCase(),
  )
  return a === b || (a?.includes('/') === true && b?.startsWith(`data:${a};`) === true)
}

const leaves = (value: Json): Json[] =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0
    ? Object.values(value).flatMap(leaves)
    : [value]

interface Change {
  readonly key: string
  readonly leaf: Json
}

/**
 * Returns every value of the first body that differs from the second at the same place, and every one that is missing.
 */
function changes(now: JsonObject, before: JsonObject): Change[] {
  const a = places(now)
  const b = places(before)
  const out: Change[] = []
  for (const [place, leaf] of a)
    if (!b.has(place) || !equal(b.get(place) ?? null, leaf)) out.push({ key: lastStep(place), leaf })
  for (const place of b.keys()) if (!a.has(place)) out.push({ key: lastStep(place), leaf: null })
  return out
}

const lastStep = (place: string): string => place.slice(place.lastIndexOf('/') + 1)

function places(given: Json, at = '', into: Map<string, Json> = new Map()): Map<string, Json> {
  const value = typeof given === 'string' && given.startsWith('{') ? (objectIn(given) ?? given) : given
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0)
    for (const [key, inner] of Object.entries(value)) places(inner, `${at}/${key}`, into)
  else into.set(at, value)
  return into
}

/** Returns the object in a JSON text: some formats have schemas and arguments as text. */
function objectIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Returns the value at a JSON Pointer. */
function valueAt(body: Json, pointer: string): Json | undefined {
  let value: Json | undefined = body
  for (const step of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as JsonObject)[step.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return value
}
