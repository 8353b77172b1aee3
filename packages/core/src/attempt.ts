import type { Attempt } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Codec } from './formats/codec.ts'
import type { AnswerStream, Lane, WholeAnswer } from './lanes/lane.ts'
import { createPump, type Pump } from './pump.ts'
import { prime, truncated } from './relay.ts'
import type { ResolvedTarget } from './router.ts'
import { createCanceller, type Signal } from './signal.ts'
import type { Transport, TransportResponse } from './transport.ts'
import { readErrorUnder200, readUpstreamError, toClientError, unreachable } from './upstream-error.ts'
import type { Upstream } from './upstreams/upstream.ts'

export interface AttemptOptions {
  readonly target: ResolvedTarget
  readonly lane: Pick<Lane, 'body' | 'headers' | 'answer' | 'openStream' | 'passes' | 'asEvents'>
  readonly url: string
  /** The codec of the upstream's format: it reads the upstream's errors. */
  readonly codec: Codec
  readonly stream: boolean
  /** Client headers, of which the upstream's own list picks. */
  readonly header: (name: string) => string | undefined
  readonly transport: Transport
  /** The client's signal. */
  readonly signal: Signal
  readonly firstByteMs: number
  readonly holdMs: number
  readonly idleMs: number
  readonly answerBytes: number
}

export type AttemptResult =
  | { readonly kind: 'whole'; readonly answer: WholeAnswer; readonly log: Attempt }
  | {
      readonly kind: 'stream'
      readonly pump: Pump
      readonly stream: AnswerStream
      readonly abort: () => void
      /** Whether the upstream's headers have come. */
      readonly begun: () => boolean
      readonly log: Attempt
    }
  /** Neither JSON nor events: passes as it comes. */
  | {
      readonly kind: 'bytes'
      readonly pump: Pump
      /** The upstream's own content type, and length where it said one. */
      readonly headers: Readonly<Record<string, string>>
      readonly abort: () => void
      readonly log: Attempt
    }

/** A failed attempt, with what the books need beside the error. */
export interface AttemptFailure {
  readonly error: GatewayError
  readonly log: Attempt
}

/**
 * One call to one target: send, wait (bounded) for an answer or a stream's first real event, classify. Never throws:
 * what went wrong is a value, so that the caller can go on to the next target.
 */
export async function attempt(options: AttemptOptions): Promise<AttemptResult | AttemptFailure> {
  const { target, signal, firstByteMs } = options
  const canceller = createCanceller()
  let expired: GatewayError | undefined
  // One timer for both limits, moved when it rings: making two for each call would be felt.
  let deadline = Date.now() + firstByteMs
  let onLate = (): GatewayError => noAnswer(firstByteMs)
  const ring = (): void => {
    const left = deadline - Date.now()
    if (left > 0) {
      timer = setTimeout(ring, left)
      return
    }
    expired = onLate()
    canceller.abort()
  }
  let timer = setTimeout(ring, options.stream ? firstByteMs : Math.min(firstByteMs, options.idleMs))
  const abort = (): void => {
    clearTimeout(timer)
    canceller.abort()
  }
  signal.addEventListener('abort', abort)
  /** An I/O failure's true reason: the client, the clock, or what the transport says. */
  const reason = (otherwise: (cause: unknown) => GatewayError) => (cause: unknown) => {
    if (signal.aborted) throw stopReason(signal)
    throw expired ?? otherwise(cause)
  }
  // Filled in as the answer comes, which for a stream may be after this function's end.
  const log: { -readonly [K in keyof Attempt]: Attempt[K] } = { upstream: target.upstreamName, model: target.model }
  const open = async (): Promise<TransportResponse> => {
    if (signal.aborted) throw stopReason(signal)
    const response = await send(options, canceller).catch(reason(unreachable))
    if (options.stream) clearTimeout(timer)
    deadline = Date.now() + options.idleMs
    onLate = fellSilent
    log.status = response.status
    const id = response.header('x-request-id') ?? response.header('request-id')
    if (id !== undefined) log.upstreamRequestId = id
    if (response.status >= 200 && response.status < 300) return response
    throw await readUpstreamError(response, options.codec, target.upstream)
  }
  try {
    if (options.stream) {
      const source = laterStream(async () => eventStream(await open(), options))
      const begun = (): boolean => log.status !== undefined
      return { kind: 'stream', ...(await openStream(source, options)), abort, begun, log }
    }
    const response = await open()
    if (options.lane.passes === true && !isJson(response)) {
      const pump = createPump(await begunBody(response).catch(reason(truncated)))
      clearTimeout(timer)
      return { kind: 'bytes', pump, headers: bodyHeaders(response), abort, log }
    }
    const bytes = await response.bytes(options.answerBytes).catch(reason(truncated))
    clearTimeout(timer)
    return { kind: 'whole', answer: readAnswer(bytes, options), log }
  } catch (cause) {
    abort()
    const error = classify(cause, options)
    log.error = error.info.kind
    return { error, log }
  } finally {
    // A stream's relay listens to the client itself.
    signal.removeEventListener('abort', abort)
  }
}

function send(
  { target, lane, url, header, transport, stream }: AttemptOptions,
  signal: Signal,
): Promise<TransportResponse> {
  const headers = headersTo(target.upstream, stream, header)
  return transport({
    method: 'POST',
    url,
    headers: lane.headers === undefined ? headers : { ...headers, ...lane.headers },
    body: lane.body,
    signal,
  })
}

/** The headers of one call: the upstream's own, and those of the client that it passes on. */
export function headersTo(
  upstream: Upstream,
  stream: boolean,
  header: (name: string) => string | undefined,
): Readonly<Record<string, string>> {
  let headers = baseHeaders(upstream, stream)
  for (const name of upstream.passHeaders) {
    const value = header(name)
    if (value !== undefined) headers = { ...headers, [name]: value }
  }
  return headers
}

const prepared = new WeakMap<Upstream, { readonly whole: Headers; readonly stream: Headers }>()
type Headers = Readonly<Record<string, string>>

/** The headers that every call to an upstream has, made once. */
function baseHeaders(upstream: Upstream, stream: boolean): Headers {
  let both = prepared.get(upstream)
  if (both === undefined) {
    const own = Object.fromEntries(Object.entries(upstream.headers).map(([name, value]) => [name.toLowerCase(), value]))
    // Compression saves nothing between data centres and holds back events.
    const shared = { 'content-type': 'application/json', 'accept-encoding': 'identity' }
    both = {
      whole: { ...shared, ...own },
      stream: { ...shared, accept: 'text/event-stream', ...own },
    }
    prepared.set(upstream, both)
  }
  return stream ? both.stream : both.whole
}

/** An error in place of the answer, under a good status, needs the same care as one under an error status. */
function readAnswer(bytes: Uint8Array, options: AttemptOptions): WholeAnswer {
  return inClientsSight(() => options.lane.answer(bytes), options)
}

function inClientsSight<T>(read: () => T, { target }: AttemptOptions): T {
  try {
    return read()
  } catch (cause) {
    if (!(cause instanceof GatewayError)) throw cause
    const { info } = cause
    throw toClientError(info, info.status, undefined, target.upstream, cause.cause)
  }
}

async function eventStream(response: TransportResponse, options: AttemptOptions): Promise<AsyncIterable<Uint8Array>> {
  const type = response.header('content-type') ?? ''
  if (type.includes('event-stream') || !/json|html|^audio\//.test(type)) return response.stream()
  const { asEvents } = options.lane
  if (asEvents !== undefined && isJson(response)) {
    const bytes = await response.bytes(options.answerBytes)
    return once(inClientsSight(() => asEvents(bytes), options))
  }
  // A provider may answer a stream request with a JSON error under 200.
  const error = type.includes('json') ? await readErrorUnder200(response, options.codec) : undefined
  response.discard()
  if (error !== undefined) throw toClientError(error, error.status, undefined, options.target.upstream)
  throw new GatewayError(
    'upstream_bad_response',
    'The upstream answered a streaming request with something that is no event stream.',
  )
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

const isJson = (response: TransportResponse): boolean => (response.header('content-type') ?? '').includes('json')

/** What the client must know of bytes that pass as they are. */
function bodyHeaders(response: TransportResponse): Record<string, string> {
  const length = response.header('content-length')
  return {
    'content-type': response.header('content-type') ?? 'application/octet-stream',
    ...(length === undefined ? {} : { 'content-length': length }),
  }
}

/** The body once its first bytes are there: until then a failure can still become a status. */
async function begunBody(response: TransportResponse): Promise<AsyncIterable<Uint8Array>> {
  const type = response.header('content-type') ?? ''
  if (type.includes('html')) {
    response.discard()
    throw new GatewayError('upstream_bad_response', 'The upstream answered with a web page.')
  }
  const source = response.stream()[Symbol.asyncIterator]()
  let first: IteratorResult<Uint8Array> | undefined = await source.next()
  if (first.done === true && !type.startsWith('text/'))
    throw new GatewayError('upstream_bad_response', 'The upstream answered with nothing.')
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        const ready = first
        first = undefined
        return ready === undefined ? source.next() : Promise.resolve(ready)
      },
      return: async () => (await source.return?.()) ?? { done: true, value: undefined },
    }),
  }
}

/**
 * A stream whose answer has not begun: opened by the first pull, so that the wait for the upstream's headers is bounded
 * like the wait for its first event.
 */
function laterStream(open: () => Promise<AsyncIterable<Uint8Array>>): AsyncIterable<Uint8Array> {
  let opened: AsyncIterator<Uint8Array> | undefined
  let left = false
  const first = async (): Promise<IteratorResult<Uint8Array>> => {
    opened = (await open())[Symbol.asyncIterator]()
    if (!left) return opened.next()
    await opened.return?.()
    return { done: true, value: undefined }
  }
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => (opened === undefined ? first() : opened.next()),
      async return() {
        left = true
        await opened?.return?.()
        return { done: true, value: undefined }
      },
    }),
  }
}

async function openStream(
  source: AsyncIterable<Uint8Array>,
  options: AttemptOptions,
): Promise<{ pump: Pump; stream: AnswerStream }> {
  const pump = createPump(source)
  const stream = options.lane.openStream()
  try {
    await prime(pump, stream, options.holdMs)
  } catch (cause) {
    pump.close()
    const { error } = stream.state
    throw error === undefined ? cause : toClientError(error, error.status, undefined, options.target.upstream)
  }
  return { pump, stream }
}

function classify(cause: unknown, { signal }: AttemptOptions): GatewayError {
  if (signal.aborted) return stopReason(signal)
  if (cause instanceof GatewayError) return cause
  return new GatewayError('upstream_bad_response', 'The upstream broke off its answer before the first event.', {
    cause,
  })
}

const noAnswer = (ms: number): GatewayError =>
  new GatewayError('upstream_timeout', `The upstream did not begin to answer within ${ms / 1000} s.`)
const fellSilent = (): GatewayError =>
  new GatewayError('upstream_truncated', 'The upstream fell silent in the middle of its answer.')

/** Why a call was stopped from this side: the gateway's own reason, or the client has left. */
const stopReason = ({ reason }: Signal): GatewayError =>
  reason instanceof GatewayError
    ? reason
    : new GatewayError('cancelled', 'The client closed the connection before the answer began.')
