import type { Signal } from '../base/async.ts'
import { concatBytes } from '../base/bytes.ts'
import { GatewayError } from '../base/errors.ts'
import type { CutBody, Inbound, Reply } from './inbound.ts'

/** Members of a RequestInit that change a request. */
const changingMembers = ['method', 'headers', 'body', 'signal'] as const

/**
 * Returns the request that `fetch` would create from its arguments. A host that serves `gateway.fetch` directly passes its own object as
 * the second argument (Bun's server, Deno's info, a Worker's bindings), which is ignored.
 */
export function toRequest(input: Request | URL | string, init?: RequestInit): Request {
  if (typeof input === 'string' || input instanceof URL) return new Request(input, init)
  return changingMembers.some((key) => init?.[key] !== undefined) ? new Request(input, init) : input
}

/** Wraps a WHATWG Request for the gateway. Nothing is copied in advance. */
export function toInbound(request: Request): Inbound {
  const { method, url, headers, signal } = request
  // `new URL` would normalise the path, and is slower.
  const slash = url.indexOf('/', url.indexOf('//') + 2)
  const hash = url.indexOf('#')
  const target = slash < 0 ? '/' : url.slice(slash, hash < 0 ? undefined : hash)
  const mark = target.indexOf('?')
  return {
    method,
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? '' : target.slice(mark + 1),
    origin: slash < 0 ? url : url.slice(0, slash),
    header: (name) => headers.get(name) ?? undefined,
    read: async (limit) => {
      const chunks: Uint8Array[] = []
      for await (const chunk of streamBody(request, limit)) chunks.push(chunk)
      return concatBytes(chunks)
    },
    stream: (limit) => streamBody(request, limit),
    signal,
  }
}

/** A body that delivers fewer bytes within this time is aborted, as by the Node adapters. */
const paceBytes = 1024
const paceMs = 25_000

async function* streamBody(request: Request, limit: number): AsyncGenerator<Uint8Array, undefined> {
  const tooLarge = (): GatewayError =>
    new GatewayError('request_too_large', `The request body is larger than the limit of ${limit} bytes.`)
  const announced = Number(request.headers.get('content-length') ?? 0)
  if (announced > limit) throw tooLarge()
  if ((request.headers.get('content-encoding') ?? 'identity') !== 'identity')
    throw new GatewayError(
      'unsupported_media_type',
      'Compressed request bodies are not supported on this server. Send the body without a content-encoding.',
    )
  if (request.body === null) return
  const reader = request.body.getReader()
  let size = 0
  let last = new Uint8Array(0)
  let whole = false
  let isReading = false
  let isSlow = false
  let before = 0
  const pace = setInterval(() => {
    // Only time spent in a read counts: a slow consumer does not make the client slow.
    if (isReading && size - before < paceBytes) {
      isSlow = true
      reader.cancel().catch(() => {})
    }
    before = size
  }, paceMs)
  const { signal } = request
  // A body made from a stream ignores its request's signal, so a pending read is ended here.
  const stop = (): void => void reader.cancel(signal.reason).catch(() => {})
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop)
  try {
    for (;;) {
      isReading = true
      const { done, value } = await reader.read()
      isReading = false
      if (signal.aborted) throw signal.reason
      if (isSlow) throw new GatewayError('timeout', 'The request body arrived too slowly.')
      if (done) {
        whole = true
        // A server never ends a body before its announced length, but the app around the gateway may truncate it. A body that an app
        // rewrote under the old headers is complete.
        if (size < announced && !endsLikeWholeBody(last)) throw truncatedByHost(size, announced)
        break
      }
      size += value.length
      if (size > limit) throw tooLarge()
      if (value.length > 0) last = value
      yield value
    }
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause
    throw (
      hostLimitError(cause) ??
      new GatewayError('cancelled', 'The connection closed before the request body was complete.', { cause })
    )
  } finally {
    clearInterval(pace)
    signal.removeEventListener('abort', stop)
    if (!whole) reader.cancel().catch(() => {})
  }
}

/** Returns whether a complete body can end with these bytes: JSON objects end with `}`, uploads with `--`. */
function endsLikeWholeBody(bytes: Uint8Array): boolean {
  let end = bytes.length
  while (end > 0 && (bytes[end - 1] as number) <= 32) end--
  return bytes[end - 1] === 125 || (bytes[end - 1] === 45 && bytes[end - 2] === 45)
}

/**
 * Converts a reply to a WHATWG Response. Streams are pulled one chunk at a time, as fast as the client reads. A stream that `signal`
 * aborts fails with the signal's reason, as a stream of `fetch` does: a clean end would look like a complete response. A stream that the
 * gateway aborts because it is not read fails at once.
 */
export function toResponse(reply: Reply, method: string, signal?: Signal): Response {
  const { status, headers, body } = reply
  const init = { status, headers }
  if (body === null || method === 'HEAD') return new Response(null, init)
  if (typeof body === 'string' || body instanceof Uint8Array) return new Response(body as BodyInit, init)
  const source: AsyncIterable<Uint8Array> & Partial<CutBody> = body
  const iterator = source[Symbol.asyncIterator]()
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (!('onCut' in source)) return
        const onCut = (error: unknown): void => controller.error(error)
        source.onCut = onCut
      },
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done !== true) controller.enqueue(value)
        else if (signal?.aborted) controller.error(signal.reason)
        else controller.close()
      },
      async cancel() {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, init)
}

interface HostLimit {
  /** Matches the message of the error with which the host's body stream fails. */
  readonly message: RegExp
  /** The setting that raises the limit. */
  readonly setting: string
}

/** Body limits of hosts. The gateway sees them as a failed body stream. */
const hostLimits: readonly HostLimit[] = [
  {
    message: /BODY_SIZE_LIMIT|^Content-length of \d+ exceeds limit of/,
    setting: 'in SvelteKit, raise BODY_SIZE_LIMIT of adapter-node (512K by default)',
  },
]

/**
 * Returns the error for a body that the host rejected because of its size; undefined if reading failed for another reason.
 *
 * @param cause the error with which reading the body failed
 */
function hostLimitError(cause: unknown): GatewayError | undefined {
  if (typeof cause !== 'object' || cause === null) return undefined
  const { message, status, statusCode } = cause as Readonly<Record<string, unknown>>
  const known = typeof message === 'string' ? hostLimits.find((host) => host.message.test(message)) : undefined
  if (known === undefined && status !== 413 && statusCode !== 413) return undefined
  return tooLargeForHost(
    `the app around the gateway rejected it: ${known?.setting ?? 'raise its limit for bodies'}.`,
    cause,
  )
}

/**
 * Creates the error for a body that ended before its announced length. Next.js passes on only the first 10 MB if the app has a proxy
 * (middleware).
 *
 * @param size bytes that arrived
 * @param announced the content-length
 */
const truncatedByHost = (size: number, announced: number): GatewayError =>
  tooLargeForHost(
    `only ${size} of ${announced} bytes arrived. The app around the gateway truncates bodies: in Next.js, raise \`experimental.proxyClientMaxBodySize\` (\`middlewareClientMaxBodySize\` before Next.js 16; 10 MB by default).`,
  )

const tooLargeForHost = (why: string, cause?: unknown): GatewayError =>
  new GatewayError('request_too_large', `The request body is too large: ${why}`, { cause })
