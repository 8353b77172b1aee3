import type { ErrorInfo } from '../../base/errors.ts'
import { isObject } from '../../base/json/json.ts'
import { parseObject } from '../../base/json/parse.ts'
import type { Codec, MutableTap, StreamTap } from '../../formats/codec.ts'
import { exceptionEvent, isException, streamException } from '../../formats/converse/error.ts'
import type { StreamEncoder } from '../../formats/stream-codec.ts'
import type { SseEvent } from '../../http/sse/sse.ts'

/** Returns a codec whose errors within streams are AWS's exceptions. Everything else is that of its format. */
export const withExceptions = (codec: Codec): Codec => ({
  ...codec,
  tapStream: (options) => tapWithExceptions(codec.tapStream(options)),
  encodeStream: (context) => encoderWithExceptions(codec.encodeStream(context)),
})

/** Changes a tap: it also reads exceptions, which no format of a model's vendor has, and writes its errors as exceptions. */
function tapWithExceptions(tap: MutableTap): StreamTap {
  const push = tap.push.bind(tap)
  const pushWithExceptions = (event: SseEvent): boolean => {
    if (!isException(event.event)) {
      const passes = push(event)
      // The format's own error becomes an exception.
      return passes && tap.error === undefined
    }
    // An error after the end changes nothing.
    if (tap.ended) return false
    tap.error = streamException(event.event ?? '', messageIn(event.data)).info
    // Refused credentials are the gateway's own, and are not described to the client.
    return tap.error.kind !== 'upstream_auth'
  }
  return Object.assign(tap, {
    push: pushWithExceptions,
    fail: (error: ErrorInfo) => [exceptionEvent(error)],
  })
}

function messageIn(data: string): string {
  const { message, originalMessage } = parseObject(data) ?? {}
  return typeof message === 'string' ? message : typeof originalMessage === 'string' ? originalMessage : ''
}

function encoderWithExceptions(encoder: StreamEncoder): StreamEncoder {
  return {
    push: (event) => (event.type === 'error' ? [exceptionEvent(event.error)] : encoder.push(event).map(asException)),
    end: (complete) => encoder.end(complete).map(asException),
    heartbeat: () => encoder.heartbeat(),
  }
}

/** An encoder writes an error of its own for a response that ended in one. */
function asException(event: SseEvent): SseEvent {
  if (event.event !== 'error' && !event.data.startsWith('{"error":')) return event
  const { error } = parseObject(event.data) ?? {}
  const message = isObject(error) && typeof error.message === 'string' ? error.message : 'The response failed.'
  return exceptionEvent({ kind: 'upstream_error', status: 502, message })
}
