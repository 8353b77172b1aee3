import { isObject } from '../base/json/object.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import type { Strategy } from '../config/config.ts'
import type { Identity } from '../config/identity.ts'
import type { WireCodec } from '../formats/codec.ts'
import type { Inbound } from '../http/inbound.ts'

/** Headers in which agents name their session. */
const sessionHeaders = [
  'x-session-affinity',
  'x-session-id',
  'x-claude-code-session-id',
  'session-id',
  'thread-id',
] as const

const none: readonly string[] = []

/** Whether a call goes on from state that an upstream keeps for one of its keys. */
export function continuesState(codec: WireCodec | undefined, body: JsonObject): boolean {
  for (const field of codec?.statefulFields ?? none) if (body[field] !== undefined && body[field] !== null) return true
  return false
}

/** Calls that continue state go where their caller's other such calls go, whatever the strategy, unless the configuration orders the targets. */
export const effectiveStrategy = (strategy: Strategy, continues: boolean): Strategy =>
  continues && strategy !== 'order' ? 'sticky' : strategy

/** What a call has in common with others that should go to the same target and key; undefined where that does not matter. */
export const callAffinity = (
  codec: WireCodec | undefined,
  strategy: Strategy,
  continues: boolean,
  body: JsonObject,
  identity: Identity | null,
  inbound: Pick<Inbound, 'header'>,
): string | undefined =>
  continues
    ? `caller:${identity?.id ?? ''}`
    : strategy === 'sticky'
      ? cacheAffinity(codec, body, (name) => inbound.header(name))
      : undefined

/** Of a prompt's beginning so many characters tell conversations apart; hashing more would be felt. */
const prefixChars = 16_384

/**
 * What calls that should meet the same prompt cache have in common: the session or cache key that the client names, else the
 * beginning of the prompt (tools, instructions, and the turns up to the first of the user). Undefined where there is nothing.
 */
export function cacheAffinity(
  codec: WireCodec | undefined,
  body: JsonObject,
  header: (name: string) => string | undefined,
): string | undefined {
  const places = codec?.affinity
  for (const field of places?.keys ?? []) {
    const key = textAt(body, field)
    if (key !== undefined) return `key:${key}`
  }
  for (const name of sessionHeaders) {
    const session = header(name)
    if (session !== undefined && session !== '') return `session:${session}`
  }
  if (places === undefined) return undefined
  let prefix = ''
  for (const field of places.prefix) prefix += beginning(body[field], prefixChars)
  const turns = body[places.turns]
  prefix += beginning(Array.isArray(turns) ? untilUser(turns) : turns, prefixChars)
  return prefix === '' ? undefined : `prefix:${prefix}`
}

function textAt(body: JsonObject, path: string): string | undefined {
  let at: Json | undefined = body
  for (const name of path.split('.')) at = isObject(at) ? at[name] : undefined
  return typeof at === 'string' && at !== '' ? at : undefined
}

const beginning = (value: Json | undefined, chars: number): string =>
  value === undefined || value === null ? '' : JSON.stringify(value).slice(0, chars)

/** Later turns change from call to call. */
function untilUser(turns: readonly Json[]): Json[] {
  const first = turns.findIndex((turn) => !isObject(turn) || (turn.role ?? 'user') === 'user')
  return turns.slice(0, first < 0 ? 1 : first + 1)
}

/** Two 32-bit halves of a quick, well-spread hash (cyrb53's mixing): not for secrets, only to spread. Between 0 and 1, neither included. */
export function hashToUnitInterval(text: string): number {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 2654435761)
    b = Math.imul(b ^ code, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return (4294967296 * (0xfffff & b) + (a >>> 0) + 0.5) / 4503599627370496
}

/**
 * The same order for the same key, as long as its first choices are there, and each in front for its share of keys. When one
 * goes, only its keys move (weighted rendezvous hashing).
 */
export function rendezvous<T>(
  items: readonly T[],
  key: string,
  idOf: (item: T) => string,
  weightOf: (item: T) => number,
): T[] {
  const digest = hashToUnitInterval(key)
  return items
    .map((item) => ({ item, score: -weightOf(item) / Math.log(hashToUnitInterval(`${digest}|${idOf(item)}`)) }))
    .sort((a, b) => b.score - a.score)
    .map(({ item }) => item)
}
