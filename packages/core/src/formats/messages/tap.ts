import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { parseObject } from '../../base/json/parse.ts'
import { checkJsonEnds, parseEventObject, type SseEvent } from '../../http/sse/sse.ts'
import type { MutableTap, ResponseTap, StreamTap } from '../codec.ts'
import { type Received, receivedReferences } from '../references/places.ts'
import { decodeError, errorEvent } from './error.ts'
import { decodeUsage, mergeUsage } from './usage-decode.ts'

/** Reads error, usage, stop reason and container from a whole response. */
export function tapResponse(body: JsonObject): ResponseTap {
  if (body.type !== 'message' && isObject(body.error)) return { error: decodeError(200, body) }
  const usage = decodeUsage(body.usage)
  const finish = body.stop_reason
  const received = containerOf(body)
  return { ...(usage && { usage }), ...(typeof finish === 'string' && { finish }), ...(received && { received }) }
}

/** Returns the id of the code execution container, which the next request may reuse. */
const containerOf = ({ container }: JsonObject): readonly Received[] | undefined =>
  isObject(container) ? receivedReferences('containers', [container.id]) : undefined

const eventTypes: ReadonlySet<string> = new Set([
  'ping',
  'error',
  'message_start',
  'message_delta',
  'message_stop',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
])

/** Returns the type of an event. A few servers leave out the event name; the type is then in the data, mostly but not always first. */
function typeOf({ event, data }: SseEvent): string | undefined {
  if (event !== undefined && event !== 'message') return event
  const first = /"type"\s*:\s*"([a-z_]+)"/.exec(data.slice(0, 200))?.[1]
  if (first !== undefined && eventTypes.has(first)) return first
  const { type, error } = parseEventObject(data)
  return typeof type === 'string' ? type : error === undefined ? undefined : 'error'
}

const varying: ReadonlySet<string> = new Set(['text', 'thinking', 'partial_json'])

/** Creates a tap that parses only the two or three events with usage, ids or errors. It recognises text events by their name. */
export function tapStream({ storesResponse = false }: { readonly storesResponse?: boolean } = {}): StreamTap {
  let hasStarted = false
  const usageFields: JsonObject = {}

  function count(usage: Json | undefined): void {
    mergeUsage(usageFields, usage)
    tap.usage = decodeUsage(usageFields)
  }

  function receive(ids: readonly Received[] | undefined): void {
    if (ids !== undefined) tap.received = [...(tap.received ?? []), ...ids]
  }

  /** Returns whether the client understands the event as the tap does. */
  function inspect(event: SseEvent): boolean {
    const type = typeOf(event)
    switch (type) {
      case 'ping':
        tap.canSkipSimilar = true
        return true
      case 'message_stop': {
        if (!hasStarted)
          throw new GatewayError('upstream_bad_response', 'The upstream ended its stream without a message.')
        const { type: typeInData } = parseEventObject(event.data)
        // An event of another type under this name ends nothing. Some servers leave out the type.
        if (typeof typeInData !== 'string' || typeInData === type) tap.ended = true
        return true
      }
      case 'message_start': {
        hasStarted = true
        const { message } = parseEventObject(event.data)
        if (isObject(message)) {
          count(message.usage)
          tap.received = containerOf(message)
          if (storesResponse) receive(receivedReferences('responses', [message.id]))
        }
        return true
      }
      case 'message_delta': {
        tap.started = true
        const { delta, usage } = parseEventObject(event.data)
        count(usage)
        if (isObject(delta)) {
          if (typeof delta.stop_reason === 'string') tap.finish = delta.stop_reason
          receive(containerOf(delta))
        }
        return true
      }
      case 'error': {
        // An error after the end changes nothing.
        if (tap.ended) return false
        const body = parseObject(event.data) ?? {}
        tap.error = decodeError(200, body)
        // Clients listen for the event name, and know no other form of errors.
        return event.event === 'error' && body.type === 'error' && isObject(body.error)
      }
      default:
        tap.canSkipSimilar = true
        tap.started = true
        return true
    }
  }

  const tap: MutableTap = {
    varyingMembers: varying,
    canSkipSimilar: false,
    started: false,
    ended: false,
    error: undefined,
    usage: undefined,
    finish: undefined,
    received: undefined,
    push(event) {
      tap.canSkipSimilar = false
      if (event.event === ':') return true
      // Clients parse the data of every event.
      if (event.data === '' && event.event !== 'error') return false
      checkJsonEnds(event.data)
      return inspect(event)
    },
    heartbeat: () => [ping],
    fail: (failure) => [errorEvent(failure)],
  }
  return tap
}

export const ping: SseEvent = { event: 'ping', data: '{"type":"ping"}' }
