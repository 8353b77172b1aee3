import { parseObject } from '../../base/json/parse.ts'
import { checkJsonEnds, parseEventObject, type SseEvent } from '../../http/sse/sse.ts'
import type { MutableTap, StreamTap } from '../codec.ts'
import { exceptionEvent, isException, streamException } from './error.ts'
import { usageOf } from './usage-decode.ts'

/** Creates a tap that parses only the two events with the stop reason and the usage. It recognises all events by their names. */
export function tapStream(): StreamTap {
  function inspect({ event: type, data }: SseEvent): void {
    if (isException(type)) {
      const { message, originalMessage } = parseObject(data) ?? {}
      const text = typeof message === 'string' ? message : typeof originalMessage === 'string' ? originalMessage : ''
      tap.error = streamException(type ?? '', text).info
      return
    }
    checkJsonEnds(data)
    switch (type) {
      case 'messageStart':
        return
      case 'messageStop': {
        tap.started = true
        const { stopReason } = parseEventObject(data)
        if (typeof stopReason === 'string') tap.finish = stopReason
        return
      }
      case 'metadata': {
        tap.usage = usageOf(parseEventObject(data))
        // Without a stop reason, the message is not whole.
        tap.ended = tap.finish !== undefined
        return
      }
      default:
        tap.started = true
    }
  }

  const tap: MutableTap = {
    started: false,
    ended: false,
    error: undefined,
    usage: undefined,
    finish: undefined,
    push(received) {
      // An error after the end changes nothing.
      if (tap.ended && isException(received.event)) return false
      inspect(received)
      // Refused credentials are the gateway's own, and are not described to the client.
      return tap.error?.kind !== 'upstream_auth'
    },
    // The format has no event for that: the framing writes its own.
    heartbeat: () => [],
    fail: (error) => [exceptionEvent(error)],
  }
  return tap
}
