import { GatewayError } from '../../errors.ts'
import type { ResponseTap, SseEvent, StreamTap } from '../codec.ts'
import type { ErrorInfo, JsonObject } from '../ir.ts'
import { parseObject } from '../shared/json-text.ts'
import { isObject } from '../shared/reader.ts'
import { checkWhole } from '../shared/tap.ts'
import { decodeError } from './error.ts'
import { errorEvent, ping } from './stream-encode.ts'
import { decodeUsage, mergeUsage } from './usage.ts'

export function tapResponse(body: JsonObject): ResponseTap {
  if (body.type !== 'message' && isObject(body.error)) return { error: decodeError(200, body) }
  const usage = decodeUsage(body.usage)
  const finish = body.stop_reason
  return { ...(usage && { usage }), ...(typeof finish === 'string' && { finish }) }
}

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
  const { type, error } = parseObject(data) ?? {}
  return typeof type === 'string' ? type : error === undefined ? undefined : 'error'
}

/** Parses the two or three events that tell something; text passes by its name alone. */
export function tapStream(): StreamTap {
  let begun = false
  let started = false
  let ended = false
  let error: ErrorInfo | undefined
  let counted: JsonObject = {}
  let finish: string | undefined

  function look(event: SseEvent): void {
    const type = typeOf(event)
    switch (type) {
      case 'ping':
        return
      case 'message_stop':
        if (!begun) throw new GatewayError('upstream_bad_response', 'The upstream ended its stream without an answer.')
        ended = true
        return
      case 'message_start': {
        begun = true
        const { message } = parseObject(event.data) ?? {}
        if (isObject(message)) counted = mergeUsage(counted, message.usage)
        return
      }
      case 'message_delta': {
        started = true
        const { delta, usage } = parseObject(event.data) ?? {}
        counted = mergeUsage(counted, usage)
        if (isObject(delta) && typeof delta.stop_reason === 'string') finish = delta.stop_reason
        return
      }
      case 'error':
        error = decodeError(200, parseObject(event.data) ?? {})
        return
      default:
        started = true
    }
  }

  return {
    push(event) {
      if (event.event === ':' || event.data === '') return true
      checkWhole(event.data)
      look(event)
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
    get usage() {
      return decodeUsage(counted)
    },
    get finish() {
      return finish
    },
    heartbeat: () => [ping],
    fail: (failure) => [errorEvent(failure)],
  }
}
