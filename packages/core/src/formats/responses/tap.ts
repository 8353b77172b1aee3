import type { ErrorInfo } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, nestsDeeper } from '../../base/json/json.ts'
import { parseObject } from '../../base/json/parse.ts'
import { checkJsonEnds, parseEventObject, type SseEvent } from '../../http/sse/sse.ts'
import type { MutableTap, ResponseTap, StreamTap, TapOptions } from '../codec.ts'
import { type Received, receivedReferences } from '../references/places.ts'
import { decodeError, errorEvents } from './error.ts'
import { usageOf } from './usage-decode.ts'

/** Reads a whole response. A failed response is a response of this format; only a body with an error and no output is an error. */
export function tapResponse(body: JsonObject): ResponseTap {
  const out: ResponseTap = {}
  if (!Array.isArray(body.output) && body.error) return { error: decodeError(200, body) }
  const usage = usageOf(body)
  if (usage !== undefined) out.usage = usage
  const finish = finishReasonOf(body)
  if (finish !== undefined) out.finish = finish
  const received = containersIn(body)
  if (received !== undefined) out.received = received
  return out
}

/** Returns the containers of tools that the provider ran, which a later request may use again. */
function containersIn({ output }: JsonObject): readonly Received[] | undefined {
  if (!Array.isArray(output)) return undefined
  const ids: (Json | undefined)[] = []
  for (const item of output)
    if (isObject(item)) ids.push(item.container_id, isObject(item.environment) ? item.environment.container_id : null)
  return receivedReferences('containers', ids)
}

function finishReasonOf(response: JsonObject): string | undefined {
  const { status, incomplete_details: details } = response
  if (isObject(details) && typeof details.reason === 'string') return details.reason
  return typeof status === 'string' ? status : undefined
}

const startEvents: ReadonlySet<string> = new Set(['response.created', 'response.queued', 'response.in_progress'])
const finalEvents: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'response.done',
  'error',
])

/** Half of the nesting that `JSON.stringify` survives. */
const maxLevels = 2000

const varying: ReadonlySet<string> = new Set([
  'delta',
  'obfuscation',
  'sequence_number',
  'output_index',
  'content_index',
  'summary_index',
])

/** Parses the first and the final events of a stream. Of all others it reads only the type. */
export function tapStream(_options: TapOptions): StreamTap {
  /** The data of the first event, parsed only if the stream fails. */
  let first: string | undefined
  /** The data of the last event, for its sequence number. */
  let last = ''
  /** Returns the data of the last event if it was not pushed. */
  let unseen: (() => string) | undefined
  /** The error of an `error` event after the start: `response.failed` must follow, for which some clients wait. */
  let pendingError: ErrorInfo | undefined

  const lastNumber = (): number => numberIn(unseen?.() ?? last)

  function readFinalEvent(found: string, data: string): void {
    const event = parseEventObject(data)
    // Clients trust the type in the data. The name alone ends nothing, and a nested object may have a type too.
    const own = typeof event.type === 'string' ? event.type : found
    const type = finalEvents.has(own) ? own : event.error ? 'error' : undefined
    if (type === undefined) return
    const response = isObject(event.response) ? event.response : {}
    tap.usage = usageOf(response) ?? tap.usage
    tap.received = containersIn(response) ?? tap.received
    if (type === 'error' && tap.started) {
      pendingError = decodeError(200, event)
      tap.isFailing = true
    } else if (type === 'error' || type === 'response.failed' || response.error || response.status === 'failed') {
      tap.error ??= pendingError ?? decodeError(200, event)
      tap.finish = 'failed'
    }
    if (type === 'error' || tap.error !== undefined) return
    tap.finish = finishReasonOf(response) ?? type.slice('response.'.length)
    tap.ended = true
  }

  const tap: MutableTap = {
    varyingMembers: varying,
    canSkipSimilar: false,
    started: false,
    ended: false,
    error: undefined,
    usage: undefined,
    finish: undefined,
    isFailing: false,
    received: undefined,
    push(event) {
      const { data } = event
      tap.canSkipSimilar = false
      // Clients parse the data of every event, so an event without data is withheld.
      if (data === '' && event.event !== ':') return false
      if (event.event === ':' || data === '[DONE]') return pendingError === undefined
      checkJsonEnds(data)
      const type = typeWithError(event)
      if (pendingError !== undefined && type !== 'response.failed') return false
      // A completed response cannot end again.
      if (tap.ended && finalEvents.has(type)) return false
      last = data
      unseen = undefined
      tap.canSkipSimilar = !startEvents.has(type) && !finalEvents.has(type)
      if (startEvents.has(type)) first ??= data
      else if (finalEvents.has(type)) readFinalEvent(type, data)
      else if (type !== 'keepalive' && type !== 'ping') tap.started = true
      if (tap.ended) tap.started = true
      return true
    },
    onSkipped(read) {
      unseen = read
    },
    heartbeat: () => [keepAliveComment],
    fail(info) {
      // Data that nests too deep cannot be serialized again.
      const event = first === undefined || nestsDeeper(first, maxLevels) ? undefined : parseObject(first)
      const response = isObject(event?.response) ? event.response : {}
      const events = errorEvents(pendingError ?? info, response, lastNumber() + 1)
      return pendingError === undefined ? events : events.slice(1)
    },
  }
  return tap
}

/** Returns the event's type: most servers name it in the `event` line, others at the start of the data. */
function typeOf({ event, data }: SseEvent): string {
  if (event !== undefined && event !== '' && event !== 'message') return isName(event) ? event : typeIn(data, event)
  const match = /"type"\s*:\s*"((?:response\.[^"]*|error|keepalive|ping))"/.exec(data)
  return match?.[1] ?? ''
}

/** Returns `error` for any event with an error, as clients treat it. Final events keep their type, which is more precise. */
function typeWithError(event: SseEvent): string {
  const type = typeOf(event)
  if (finalEvents.has(type) || (type !== '' && !errorMember.test(event.data))) return type
  return untypedError(event.data) || type
}

/** Matches an `error` member. Most responses have `"error":null`. */
const errorMember = /"error"\s*:\s*(?!null\b)\S/

const isName = (event: string): boolean =>
  event.startsWith('response.') || event === 'error' || event === 'keepalive' || event === 'ping'

/** Returns the type in the data of an event with an unknown name. */
function typeIn(data: string, name: string): string {
  const { type } = parseObject(data) ?? {}
  return typeof type === 'string' ? type : name
}

/** Detects an error without a type, as chat writes it. */
const untypedError = (data: string): string => (data.includes('"error"') && parseObject(data)?.error ? 'error' : '')

function numberIn(data: string): number {
  const key = '"sequence_number"'
  const at = data.lastIndexOf(key)
  const match = at < 0 ? null : /^\s*:\s*(\d+)/.exec(data.slice(at + key.length, at + key.length + 24))
  return match === null ? 0 : Number(match[1])
}

/** Follows the final event of a completed stream. Servers differ on whether to send it; every client accepts it. */
export const doneEvent: SseEvent = { data: '[DONE]' }

/**
 * Keeps a stream alive. OpenAI's `keepalive` event fails in clients that validate event types (@ai-sdk/xai), and a second
 * `response.in_progress` makes OpenAI's SDK discard the output so far.
 */
export const keepAliveComment: SseEvent = { event: ':', data: 'keep-alive' }
