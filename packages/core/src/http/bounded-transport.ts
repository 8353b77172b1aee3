import { ignore, quietly, settleWithin, typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import type { Signal } from '../base/signal.ts'
import type { Transport, TransportResponse } from './transport.ts'

const known = new WeakMap<Transport, Transport>()

/**
 * A host's transport whose promises settle as soon as the signal is aborted, whether or not it listens to that: every time limit of
 * a call upstream aborts its signal. A response that comes later is discarded, and one that is none is an upstream error.
 */
export function boundedTransport(transport: Transport): Transport {
  if (transport.settlesOnAbort === true) return transport
  let bounded = known.get(transport)
  if (bounded === undefined) {
    bounded = async (request) => {
      const { signal } = request
      return boundedResponse(await untilAborted<unknown>(transport(request), signal, discard), signal)
    }
    known.set(transport, bounded)
  }
  return bounded
}

/** Rejects as transports do when they are aborted; what comes later goes to `onLate`. */
async function untilAborted<T>(pending: T | PromiseLike<T>, signal: Signal, onLate?: (late: T) => void): Promise<T> {
  try {
    // A transport that listens knows more of what happened than the signal.
    const wait = { name: 'transport', signal, graceMs: 0 }
    return await settleWithin(Promise.resolve(pending), onLate === undefined ? wait : { ...wait, onLate })
  } catch (cause) {
    if (!(signal.aborted && cause instanceof GatewayError)) throw cause
    throw Object.assign(new Error('The call was aborted.', { cause }), { code: 'ABORT_ERR' })
  }
}

function boundedResponse(response: unknown, signal: Signal): TransportResponse {
  if (!isResponse(response))
    throw unreadable(
      `fetch or transport returned ${typeNameOf(response)}: return a response with a status, headers and a body`,
    )
  const { status, resent, delimited } = response
  return {
    status,
    ...(resent === undefined ? {} : { resent }),
    ...(delimited === undefined ? {} : { delimited }),
    header(name) {
      const value: unknown = response.header(name)
      if (typeof value === 'string') return value
      ignore(value)
      return undefined
    },
    async bytes(limit, onData) {
      let bytes: unknown
      try {
        bytes = await untilAborted(response.bytes(limit, onData), signal)
      } catch (cause) {
        // Whoever does not listen to the signal still holds the connection.
        discard(response)
        throw cause
      }
      if (bytes instanceof Uint8Array) return bytes
      throw unreadable(`bytes() of the transport's response returned ${typeNameOf(bytes)}: return a Uint8Array`)
    },
    stream: () => boundedStream(response.stream(), signal),
    discard: () => discard(response),
  }
}

const unreadable = (why: string): GatewayError =>
  new GatewayError('upstream_bad_response', "The upstream's response could not be read.", { cause: new TypeError(why) })

const methods = ['header', 'bytes', 'stream', 'discard'] as const

function isResponse(value: unknown): value is TransportResponse {
  if (typeof value !== 'object' || value === null) return false
  const response = value as Partial<TransportResponse>
  return Number.isInteger(response.status) && methods.every((name) => typeof response[name] === 'function')
}

function discard(response: unknown): void {
  ignore(response)
  if (isResponse(response)) quietly(() => response.discard())
}

/** Only the first bytes are awaited with nothing but the signal as a limit; a pump limits the others, and costs less for each. */
function boundedStream(stream: AsyncIterable<Uint8Array>, signal: Signal): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const source = stream[Symbol.asyncIterator]()
      let begun = false
      return {
        next() {
          if (begun) return source.next()
          begun = true
          return untilAborted(source.next(), signal)
        },
        async return() {
          // A source that waits for its next bytes may not even answer to this.
          quietly(() => source.return?.())
          return { done: true, value: undefined }
        },
      }
    },
  }
}
