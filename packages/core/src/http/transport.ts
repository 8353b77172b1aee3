import type { Signal } from '../base/async.ts'
import { ignoreRejection, runSilently, settleWithin, typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'

/** One call to an upstream, as the gateway makes it. */
export interface TransportRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** An iterable is sent as it comes; it can be iterated anew if the call must be sent again. */
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined
  /** Milliseconds until a connection must stand. Kept by transports that know when they connect. Default: the transport's own. */
  readonly connectMs?: number
  /**
   * False: it is sent once. Default: a transport may send it again where the connection turns out to have been closed before,
   * and says so in the answer (`resent`), or in what it rejects with.
   */
  readonly resend?: boolean
  /** Aborting it closes the upstream connection at once, before the headers and in mid-body. */
  readonly signal: Signal
}

/** An upstream's answer. Its body is read once, by `bytes` or by iterating `stream`. */
export interface TransportResponse {
  readonly status: number
  /** The call was sent twice. */
  readonly resent?: boolean
  /**
   * A body that is cut short makes reading it fail: its end is marked, by a terminating chunk or a content-length. Default: its end
   * may be a cut, because the connection's end is all that ends it, or because the transport cannot tell.
   */
  readonly delimited?: boolean
  /**
   * A header, by lower-case name. `content-length` is that of the body as it is handed over: undefined where an encoding was undone.
   */
  header(name: string): string | undefined
  /**
   * The whole body; rejects once it exceeds `limit` bytes.
   *
   * @param onData called whenever some of it has come, where the transport can tell
   */
  bytes(limit: number, onData?: () => void): Promise<Uint8Array>
  /** The body as it comes, content-encoding undone. Leaving the loop early closes the connection. */
  stream(): AsyncIterable<Uint8Array>
  /** Throws the body away and frees the connection. */
  discard(): void
}

/**
 * How calls leave the process. Adapters for Node bring one on undici; `fetch` is the transport elsewhere. Redirects are
 * never followed. Timeouts are the caller's business (through `signal`). Rejects if no answer could be had.
 */
export interface Transport {
  (request: TransportRequest): Promise<TransportResponse>
  /**
   * Set by a transport whose promises all reject as soon as the signal is aborted, those of its responses included. Default: the
   * gateway sees to it itself, at the cost of some promises for each call.
   */
  readonly settlesOnAbort?: true
}

/** A charset that a media type names, unless UTF-8 holds all of it anyway. */
function otherCharset(response: Pick<TransportResponse, 'header'>): string | undefined {
  const type = response.header('content-type') ?? ''
  const charset = /;\s*charset\s*=\s*"?([\w:.-]+)/i.exec(type)?.[1]
  return charset === undefined || /^(?:utf-?8|us-ascii|ascii)$/i.test(charset) ? undefined : charset
}

/** Reads the charset; undefined for one that the runtime does not know. */
function decoderOf(charset: string | undefined): TextDecoder | undefined {
  try {
    return charset === undefined ? undefined : new TextDecoder(charset)
  } catch {
    return undefined
  }
}

const encoder = new TextEncoder()

/** A text in UTF-8, as the client is told it is. JSON should be, but some servers name another charset, and use it. */
export function bytesToUtf8(bytes: Uint8Array, response: Pick<TransportResponse, 'header'>): Uint8Array {
  const decoder = decoderOf(otherCharset(response))
  return decoder === undefined ? bytes : encoder.encode(decoder.decode(bytes))
}

/** The same for a stream. */
export function streamToUtf8(response: TransportResponse): AsyncIterable<Uint8Array> {
  const decoder = decoderOf(otherCharset(response))
  const stream = response.stream()
  return decoder === undefined ? stream : transcoded(stream, decoder)
}

/** Not a generator: leaving it would wait for the chunk that is awaited. */
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
    return await settleWithin(Promise.resolve(pending), onLate === undefined ? wait : { ...wait, onLateValue: onLate })
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
      ignoreRejection(value)
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
  ignoreRejection(response)
  if (isResponse(response)) runSilently(() => response.discard())
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
          runSilently(() => source.return?.())
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/**
 * The error for a response that arrived and could not be read. Undefined for every other failure of a transport: no connection, or a
 * response that was cut.
 *
 * @param begun the response's headers have been read. Default true.
 */
export function unreadableResponse(cause: unknown, begun = true): GatewayError | undefined {
  for (const error of [cause, cause instanceof Error ? cause.cause : undefined]) {
    if (!(error instanceof Error)) continue
    const code = codeOf(error) ?? ''
    // Headers that contradict each other; behind the headers it is a cut.
    const contradicts = !begun && code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
    const message = isBadFraming(error, code) || contradicts ? badFraming : messageOf(code)
    if (message !== undefined) return new GatewayError('upstream_bad_response', message, { cause })
  }
  return undefined
}

export const codeOf = (error: unknown): string | undefined => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

const badFraming = 'The upstream sent a response that is not valid HTTP.'
const tooLarge = "The upstream's response headers are too large."

/** undici's parser has no codes of its own. An end within a chunk is a cut. */
const isBadFraming = ({ name, message }: Error, code: string): boolean =>
  (name === 'HTTPParserError' || (code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE')) &&
  !message.includes('Invalid EOF state') &&
  code !== 'HPE_HEADER_OVERFLOW'

/** By the codes of undici, zlib and the Node transport. */
function messageOf(code: string): string | undefined {
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW') return tooLarge
  if (code === 'ERR_CONTENT_ENCODING')
    return "The upstream's response has a content-encoding that cannot be decoded. Supported: gzip, deflate, br, and zstd from Node 22.15 on."
  if (code === 'Z_DATA_ERROR' || code.startsWith('ERR__ERROR_FORMAT') || code.startsWith('ZSTD_error'))
    return "The upstream's response could not be decoded: its data does not match its content-encoding."
  return undefined
}
