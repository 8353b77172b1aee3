import type { Units } from '../../plugin.ts'
import type { ResponseTap, SseEvent, StreamTap, TargetTraits } from '../codec.ts'
import type { ErrorInfo, JsonObject, Usage } from '../ir.ts'
import { parseObject } from '../shared/json-text.ts'
import { isObject } from '../shared/reader.ts'
import { checkWhole } from '../shared/tap.ts'
import { decodeError } from './error.ts'
import { comment, errorEvents, keepalive } from './event.ts'
import { decodeUsage } from './usage.ts'

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
  return out
}

/** Searches that the provider made for the model. */
function searchesIn({ output }: JsonObject): Units | undefined {
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

/** Parses the events that begin and end a stream; of all others only the name is read. */
export function tapStream(_options: { withholdUsage: boolean; target: TargetTraits }): StreamTap {
  /** The first event, unread until it is needed. */
  let first: string | undefined
  /** The last event, for its number. */
  let last = ''
  /** Events sent in between by the gateway itself. */
  let own = 0
  let started = false
  let ended = false
  let error: ErrorInfo | undefined
  /** An `error` event within an answer: `response.failed` is still to come, and some clients wait for it. */
  let announced: ErrorInfo | undefined
  let usage: Usage | undefined
  let units: Units | undefined
  let finish: string | undefined

  function readEnd(type: string, data: string): void {
    const event = parseObject(data)
    if (event === undefined) return
    const response = isObject(event.response) ? event.response : {}
    usage = decodeUsage(response.usage) ?? usage
    units = searchesIn(response) ?? units
    if (type === 'error' && started) announced = decodeError(200, event)
    else if (type === 'error' || type === 'response.failed' || response.error || response.status === 'failed') {
      error ??= announced ?? decodeError(200, event)
      finish = 'failed'
    }
    if (type === 'error' || error !== undefined) return
    finish = finishWord(response) ?? type.slice('response.'.length)
    ended = true
  }

  return {
    push(event) {
      const { data } = event
      if (event.event === ':' || data === '' || data === '[DONE]') return true
      checkWhole(data)
      const type = typeOf(event)
      // Behind its `error` event an answer can only have failed.
      if (announced !== undefined && type !== 'response.failed') return false
      last = data
      own = 0
      if (beginnings.has(type)) first ??= data
      else if (endings.has(type)) readEnd(type, data)
      else if (type !== 'keepalive' && type !== 'ping') started = true
      if (ended) started = true
      return true
    },
    get started() {
      return started
    },
    get ended() {
      return ended
    },
    get error() {
      return error
    },
    get failing() {
      return announced !== undefined
    },
    get usage() {
      return usage
    },
    get units() {
      return units
    },
    get finish() {
      return finish
    },
    // Clients take no event before the first.
    heartbeat: () => [first === undefined ? comment : keepalive(numberIn(last) + ++own)],
    fail(info) {
      const event = first === undefined ? undefined : parseObject(first)
      const response = isObject(event?.response) ? event.response : {}
      const events = errorEvents(announced ?? info, response, numberIn(last) + own + 1)
      return announced === undefined ? events : events.slice(1)
    },
  }
}

/** The event's name: with most servers in front of its data, else at its beginning. */
function typeOf({ event, data }: SseEvent): string {
  if (event !== undefined && event !== '' && event !== 'message') return event
  const match = /"type"\s*:\s*"((?:response\.[^"]*|error|keepalive|ping))"/.exec(data)
  return match?.[1] ?? ''
}

function numberIn(data: string): number {
  const key = '"sequence_number"'
  const at = data.lastIndexOf(key)
  const match = at < 0 ? null : /^\s*:\s*(\d+)/.exec(data.slice(at + key.length, at + key.length + 24))
  return match === null ? 0 : Number(match[1])
}
