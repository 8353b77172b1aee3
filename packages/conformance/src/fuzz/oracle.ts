import { isObject, type Json, type JsonObject, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import type { Format } from '../base/recorded-traffic.ts'

// What may come of an answer, from the formats alone: nothing here is the gateway's.

/** An event as the standard of server-sent events reads it. */
export interface Sent {
  readonly event: string
  readonly data: string
  /** False: the input ended in front of its blank line. */
  readonly whole: boolean
}

/** Every event with data, by the standard's own steps; what is left at the end is told, too. */
export function readSse(bytes: Uint8Array): Sent[] {
  // The decoder takes one byte order mark, the grammar allows another.
  const text = new TextDecoder().decode(bytes).replace(/^\uFEFF/, '')
  const sent: Sent[] = []
  let event = ''
  let data: string[] = []
  const dispatch = (whole: boolean): void => {
    if (data.length > 0) sent.push({ event, data: data.join('\n'), whole })
    event = ''
    data = []
  }
  const lines = text.split(/\r\n|\n|\r/)
  // Behind the last line end there is no line yet.
  const rest = lines.pop() ?? ''
  const take = (line: string): void => {
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const behind = colon < 0 ? '' : line.slice(colon + 1)
    const value = behind.startsWith(' ') ? behind.slice(1) : behind
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
  }
  for (const line of lines) {
    if (line === '') dispatch(true)
    else take(line)
  }
  take(rest)
  dispatch(false)
  return sent
}

const typeOf = (value: Json | undefined): string => textOf(objectOf(value).type)
/** What an event is: some readers go by its name, others by its data. Nothing where the two contradict, or the data is no JSON. */
function wordOf(value: Json | undefined, event: string): string {
  const { type } = objectOf(value)
  if (value === undefined || (typeof type === 'string' && event !== '' && type !== event)) return ''
  return textOf(type) === '' ? event : textOf(type)
}
const said = (value: unknown): boolean => value !== undefined && value !== null && value !== '' && value !== false

/** The event by which a client of the format takes an answer for whole. */
const successes: Readonly<Record<Format, (data: string, value: Json | undefined, event: string) => boolean>> = {
  chat: (data) => data.trim() === '[DONE]',
  // Its clients read past what has no name.
  messages: (_, value, event) => event === 'message_stop' && wordOf(value, event) === event,
  gemini: (_, value) =>
    listOf(objectOf(value).candidates).some((one) => said(objectOf(one).finishReason)) ||
    (objectOf(objectOf(value).promptFeedback).blockReason ?? undefined) !== undefined,
  responses: (_, value, event) => ['response.completed', 'response.incomplete'].includes(wordOf(value, event)),
}

const terminals: ReadonlySet<string> = new Set(['message_stop', 'response.completed', 'response.incomplete'])

/** An event that a client of the format takes for an error. */
const errors: Readonly<Record<Format, (value: Json | undefined, event: string) => boolean>> = {
  chat: (value, event) => Boolean(objectOf(value).error) || event === 'error',
  // Its clients read past what has no name.
  messages: (_, event) => event === 'error',
  gemini: (value) => Boolean(objectOf(value).error),
  responses: (value, event) => wordOf(value, event) === 'error' || Boolean(objectOf(value).error),
}
/**
 * An event by which an upstream can have meant one.
 *
 * @param passed the client gets it as it is: what has another event's name is for the client to see through
 */
function isFault(format: Format, value: Json | undefined, event: string, passed: boolean): boolean {
  if (event === 'error') return true
  const told = Boolean(objectOf(value).error)
  if (format === 'messages') return event === '' && (typeOf(value) === 'error' || (typeOf(value) === '' && told))
  return (typeOf(value) === 'error' || told) && (format !== 'responses' || !passed || event === '')
}

export interface StreamTold {
  readonly events: readonly Sent[]
  /** Places of the events that claim success, of errors, and of those that are no JSON though they should be. */
  readonly successes: readonly number[]
  readonly errors: readonly number[]
  readonly broken: readonly number[]
}

function readTold(format: Format, bytes: Uint8Array): StreamTold {
  const events = readSse(bytes)
  const told = { events, successes: [] as number[], errors: [] as number[], broken: [] as number[] }
  for (const [place, { data, event }] of events.entries()) {
    // Blanks around it, a byte order mark among them, take nothing from it.
    const parsed = parseJson(data.trim())
    // One format can be had as an array, and some servers send its elements by several.
    const values = Array.isArray(parsed) ? parsed : [parsed]
    if (values.some((value) => successes[format](data, value, event))) told.successes.push(place)
    else if (values.some((value) => errors[format](value, event))) told.errors.push(place)
    if (parsed === undefined && !['', '[DONE]'].includes(data.trim())) told.broken.push(place)
  }
  return told
}

/** What an upstream's bytes allow a gateway to say of them. */
export interface Allowed {
  /** The terminal event is among them, whole or lacking only its blank line. */
  readonly success: boolean
  /** The upstream itself told of an error. */
  readonly error: boolean
}

/**
 * @param passed the client gets the upstream's own events, and sees by itself what is broken in them
 */
function allowedBy(format: Format, bytes: Uint8Array, passed: boolean): Allowed {
  const { events, successes: named, broken } = readTold(format, bytes)
  const places = (holds: (value: Json | undefined, event: string) => boolean): number[] =>
    events.flatMap(({ data, event }, place) => (holds(parseJson(data.trim()), event) ? [place] : []))
  const faults = places((value, event) => isFault(format, value, event, passed))
  // Some servers leave the name out, or give another.
  const ends = [...named, ...places((value) => terminals.has(typeOf(value)))]
  // Google's own readers take both spellings; who passes an event on leaves that to its client.
  if (format === 'gemini' && !passed)
    ends.push(...places((value) => listOf(objectOf(value).candidates).some((one) => said(objectOf(one).finish_reason))))
  const bare = /(^|[\r\n])\s*\{/.test(new TextDecoder().decode(bytes))
  const fatal = Math.min(faults[0] ?? events.length, passed ? events.length : (broken[0] ?? events.length))
  return {
    success: ends.some((place) => place < fatal || place === faults[0]),
    error: faults.length > 0 || bare || events.some(({ data }) => data.includes('rror') || data.includes('failed')),
  }
}

/** The fields of an error object; undefined where it is not in the dialect. */
function dialectError(format: Format, status: number, body: JsonObject): boolean {
  const error = objectOf(body.error)
  if (textOf(error.message) === '') return false
  if (format === 'gemini') return error.code === status && textOf(error.status) !== ''
  if (format === 'messages') return body.type === 'error' && textOf(error.type) !== ''
  return textOf(error.type) !== ''
}

/** Whether an answer's body is an error as the dialect's own clients read it. */
export const isDialectError = (format: Format, status: number, text: string): boolean => {
  const body = parseJson(text)
  return isObject(body) && dialectError(format, status, body)
}

const internals: readonly RegExp[] = [
  /\n\s+at .*[:(]\d+/,
  /node:internal|node_modules|\/packages\/|file:\/\/\//,
  /\b(Type|Range|Reference|Syntax)Error\b/,
  /Cannot (read|set|convert|destructure|mix|delete|access)|is not (a function|iterable|a constructor|defined)/,
  /Maximum call stack|Invalid (array|string) length|Unexpected (token|end)|undefined \(reading/,
  /internal_error|The gateway failed|could not be translated/,
]

/** What of the gateway's own inside a text tells; undefined: nothing. */
export function toldOfInside(text: string, secrets: readonly string[]): string | undefined {
  for (const secret of secrets) if (text.includes(secret)) return `it tells '${secret}'`
  for (const pattern of internals) {
    const found = pattern.exec(text)
    if (found !== null) return `it tells of the inside: ${found[0].trim().slice(0, 80)}`
  }
  return undefined
}

export interface Came {
  readonly status: number
  readonly bytes: Uint8Array
  readonly text: string
}

/**
 * What is wrong with the answer to a call for a stream; undefined: nothing.
 *
 * @param sent what the upstream sent, as far as it came
 * @param ownFault its status said that the request is at fault
 */
export function wrongStream(
  client: Format,
  upstream: Format,
  sent: Uint8Array,
  came: Came,
  ownFault: boolean,
): string | undefined {
  const allowed = allowedBy(upstream, sent, client === upstream)
  if (came.status !== 200) return wrongRefusal(client, came, ownFault || allowed.error)
  const told = readTold(client, came.bytes)
  const { events } = told
  if (client !== upstream && told.broken.length > 0)
    return `an event is no JSON: ${events[told.broken[0] as number]?.data}`
  if (told.successes.length > 0 && !allowed.success) return 'it claims success, and the upstream did not'
  if (client === upstream && told.successes.length > 0) {
    // What an upstream says behind its own end came in the same piece, and nobody reads it.
    const own = readTold(upstream, sent).errors.length
    return client !== 'gemini' && told.errors.length > own ? 'success, and then an error of the gateway' : undefined
  }
  if (client === upstream) {
    // It is told again only where its clients would not hear of it.
    const last = parseJson(events.at(-1)?.data ?? '')
    if (allowed.success && told.errors.length === 0 && terminals.has(typeOf(last))) return undefined
    if (told.errors.length === 0 && typeOf(last) === 'response.failed') return undefined
  }
  if (told.errors.length > 1) return `${told.errors.length} errors`
  if (told.successes.length > 1) return `${told.successes.length} claims of success`
  if (told.successes.length > 0 && told.errors.length > 0) return 'success and an error'
  if (told.successes.length === 0 && told.errors.length === 0) return 'neither success nor an error'
  if (told.errors.length === 1) {
    // That it still lives is no word of an answer.
    const behind = events
      .slice((told.errors[0] as number) + 1)
      .map(({ data }) => typeOf(parseJson(data)))
      .filter((type) => type !== 'keepalive')
    const follows = client === 'responses' && behind[0] === 'response.failed' ? 1 : 0
    if (behind.length > follows) return 'the error is not its last word'
  }
  return undefined
}

/** What is wrong with an error status; undefined: nothing. @param ownFault the upstream said that the request is at fault */
export function wrongRefusal(client: Format, { status, text }: Came, ownFault: boolean): string | undefined {
  if (status === 500) return 'status 500'
  if (status < 400) return `status ${status}`
  if (status < 500 && !ownFault) return `status ${status} for an upstream's fault`
  if (!isDialectError(client, status, text)) return `${status} is not in the dialect`
  return undefined
}
