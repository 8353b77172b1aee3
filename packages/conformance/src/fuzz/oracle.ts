import { isObject, type Json, type JsonObject, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import type { ClientFormat, Format } from '../base/recorded-traffic.ts'

// Rules for valid responses, derived from the formats alone: no gateway code is used here.

/** A server-sent event as the standard defines it. */
export interface SseEvent {
  readonly event: string
  readonly data: string
  /** False if the input ended before the event's blank line. */
  readonly whole: boolean
}

/** Parses every event with data by the standard's algorithm, including an unfinished one at the end. */
export function readSse(bytes: Uint8Array): SseEvent[] {
  // The decoder removes one byte order mark, the grammar allows another.
  const text = new TextDecoder().decode(bytes).replace(/^\uFEFF/, '')
  const sent: SseEvent[] = []
  let event = ''
  let data: string[] = []
  const dispatch = (whole: boolean): void => {
    if (data.length > 0) sent.push({ event, data: data.join('\n'), whole })
    event = ''
    data = []
  }
  const lines = text.split(/\r\n|\n|\r/)
  // The text after the last line end is not a line yet.
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

/** Returns the objects of a client's stream as events. Ollama's clients read lines. */
const readClientStream = (format: ClientFormat, bytes: Uint8Array): SseEvent[] =>
  format === 'ollama'
    ? new TextDecoder()
        .decode(bytes)
        .split('\n')
        .flatMap((data, at, { length }) => (data.trim() === '' ? [] : [{ event: '', data, whole: at < length - 1 }]))
    : readSse(bytes)

const typeOf = (value: Json | undefined): string => textOf(objectOf(value).type)
/**
 * Returns the type of an event: some readers use its name, others its data. Empty if the two contradict or the data is
 * not JSON.
 */
function wordOf(value: Json | undefined, event: string): string {
  const { type } = objectOf(value)
  if (value === undefined || (typeof type === 'string' && event !== '' && type !== event)) return ''
  return textOf(type) === '' ? event : textOf(type)
}
const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== '' && value !== false

/** Events by which a client of the format considers a response complete. */
const successes: Readonly<Record<ClientFormat, (data: string, value: Json | undefined, event: string) => boolean>> = {
  chat: (data) => data.trim() === '[DONE]',
  // Clients of Messages ignore events without a name.
  messages: (_, value, event) => event === 'message_stop' && wordOf(value, event) === event,
  gemini: (_, value) =>
    listOf(objectOf(value).candidates).some((one) => isSet(objectOf(one).finishReason)) ||
    (objectOf(objectOf(value).promptFeedback).blockReason ?? undefined) !== undefined,
  responses: (_, value, event) => ['response.completed', 'response.incomplete'].includes(wordOf(value, event)),
  ollama: (_, value) => objectOf(value).done === true,
}

const terminals: ReadonlySet<string> = new Set(['message_stop', 'response.completed', 'response.incomplete'])

/** Returns true for an event that a client of the format considers an error. */
const errors: Readonly<Record<ClientFormat, (value: Json | undefined, event: string) => boolean>> = {
  chat: (value, event) => Boolean(objectOf(value).error) || event === 'error',
  // Clients of Messages ignore events without a name.
  messages: (_, event) => event === 'error',
  gemini: (value) => Boolean(objectOf(value).error),
  responses: (value, event) => wordOf(value, event) === 'error' || Boolean(objectOf(value).error),
  ollama: (value) => 'error' in objectOf(value),
}
/**
 * Returns true for an event that an upstream may have meant as an error.
 *
 * @param passed the event reaches the client unchanged, which decides about a contradictory name itself
 */
function isFault(format: Format, value: Json | undefined, event: string, passed: boolean): boolean {
  if (event === 'error') return true
  const reported = Boolean(objectOf(value).error)
  if (format === 'messages') return event === '' && (typeOf(value) === 'error' || (typeOf(value) === '' && reported))
  return (typeOf(value) === 'error' || reported) && (format !== 'responses' || !passed || event === '')
}

export interface StreamSummary {
  readonly events: readonly SseEvent[]
  /** Indexes of the events that claim success, of errors, and of those with invalid JSON. */
  readonly successes: readonly number[]
  readonly errors: readonly number[]
  readonly broken: readonly number[]
}

function summarizeStream(format: ClientFormat, bytes: Uint8Array): StreamSummary {
  const events = readClientStream(format, bytes)
  const reported = { events, successes: [] as number[], errors: [] as number[], broken: [] as number[] }
  for (const [place, { data, event }] of events.entries()) {
    // Whitespace and a byte order mark around the JSON are ignored.
    const parsed = parseJson(data.trim())
    // Gemini streams may be one array, and some servers send several elements per event.
    const values = Array.isArray(parsed) ? parsed : [parsed]
    if (values.some((value) => successes[format](data, value, event))) reported.successes.push(place)
    else if (values.some((value) => errors[format](value, event))) reported.errors.push(place)
    if (parsed === undefined && !['', '[DONE]'].includes(data.trim())) reported.broken.push(place)
  }
  return reported
}

/** Results that an upstream's bytes allow. */
export interface AllowedResult {
  /** The bytes contain the terminal event, complete or lacking only its blank line. */
  readonly success: boolean
  /** The upstream reported an error. */
  readonly error: boolean
}

/** @param passed the client receives the upstream's own events and detects defects in them itself */
function allowedBy(format: Format, bytes: Uint8Array, passed: boolean): AllowedResult {
  const { events, successes: named, broken } = summarizeStream(format, bytes)
  const places = (holds: (value: Json | undefined, event: string) => boolean): number[] =>
    events.flatMap(({ data, event }, place) => (holds(parseJson(data.trim()), event) ? [place] : []))
  const faults = places((value, event) => isFault(format, value, event, passed))
  // Some servers omit the event name or use another one.
  const ends = [...named, ...places((value) => terminals.has(typeOf(value)))]
  // Google's readers accept both spellings; a pass-through leaves that to the client.
  if (format === 'gemini' && !passed)
    ends.push(
      ...places((value) => listOf(objectOf(value).candidates).some((one) => isSet(objectOf(one).finish_reason))),
    )
  const bare = /(^|[\r\n])\s*\{/.test(new TextDecoder().decode(bytes))
  const fatal = Math.min(faults[0] ?? events.length, passed ? events.length : (broken[0] ?? events.length))
  return {
    success: ends.some((place) => place < fatal || place === faults[0]),
    error: faults.length > 0 || bare || events.some(({ data }) => data.includes('rror') || data.includes('failed')),
  }
}

/** Returns true if the error object conforms to the dialect. */
function dialectError(format: ClientFormat, status: number, body: JsonObject): boolean {
  if (format === 'ollama') return textOf(body.error) !== ''
  const error = objectOf(body.error)
  if (textOf(error.message) === '') return false
  if (format === 'gemini') return error.code === status && textOf(error.status) !== ''
  if (format === 'messages') return body.type === 'error' && textOf(error.type) !== ''
  return textOf(error.type) !== ''
}

/** Returns true if the body is an error that the dialect's own clients can read. */
export const isDialectError = (format: ClientFormat, status: number, text: string): boolean => {
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

/** Returns the internal detail that a text leaks, or undefined. */
export function internalLeak(text: string, secrets: readonly string[]): string | undefined {
  for (const secret of secrets) if (text.includes(secret)) return `it tells '${secret}'`
  for (const pattern of internals) {
    const found = pattern.exec(text)
    if (found !== null) return `the text leaks an internal detail: ${found[0].trim().slice(0, 80)}`
  }
  return undefined
}

export interface ClientResponse {
  readonly status: number
  readonly bytes: Uint8Array
  readonly text: string
}

/**
 * Returns the error in the response to a streaming call, or undefined.
 *
 * @param sent bytes that the upstream sent
 * @param ownFault the upstream's status blamed the request
 */
export function streamDefect(
  client: ClientFormat,
  upstream: Format,
  sent: Uint8Array,
  came: ClientResponse,
  ownFault: boolean,
): string | undefined {
  const allowed = allowedBy(upstream, sent, client === upstream)
  if (came.status !== 200) return errorDefect(client, came, ownFault || allowed.error)
  const reported = summarizeStream(client, came.bytes)
  const { events } = reported
  if (client !== upstream && reported.broken.length > 0)
    return `an event is not JSON: ${events[reported.broken[0] as number]?.data}`
  if (reported.successes.length > 0 && !allowed.success) return 'the stream claims success, but the upstream did not'
  if (client === upstream && reported.successes.length > 0) {
    // Events after the upstream's end may arrive in the same chunk and are not read.
    const own = summarizeStream(upstream, sent).errors.length
    return client !== 'gemini' && reported.errors.length > own
      ? 'the stream claims success before an error of the gateway'
      : undefined
  }
  if (client === upstream) {
    // A second error is allowed only where clients would not recognise the first.
    const last = parseJson(events.at(-1)?.data ?? '')
    if (allowed.success && reported.errors.length === 0 && terminals.has(typeOf(last))) return undefined
    if (reported.errors.length === 0 && typeOf(last) === 'response.failed') return undefined
  }
  if (reported.errors.length > 1) return `${reported.errors.length} errors`
  if (reported.successes.length > 1) return `the stream claims success ${reported.successes.length} times`
  if (reported.successes.length > 0 && reported.errors.length > 0) return 'the stream contains success and an error'
  if (reported.successes.length === 0 && reported.errors.length === 0)
    return 'the stream contains neither success nor an error'
  if (reported.errors.length === 1) {
    // Heartbeats are not part of a response.
    const behind = events
      .slice((reported.errors[0] as number) + 1)
      .map(({ data }) => typeOf(parseJson(data)))
      .filter((type) => type !== 'keepalive')
    const follows = client === 'responses' && behind[0] === 'response.failed' ? 1 : 0
    if (behind.length > follows) return 'the error is not the last event'
  }
  return undefined
}

/** Returns the error in an error response, or undefined. @param ownFault the upstream blamed the request */
export function errorDefect(
  client: ClientFormat,
  { status, text }: ClientResponse,
  ownFault: boolean,
): string | undefined {
  if (status === 500) return 'status 500'
  if (status < 400) return `status ${status}`
  if (status < 500 && !ownFault) return `status ${status} for an upstream error`
  if (!isDialectError(client, status, text)) return `status ${status} has a body outside of the dialect`
  return undefined
}
