import type { ErrorInfo } from '../../base/errors.ts'
import { isObject } from '../../base/json/json.ts'
import { parseObject } from '../../base/json/parse.ts'
import type { Codec, StreamTap } from '../../formats/codec.ts'
import { exceptionEvent, isException, streamException } from '../../formats/converse/error.ts'
import type { StreamEncoder } from '../../formats/stream-codec.ts'
import type { SseEvent } from '../../http/sse/sse.ts'

/** Returns a codec whose errors within streams are AWS's exceptions. Everything else is that of its format. */
export const withExceptions = (codec: Codec): Codec => ({
  ...codec,
  tapStream: (options) => tapWithExceptions(codec.tapStream(options)),
  encodeStream: (context) => encoderWithExceptions(codec.encodeStream(context)),
})

/** Reads exceptions, which no format of a model's vendor has. */
function tapWithExceptions(tap: StreamTap): StreamTap {
  let failure: ErrorInfo | undefined
  // Everything else is read from the tap itself, whose fields change.
  return Object.defineProperties(Object.create(tap) as StreamTap, {
    error: { get: () => failure ?? tap.error },
    fail: { value: (error: ErrorInfo) => [exceptionEvent(error)] },
    push: {
      value(event: SseEvent): boolean {
        if (isException(event.event)) {
          // An error after the end changes nothing.
          if (tap.ended) return false
          failure = streamException(event.event ?? '', messageIn(event.data)).info
          // Refused credentials are the gateway's own, and are not described to the client.
          return failure.kind !== 'upstream_auth'
        }
        const passes = tap.push(event)
        // The format's own error becomes an exception.
        return passes && tap.error === undefined
      },
    },
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
