import { ignoreRejection, runSilently, type Signal, settleWithin } from '../base/async.ts'
import { typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'

// The contract of transports, the transport on `fetch`, and the treatment of responses: bounds for a host's transport, charsets, and
// unreadable responses.

/** One call to an upstream. */
export interface TransportRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** An iterable is sent chunk by chunk. It can be iterated again if the call must be sent again. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined
  /** Time limit for the connection in milliseconds, for transports that know when they connect. Default: the transport's own. */
  readonly connectMs?: number
  /**
   * False: the call is sent once. Default: true. A transport may then send it again if the connection was already closed, and sets
   * `resent` on the response or on the error that it rejects with.
   */
  readonly resend?: boolean
  /**
   * True: the URL also accepts a WebSocket on which this body can be sent as a message. A transport that holds such a WebSocket may use
   * it. Default: false.
   */
  readonly webSocket?: boolean
  /** On abort the upstream connection is closed at once, before the headers or within the body. */
  readonly signal: Signal
}

/** An upstream's response. Its body is read once, by `bytes` or by iterating `stream`. */
export interface TransportResponse {
  readonly status: number
  /** The call was sent twice. */
  readonly resent?: boolean
  /**
   * The end of the body is marked by a terminating chunk or a content-length, so that reading a truncated body fails. Default: false.
   * A truncated body may then look complete, because it ends with the connection or because the transport cannot tell.
   */
  readonly delimited?: boolean
  /** Returns a header by its lower-case name. `content-length` is undefined if a content-encoding was decoded. */
  header(name: string): string | undefined
  /**
   * Reads the whole body. Rejects once it exceeds `limit` bytes.
   *
   * @param onData called for each chunk that arrives, if the transport can tell
   */
  bytes(limit: number, onData?: () => void): Promise<Uint8Array>
  /** Returns the body in chunks, with its content-encoding decoded. Leaving the loop early closes the connection. */
  stream(): AsyncIterable<Uint8Array>
  /** Discards the body and frees the connection. */
  discard(): void
}

/**
 * Sends calls to upstreams. The Node adapters use undici, all others `fetch`. A transport follows no redirects and rejects if no
 * response arrives. Time limits are enforced by the caller, through `signal`.
 */
export interface Transport {
  (request: TransportRequest): Promise<TransportResponse>
  /**
   * Set by a transport whose promises, including those of its responses, reject as soon as the signal is aborted. Default: the gateway
   * ensures it, at the cost of some promises per call.
   */
  readonly settlesOnAbort?: true
}

const boundedTransports = new WeakMap<Transport, Transport>()

/**
 * Returns a transport whose promises settle as soon as the signal is aborted, even if the host's transport ignores its signal: every time
 * limit of an upstream call aborts the signal. A late response is discarded; a value that is no response is an upstream error.
 */
export function boundedTransport(transport: Transport): Transport {
  if (transport.settlesOnAbort === true) return transport
  let bounded = boundedTransports.get(transport)
  if (bounded === undefined) {
    bounded = async (request) => {
      const { signal } = request
      return boundedResponse(await untilAborted<unknown>(transport(request), signal, discard), signal)
    }
    boundedTransports.set(transport, bounded)
  }
  return bounded
}

/** Rejects as a transport does on abort. A value that arrives later is passed to `onLateValue`. */
async function untilAborted<T>(
  pending: T | PromiseLike<T>,
  signal: Signal,
  onLateValue?: (value: T) => void,
): Promise<T> {
  try {
    // A transport that listens to the signal rejects within this macrotask, with an error that says more than the signal.
    const wait = { name: 'transport', signal, graceMs: 0 }
    return await settleWithin(Promise.resolve(pending), onLateValue === undefined ? wait : { ...wait, onLateValue })
  } catch (cause) {
    if (!(signal.aborted && cause instanceof GatewayError)) throw cause
    throw abortError(cause)
  }
}

/** Creates the error of a transport whose signal was aborted. */
export const abortError = (cause?: unknown): Error =>
  Object.assign(new Error('The call was aborted.', cause === undefined ? {} : { cause }), { code: 'ABORT_ERR' })

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
      ignoreRejection(value)
      return undefined
    },
    async bytes(limit, onData) {
      let bytes: unknown
      try {
        bytes = await untilAborted(response.bytes(limit, onData), signal)
      } catch (cause) {
        // A transport that ignores the signal still holds the connection.
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
  ignoreRejection(response)
  if (isResponse(response)) runSilently(() => response.discard())
}

/** Bounds the wait for the first chunk. The pump that reads the stream bounds the wait for all others, at a lower cost per chunk. */
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
          // Not awaited: a source that waits for its next bytes may not settle this promise either.
          runSilently(() => source.return?.())
          return { done: true, value: undefined }
        },
      }
    },
  }
}

const encoder = new TextEncoder()

/** Converts a body to UTF-8, the charset that the client's response declares. JSON should be UTF-8, but some servers declare and use another charset. */
export function bytesToUtf8(bytes: Uint8Array, response: Pick<TransportResponse, 'header'>): Uint8Array {
  const decoder = decoderOf(otherCharset(response))
  return decoder === undefined ? bytes : encoder.encode(decoder.decode(bytes))
}

/** Converts a streamed body to UTF-8. */
export function streamToUtf8(response: TransportResponse): AsyncIterable<Uint8Array> {
  const decoder = decoderOf(otherCharset(response))
  const stream = response.stream()
  return decoder === undefined ? stream : transcoded(stream, decoder)
}

/** No generator: leaving a generator would wait for the pending chunk. */
function transcoded(stream: AsyncIterable<Uint8Array>, decoder: TextDecoder): AsyncIterable<Uint8Array> {
  const source = stream[Symbol.asyncIterator]()
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { done, value } = await source.next()
        return done === true
          ? { done, value: undefined }
          : { done: false, value: encoder.encode(decoder.decode(value, { stream: true })) }
      },
      return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    }),
  }
}

/** Returns the charset that the media type names, unless it is UTF-8 or a part of UTF-8. */
function otherCharset(response: Pick<TransportResponse, 'header'>): string | undefined {
  const type = response.header('content-type') ?? ''
  const charset = /;\s*charset\s*=\s*"?([\w:.-]+)/i.exec(type)?.[1]
  return charset === undefined || /^(?:utf-?8|us-ascii|ascii)$/i.test(charset) ? undefined : charset
}

/** Returns a decoder; undefined for a charset that the runtime does not support. */
function decoderOf(charset: string | undefined): TextDecoder | undefined {
  try {
    return charset === undefined ? undefined : new TextDecoder(charset)
  } catch {
    return undefined
  }
}

/**
 * Returns the error for a response that arrived and could not be read. Returns undefined for every other failure of a transport: no
 * connection, or a truncated response.
 *
 * @param begun the response's headers have been read. Default: true.
 */
export function unreadableResponse(cause: unknown, begun = true): GatewayError | undefined {
  for (const error of [cause, cause instanceof Error ? cause.cause : undefined]) {
    if (!(error instanceof Error)) continue
    const code = codeOf(error) ?? ''
    // Before the headers, this code reports contradictory headers; after them, a truncated body.
    const contradicts = !begun && code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
    const message = isBadFraming(error, code) || contradicts ? badFraming : messageOf(code)
    if (message !== undefined) return new GatewayError('upstream_bad_response', message, { cause })
  }
  return undefined
}

/** Returns the `code` of a system error, such as `ECONNREFUSED`. */
export const codeOf = (error: unknown): string | undefined => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

const badFraming = 'The upstream sent a response that is not valid HTTP.'
const headersTooLarge = "The upstream's response headers are too large."

/** Recognizes errors of undici's HTTP parser. An end within a chunk is a truncated body, not bad framing. */
const isBadFraming = ({ name, message }: Error, code: string): boolean =>
  (name === 'HTTPParserError' || (code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE')) &&
  !message.includes('Invalid EOF state') &&
  code !== 'HPE_HEADER_OVERFLOW'

/** Maps codes of undici, zlib and the Node transport to messages. */
function messageOf(code: string): string | undefined {
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW') return headersTooLarge
  if (code === 'ERR_CONTENT_ENCODING')
    return "The upstream's response has a content-encoding that cannot be decoded. Supported: gzip, deflate, br, and zstd from Node 22.15 on."
  if (code === 'Z_DATA_ERROR' || code.startsWith('ERR__ERROR_FORMAT') || code.startsWith('ZSTD_error'))
    return "The upstream's response could not be decoded: its data does not match its content-encoding."
  return undefined
}
