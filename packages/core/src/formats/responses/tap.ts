import type { ErrorInfo } from '../../base/errors.ts'
import { isObject } from '../../base/json/object.ts'
import { nestsDeeper } from '../../base/json/scan.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { MutableTap, ResponseTap, StreamTap, TapOptions } from '../codec.ts'
import type { BillableUnits } from '../ir.ts'
import { type Received, receivedReferences } from '../references/places.ts'
import { checkJsonEnds, parseEventObject, parseObject } from '../shared/json-text.ts'
import { decodeError, errorEvents } from './error.ts'
import { decodeUsage } from './usage-decode.ts'
/** A response that failed is an answer of this format; only an error in its place is one. */
export function tapResponse(body: JsonObject): ResponseTap {
  const out: ResponseTap = {}
  if (!Array.isArray(body.output) && body.error) return { error: decodeError(200, body) }
  const usage = decodeUsage(body.usage)
  if (usage !== undefined) out.usage = usage
  const units = searchesIn(body)
  if (units !== undefined) out.units = units
  const finish = finishWord(body)
  if (finish !== undefined) out.finish = finish
  const received = containersIn(body)
  if (received !== undefined) out.received = received
  return out
}

/** The containers of tools that the provider ran, which a later request may use again. */
function containersIn({ output }: JsonObject): readonly Received[] | undefined {
  if (!Array.isArray(output)) return undefined
  const ids: (Json | undefined)[] = []
  for (const item of output)
    if (isObject(item)) ids.push(item.container_id, isObject(item.environment) ? item.environment.container_id : null)
  return receivedReferences('containers', ids)
}

/** Searches that the provider made for the model. */
function searchesIn({ output }: JsonObject): BillableUnits | undefined {
  if (!Array.isArray(output)) return undefined
  const searches = output.filter((item) => isObject(item) && item.type === 'web_search_call').length
  return searches === 0 ? undefined : { searches }
}

function finishWord(response: JsonObject): string | undefined {
  const { status, incomplete_details: details } = response
  if (isObject(details) && typeof details.reason === 'string') return details.reason
  return typeof status === 'string' ? status : undefined
}

const beginnings: ReadonlySet<string> = new Set(['response.created', 'response.queued', 'response.in_progress'])
const endings: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'response.done',
  'error',
])

/** Half of what JSON.stringify bears. */
const mostLevels = 2000

const varying: ReadonlySet<string> = new Set([
  'delta',
  'obfuscation',
  'sequence_number',
  'output_index',
  'content_index',
  'summary_index',
])

/** Parses the events that begin and end a stream; of all others only the name is read. */
export function tapStream(_options: TapOptions): StreamTap {
  /** The first event, unread until it is needed. */
  let first: string | undefined
  /** The last event, for its number. */
  let last = ''
  /** Reads the last event, where it has not been pushed. */
  let unseen: (() => string) | undefined
  /** An `error` event within an answer: `response.failed` is still to come, and some clients wait for it. */
  let announced: ErrorInfo | undefined

  const lastNumber = (): number => numberIn(unseen?.() ?? last)

  function readEnd(found: string, data: string): void {
    const event = parseEventObject(data)
    // Clients go by what the data says: under this name alone it ends nothing, and something further in may have a type too.
    const own = typeof event.type === 'string' ? event.type : found
    const type = endings.has(own) ? own : event.error ? 'error' : undefined
    if (type === undefined) return
    const response = isObject(event.response) ? event.response : {}
    tap.usage = decodeUsage(response.usage) ?? tap.usage
    tap.units = searchesIn(response) ?? tap.units
    tap.received = containersIn(response) ?? tap.received
    if (type === 'error' && tap.started) {
      announced = decodeError(200, event)
      tap.failing = true
    } else if (type === 'error' || type === 'response.failed' || response.error || response.status === 'failed') {
      tap.error ??= announced ?? decodeError(200, event)
      tap.finish = 'failed'
    }
    if (type === 'error' || tap.error !== undefined) return
    tap.finish = finishWord(response) ?? type.slice('response.'.length)
    tap.ended = true
  }

  const tap: MutableTap = {
    varying,
    plain: false,
    started: false,
    ended: false,
    error: undefined,
    usage: undefined,
    finish: undefined,
    failing: false,
    units: undefined,
    received: undefined,
    push(event) {
      const { data } = event
      tap.plain = false
      // Behind its `error` event an answer can only have failed.
      // Clients parse the data of every event.
      if (data === '' && event.event !== ':') return false
      if (event.event === ':' || data === '[DONE]') return announced === undefined
      checkJsonEnds(data)
      const type = typeWithError(event)
      if (announced !== undefined && type !== 'response.failed') return false
      // What has ended well does not end once more.
      if (tap.ended && endings.has(type)) return false
      last = data
      unseen = undefined
      tap.plain = !beginnings.has(type) && !endings.has(type)
      if (beginnings.has(type)) first ??= data
      else if (endings.has(type)) readEnd(type, data)
      else if (type !== 'keepalive' && type !== 'ping') tap.started = true
      if (tap.ended) tap.started = true
      return true
    },
    passed(read) {
      unseen = read
    },
    heartbeat: () => [comment],
    fail(info) {
      // What nests too deep could not be written again.
      const event = first === undefined || nestsDeeper(first, mostLevels) ? undefined : parseObject(first)
      const response = isObject(event?.response) ? event.response : {}
      const events = errorEvents(announced ?? info, response, lastNumber() + 1)
      return announced === undefined ? events : events.slice(1)
    },
  }
  return tap
}

/** The event's name: with most servers in front of its data, else at its beginning. Clients go by the data. */
function typeOf({ event, data }: SseEvent): string {
  if (event !== undefined && event !== '' && event !== 'message') return isName(event) ? event : typeIn(data, event)
  const match = /"type"\s*:\s*"((?:response\.[^"]*|error|keepalive|ping))"/.exec(data)
  return match?.[1] ?? ''
}

/** Clients take any event with an error in it for one, whatever it is called; the names of endings say more than that. */
function typeWithError(event: SseEvent): string {
  const type = typeOf(event)
  if (endings.has(type) || (type !== '' && !errorMember.test(event.data))) return type
  return untypedError(event.data) || type
}

/** Most responses say that there is none. */
const errorMember = /"error"\s*:\s*(?!null\b)\S/

const isName = (event: string): boolean =>
  event.startsWith('response.') || event === 'error' || event === 'keepalive' || event === 'ping'

/** What an event of another name says of itself. */
function typeIn(data: string, name: string): string {
  const { type } = parseObject(data) ?? {}
  return typeof type === 'string' ? type : name
}

/** Also where it is written as for chat. */
const untypedError = (data: string): string => (data.includes('"error"') && parseObject(data)?.error ? 'error' : '')

function numberIn(data: string): number {
  const key = '"sequence_number"'
  const at = data.lastIndexOf(key)
  const match = at < 0 ? null : /^\s*:\s*(\d+)/.exec(data.slice(at + key.length, at + key.length + 24))
  return match === null ? 0 : Number(match[1])
}

/** Follows a good ending. Its servers disagree whether it must be there; no client minds it. */
export const doneEvent: SseEvent = { data: '[DONE]' }

/**
 * Keeps a stream alive. OpenAI's own `keepalive` event fails in clients that validate event types (@ai-sdk/xai), and a second
 * `response.in_progress` makes OpenAI's SDK forget the output so far.
 */
export const comment: SseEvent = { event: ':', data: 'keep-alive' }
