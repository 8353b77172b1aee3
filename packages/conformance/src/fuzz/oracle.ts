import { readStream, type StreamReading } from '../base/client-events.ts'
import { blamesClient, type ClientFormat, clientFormatRows } from '../base/client-formats.ts'
import { isObject, type Json, listOf, objectOf, parseJson, textOf } from '../base/json.ts'
import type { Format } from '../base/recorded-traffic.ts'

// Rules for valid responses, derived from the formats alone: no gateway code is used here.

const typeOf = (value: Json | undefined): string => textOf(objectOf(value).type)
const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== '' && value !== false

const terminals: ReadonlySet<string> = new Set(['message_stop', 'response.completed', 'response.incomplete'])

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

const summarizeStream = (format: ClientFormat, bytes: Uint8Array): StreamReading =>
  readStream(format, new TextDecoder().decode(bytes))

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

/** Returns true if the body is an error that the dialect's own clients can read. */
/** @param name the error's name outside of its body */
export const isDialectError = (format: ClientFormat, status: number, text: string, name = ''): boolean => {
  const body = parseJson(text)
  return isObject(body) && clientFormatRows[format].readError(body, { status, name }) !== undefined
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
  /** Name of an error outside of its body. */
  readonly name?: string
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
    const follows = behind[0] !== undefined && behind[0] === clientFormatRows[client].followsError ? 1 : 0
    if (behind.length > follows) return 'the error is not the last event'
  }
  return undefined
}

/** Returns the error in an error response, or undefined. @param ownFault the upstream blamed the request */
export function errorDefect(
  client: ClientFormat,
  { status, text, name }: ClientResponse,
  ownFault: boolean,
): string | undefined {
  if (status === 500) return 'status 500'
  if (status < 400) return `status ${status}`
  if (blamesClient(client, status) && !ownFault) return `status ${status} for an upstream error`
  if (!isDialectError(client, status, text, name)) return `status ${status} has a body outside of the dialect`
  return undefined
}
