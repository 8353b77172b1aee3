import { GatewayError } from '../../base/errors.ts'
import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { MutableTap, ResponseTap, StreamTap } from '../codec.ts'
import { type Received, receivedReferences } from '../references/places.ts'
import { checkJsonEnds, parseEventObject, parseObject } from '../shared/json-text.ts'
import { decodeError, errorEvent } from './error.ts'
import { decodeUsage, mergeUsage } from './usage-decode.ts'

export function tapResponse(body: JsonObject): ResponseTap {
  if (body.type !== 'message' && isObject(body.error)) return { error: decodeError(200, body) }
  const usage = decodeUsage(body.usage)
  const finish = body.stop_reason
  const received = containerOf(body)
  return { ...(usage && { usage }), ...(typeof finish === 'string' && { finish }), ...(received && { received }) }
}

/** The container of code execution, which the next request may use again. */
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

/** The event's name; a few servers leave it out, and it stands in the data: mostly first, but not always. */
function typeOf({ event, data }: SseEvent): string | undefined {
  if (event !== undefined && event !== 'message') return event
  const first = /"type"\s*:\s*"([a-z_]+)"/.exec(data.slice(0, 200))?.[1]
  if (first !== undefined && eventTypes.has(first)) return first
  const { type, error } = parseEventObject(data)
  return typeof type === 'string' ? type : error === undefined ? undefined : 'error'
}

const varying: ReadonlySet<string> = new Set(['text', 'thinking', 'partial_json'])

/** Parses the two or three events that tell something; text passes by its name alone. */
export function tapStream({ storesAnswer = false }: { readonly storesAnswer?: boolean } = {}): StreamTap {
  let begun = false
  const counted: JsonObject = {}

  function count(usage: Json | undefined): void {
    mergeUsage(counted, usage)
    tap.usage = decodeUsage(counted)
  }

  function receive(ids: readonly Received[] | undefined): void {
    if (ids !== undefined) tap.received = [...(tap.received ?? []), ...ids]
  }

  /** Returns whether the client can make of it what the tap does. */
  function look(event: SseEvent): boolean {
    const type = typeOf(event)
    switch (type) {
      case 'ping':
        tap.plain = true
        return true
      case 'message_stop': {
        if (!begun) throw new GatewayError('upstream_bad_response', 'The upstream ended its stream without an answer.')
        const { type: own } = parseEventObject(event.data)
        // Another event under this name ends nothing; some servers leave it to the name.
        if (typeof own !== 'string' || own === type) tap.ended = true
        return true
      }
      case 'message_start': {
        begun = true
        const { message } = parseEventObject(event.data)
        if (isObject(message)) {
          count(message.usage)
          tap.received = containerOf(message)
          if (storesAnswer) receive(receivedReferences('responses', [message.id]))
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
        // What has ended well has not failed.
        if (tap.ended) return false
        const told = parseObject(event.data) ?? {}
        tap.error = decodeError(200, told)
        // Clients listen for the name; and what other servers have in its place, they do not know.
        return event.event === 'error' && told.type === 'error' && isObject(told.error)
      }
      default:
        tap.plain = true
        tap.started = true
        return true
    }
  }

  const tap: MutableTap = {
    varying,
    plain: false,
    started: false,
    ended: false,
    error: undefined,
    usage: undefined,
    finish: undefined,
    received: undefined,
    push(event) {
      tap.plain = false
      if (event.event === ':') return true
      // Clients parse the data of every event.
      if (event.data === '' && event.event !== 'error') return false
      checkJsonEnds(event.data)
      return look(event)
    },
    heartbeat: () => [ping],
    fail: (failure) => [errorEvent(failure)],
  }
  return tap
}

export const ping: SseEvent = { event: 'ping', data: '{"type":"ping"}' }
