import { abortSignalOf } from '../base/async.ts'
import { concatBytes } from '../base/bytes.ts'
import { typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import type { Transport, TransportResponse } from './transport.ts'

/** The transport where there is no better one: any WHATWG fetch. Redirects are not followed. */
export function fetchTransport(fetchLike?: typeof fetch): Transport {
  const transport: Transport = async ({ url, method, headers, body, signal, resend = true }) => {
    const send = (): Promise<Response> => {
      const call = fetchLike ?? fetch
      return call(url, {
        method,
        headers,
        signal: abortSignalOf(signal),
        redirect: 'manual',
        ...(body === undefined ? {} : sending(body)),
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
  // The runtime's own does as the specification says; a host's may not.
  return fetchLike === undefined ? Object.assign(transport, { settlesOnAbort: true } as const) : transport
}

/**
 * Whether the server took the connection for idle while the call was on its way. RFC 9110 (15.5.9) lets a client repeat such a call. `fetch` hides
 * whether the connection was used before, so the response to a call on a fresh one is repeated, too: once, and the server has not
 * read that call. Runtimes that hide `connection`, and HTTP/2, do not repeat.
 */
const closesIdleConnection = ({ status, header }: TransportResponse): boolean =>
  status === 408 && /\bclose\b/i.test(header('connection') ?? '')

/** Streams need the word that nobody reads the answer before they are sent. TypeScript does not know it. */
function sending(body: string | Uint8Array | AsyncIterable<Uint8Array>): RequestInit & { duplex?: 'half' } {
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
 * Headers that describe the body on the wire. `fetch` undoes encodings, and runtimes differ in which of these headers they keep
 * nevertheless: none of them can be relied upon for the body that is handed over.
 */
const ofTheWire: ReadonlySet<string> = new Set(['content-encoding', 'content-length', 'transfer-encoding'])

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
    // Only its reader can cancel a body that is being read.
    const closing: Promise<unknown> | undefined = source === undefined ? response.body?.cancel() : source.return?.()
    closing?.catch(() => {})
  }
  return {
    status: response.status,
    delimited: isDelimited(response.headers),
    header: (name) => (ofTheWire.has(name) ? undefined : (response.headers.get(name) ?? undefined)),
    async bytes(limit, onData) {
      if (response.body === null) return new Uint8Array(0)
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of read(response.body)) {
        onData?.()
        size += chunk.length
        if (size > limit)
          throw new GatewayError('upstream_bad_response', `The upstream's answer is larger than ${limit} bytes.`, {
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
 * Whether the runtime reports a cut of this body. Those that show the framing of HTTP/1.1 do: Node, Bun and Deno. Node 20 takes a cut
 * of a chunked body for its end where the connection is to be closed. Others, and HTTP/2, show nothing.
 */
const isDelimited = (headers: Headers): boolean =>
  headers.has('content-length') ||
  (/\bchunked\b/i.test(headers.get('transfer-encoding') ?? '') && !/\bclose\b/i.test(headers.get('connection') ?? ''))

async function* empty(): AsyncGenerator<Uint8Array> {}

/** Not every runtime iterates a ReadableStream, and leaving early must cancel it even while a read is pending. */
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
