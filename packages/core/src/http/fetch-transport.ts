import { abortSignalOf } from '../base/async.ts'
import { concatBytes } from '../base/bytes.ts'
import { typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import type { Transport, TransportResponse } from './transport.ts'

/** See `lazyFetchTransport`, which loads this function. */
export function fetchTransport(fetchLike?: typeof fetch): Transport {
  return async ({ url, method, headers, body, signal, resend = true }) => {
    const send = (): Promise<Response> => {
      const call = fetchLike ?? fetch
      return call(url, {
        method,
        headers,
        signal: abortSignalOf(signal),
        redirect: 'manual',
        ...(body === undefined ? {} : bodyInit(body)),
      })
    }
    const response = toTransportResponse(await send())
    if (!resend || !closesIdleConnection(response)) return response
    response.discard()
    try {
      return { ...toTransportResponse(await send()), resent: true }
    } catch (error) {
      throw error instanceof Error ? Object.assign(error, { resent: true }) : error
    }
  }
}

/**
 * Returns whether the server closed the connection as idle while the call was on its way. RFC 9110 (15.5.9) lets a client repeat such
 * a call. `fetch` hides whether the connection was used before, so a call on a fresh connection is repeated as well: once, and the server
 * has not read that call. Runtimes that hide `connection`, and HTTP/2, do not repeat.
 */
const closesIdleConnection = ({ status, header }: TransportResponse): boolean =>
  status === 408 && /\bclose\b/i.test(header('connection') ?? '')

/** Returns the part of `RequestInit` for a body. Streams require `duplex: 'half'`, which TypeScript's types omit. */
function bodyInit(body: string | Uint8Array | AsyncIterable<Uint8Array>): RequestInit & { duplex?: 'half' } {
  if (typeof body === 'string' || body instanceof Uint8Array) return { body: body as BodyInit }
  const iterator = body[Symbol.asyncIterator]()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
  return { body: stream, duplex: 'half' }
}

/**
 * Headers that describe the encoded body. `fetch` decodes the body, and runtimes differ in which of these headers they keep: none of
 * them describes the decoded body reliably.
 */
const encodedBodyHeaders: ReadonlySet<string> = new Set(['content-encoding', 'content-length', 'transfer-encoding'])

function toTransportResponse(response: Response): TransportResponse {
  if (typeof response?.headers?.get !== 'function' || !Number.isInteger(response.status))
    throw new GatewayError('upstream_bad_response', "The upstream's response could not be read.", {
      cause: new TypeError(`fetch returned ${typeNameOf(response)}: return a Response`),
    })
  let source: AsyncIterator<Uint8Array> | undefined
  const read = (body: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> => ({
    [Symbol.asyncIterator]() {
      source = readAll(body)
      return source
    },
  })
  const discard = (): void => {
    // A body that is being read can be cancelled only by its reader.
    const closing: Promise<unknown> | undefined = source === undefined ? response.body?.cancel() : source.return?.()
    closing?.catch(() => {})
  }
  return {
    status: response.status,
    delimited: isDelimited(response.headers),
    header: (name) => (encodedBodyHeaders.has(name) ? undefined : (response.headers.get(name) ?? undefined)),
    async bytes(limit, onData) {
      if (response.body === null) return new Uint8Array(0)
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of read(response.body)) {
        onData?.()
        size += chunk.length
        if (size > limit)
          throw new GatewayError('upstream_bad_response', `The upstream's response is larger than ${limit} bytes.`, {
            hints: { neverRetry: true, ours: true },
          })
        chunks.push(chunk)
      }
      return concatBytes(chunks)
    },
    stream: () => (response.body === null ? empty() : read(response.body)),
    discard,
  }
}

/**
 * Returns whether reading a truncated body fails. It does in runtimes that expose the framing of HTTP/1.1: Node, Bun and Deno. Node 20
 * accepts a truncated chunked body as complete if the connection is to be closed. Other runtimes, and HTTP/2, expose no framing.
 */
const isDelimited = (headers: Headers): boolean =>
  headers.has('content-length') ||
  (/\bchunked\b/i.test(headers.get('transfer-encoding') ?? '') && !/\bclose\b/i.test(headers.get('connection') ?? ''))

async function* empty(): AsyncGenerator<Uint8Array> {}

/** Iterates a ReadableStream. Not every runtime supports that, and leaving early must cancel the stream even during a read. */
function readAll(body: ReadableStream<Uint8Array>): AsyncIterator<Uint8Array> {
  const reader = body.getReader()
  return {
    async next(): Promise<IteratorResult<Uint8Array>> {
      const { done, value } = await reader.read()
      return done ? { done: true, value: undefined } : { done: false, value }
    },
    async return(): Promise<IteratorResult<Uint8Array>> {
      await reader.cancel()
      return { done: true, value: undefined }
    },
  }
}
