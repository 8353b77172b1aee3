import { isObject, type Json, type JsonObject } from '../base/json/json.ts'
import type { Identity } from '../config/identity.ts'
import type { ClientWireCodec } from '../formats/codec.ts'
import type { Inbound } from '../http/inbound.ts'

/** Headers in which agents name their session. */
const sessionHeaders = [
  'x-session-affinity',
  'x-session-id',
  'x-claude-code-session-id',
  'session-id',
  'thread-id',
] as const

/** Returns whether a call continues state that an upstream stores for one of its keys. */
export const continuesState = ({ statefulFields = [] }: ClientWireCodec, body: JsonObject): boolean =>
  statefulFields.some((field) => body[field] !== undefined && body[field] !== null)

/**
 * Returns the text that calls to the same target and key have in common: the caller, for calls that continue stored state; otherwise the
 * prompt cache. Returns undefined if any target will do.
 */
export const callAffinity = (
  codec: ClientWireCodec | undefined,
  continues: boolean,
  body: JsonObject,
  identity: Identity | null,
  inbound: Pick<Inbound, 'header'>,
): string | undefined =>
  continues ? `caller:${identity?.id ?? ''}` : cacheAffinity(codec, body, (name) => inbound.header(name))

/** Characters of each part of the beginning that are compared: to hash more would cost a measurable share of a call. */
const maxPartChars = 16_384

/**
 * Returns the text that calls for the same prompt cache have in common: the cache key or session that the client names, else the
 * beginning of the prompt (tools, instructions, and the turns up to the first one of the user). Returns undefined if there is none.
 */
export function cacheAffinity(
  codec: ClientWireCodec | undefined,
  body: JsonObject,
  header: (name: string) => string | undefined,
): string | undefined {
  const named = sessionName(codec, body, header)
  if (named !== undefined) return named
  const places = codec?.affinity
  if (places === undefined) return undefined
  let prefix = places.tools === undefined ? '' : beginning(body[places.tools])
  for (const field of places.prefix) prefix += beginning(body[field])
  const turns = body[places.turns]
  // Cut separately: long instructions must not hide the first question, which tells conversations apart.
  for (const turn of Array.isArray(turns) ? untilUser(turns) : [turns]) prefix += beginning(turn)
  return prefix === '' ? undefined : `prefix:${prefix}`
}

/** Returns the cache key or session that the client names. */
function sessionName(
  codec: ClientWireCodec | undefined,
  body: JsonObject,
  header: (name: string) => string | undefined,
): string | undefined {
  for (const field of codec?.affinity?.keys ?? []) {
    const key = textAt(body, field)
    if (key !== undefined) return `key:${key}`
  }
  for (const name of sessionHeaders) {
    const session = header(name)
    if (session !== undefined && session !== '') return `session:${session}`
  }
  return undefined
}

/**
 * Returns the affinity of a request whose conversation goes on: it names a session, has tools, or continues a response. Other requests are
 * mostly the only ones of their kind, and many callers may send the same prompt: those are spread.
 */
export function conversationAffinity(
  codec: ClientWireCodec | undefined,
  body: JsonObject,
  header: (name: string) => string | undefined,
): string | undefined {
  const named = sessionName(codec, body, header)
  const places = codec?.affinity
  if (named !== undefined || places === undefined) return named
  const turns = body[places.turns]
  const tools = places.tools === undefined ? undefined : body[places.tools]
  const hasTools = Array.isArray(tools) ? tools.length > 0 : isObject(tools)
  const goesOn = hasTools || (Array.isArray(turns) && untilUser(turns).length < turns.length)
  return goesOn ? cacheAffinity(codec, body, header) : undefined
}

/**
 * Returns a name for the conversation of a caller, for the upstream. It is a hash without a secret, the same in every process: an upstream
 * that knows the conversation can confirm a guess of the caller's id. It contains neither of them as text.
 */
export const conversationId = (identity: Identity | null, affinity: string): string =>
  `mg-${Math.floor(hashToUnitInterval(JSON.stringify([identity?.id ?? '', affinity])) * 2 ** 52).toString(36)}`

function textAt(body: JsonObject, path: string): string | undefined {
  let at: Json | undefined = body
  for (const name of path.split('.')) at = isObject(at) ? at[name] : undefined
  return typeof at === 'string' && at !== '' ? at : undefined
}

const beginning = (part: Json | undefined): string =>
  part === undefined || part === null ? '' : JSON.stringify(part).slice(0, maxPartChars)

/** Returns the turns up to the first one of the user: later turns differ between calls. */
function untilUser(turns: readonly Json[]): Json[] {
  const first = turns.findIndex((turn) => !isObject(turn) || (turn.role ?? 'user') === 'user')
  return turns.slice(0, first < 0 ? 1 : first + 1)
}

/**
 * Hashes a text to a number between 0 and 1, both excluded (the mixing of cyrb53). It distributes evenly, and hides nothing from a
 * reader who can guess the text.
 */
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
 * Orders items by weighted rendezvous hashing: the same key yields the same order, and each item is first for its share of keys. If an
 * item is removed, only its keys move to other items.
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
