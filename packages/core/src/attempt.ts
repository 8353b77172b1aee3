import { authorized, headersTo } from './call-headers.ts'
import { GatewayError } from './errors.ts'
import type { Codec } from './formats/codec.ts'
import type { AnswerStream, Lane, WholeAnswer } from './lanes/lane.ts'
import { fellSilent, noAnswer, tookTooLong } from './late.ts'
import type { Attempt } from './plugin.ts'
import { createPump, type Pump } from './pump.ts'
import { prime, truncated } from './relay.ts'
import { type Onward, onwardFrom } from './retry.ts'
import type { ResolvedTarget } from './router.ts'
import { createCanceller, type Signal } from './signal.ts'
import type { Transport, TransportResponse } from './transport.ts'
import { readErrorUnder200, readUpstreamError, toClientError, unreachable } from './upstream-error.ts'
import type { Hosting } from './upstreams/upstream.ts'

export interface AttemptOptions {
  readonly target: ResolvedTarget
  readonly lane: Pick<Lane, 'body' | 'headers' | 'answer' | 'openStream' | 'passes' | 'asEvents'>
  readonly url: string
  /** The codec of the upstream's format: it reads the upstream's errors. */
  readonly codec: Pick<Codec, 'decodeError' | 'tapResponse'>
  readonly stream: boolean
  /** See Hosting. */
  readonly toEvents?: Hosting['toEvents'] | undefined
  /** Which of the upstream's keys is used. */
  readonly key: number | undefined
  /** Client headers, of which the upstream's own list picks. */
  readonly header: (name: string) => string | undefined
  /** Headers that plugins add. */
  readonly extraHeaders: Readonly<Record<string, string>> | undefined
  readonly transport: Transport
  /** Of this attempt: the client's leaving aborts it, and whoever is better without it. */
  readonly signal: Signal
  readonly limits: AttemptLimits
  /** Milliseconds for which a stream's first event is waited for here; then the stream is handed over without one. */
  readonly holdMs: number
  /** Filled in as the answer comes, which for a stream may be after this function's end. */
  readonly log: AttemptLog
  /** Called once when the answer, or its first event, is there. */
  readonly onAnswer: (ms: number) => void
}

/** In milliseconds; `answerBytes` in bytes. */
export interface AttemptLimits {
  readonly connectMs: number | undefined
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
  readonly answerBytes: number
}

export type AttemptLog = { -readonly [K in keyof Attempt]: Attempt[K] }

export type AttemptResult =
  | { readonly kind: 'whole'; readonly answer: WholeAnswer }
  | {
      readonly kind: 'stream'
      readonly pump: Pump
      readonly stream: AnswerStream
      readonly abort: () => void
      readonly times: StreamTimes
      /** To be called when the first event has come after all. */
      readonly onFirst: () => void
    }
  /** Neither JSON nor events: passes as it comes. */
  | {
      readonly kind: 'bytes'
      readonly pump: Pump
      /** The upstream's own content type, and length where it said one. */
      readonly headers: Readonly<Record<string, string>>
      readonly abort: () => void
      readonly times: StreamTimes
    }

/** Until when what must have happened, in milliseconds since 1970. */
export interface StreamTimes {
  readonly startedAt: number
  readonly idleMs: number
  readonly firstUntil: number
  readonly totalUntil: number
}

/** A failed attempt, and where the call may go on. */
export interface AttemptFailure {
  readonly error: GatewayError
  readonly onward: Onward
}

/**
 * One call to one target: send, wait (bounded) for an answer or a stream's first real event, classify. Never throws:
 * what went wrong is a value, so that the caller can go on to the next target.
 */
export async function attempt(options: AttemptOptions): Promise<AttemptResult | AttemptFailure> {
  const { signal, limits, log, stream } = options
  const canceller = createCanceller()
  const startedAt = Date.now()
  const totalUntil = startedAt + limits.totalMs
  let expired: GatewayError | undefined
  // One timer for all limits, moved when it rings: making one for each would be felt.
  let deadline = startedAt + limits.firstByteMs
  let onLate = (): GatewayError => noAnswer(limits.firstByteMs)
  const ring = (): void => {
    const now = Date.now()
    const left = Math.min(deadline, totalUntil) - now
    if (left > 0) {
      timer = setTimeout(ring, left)
      return
    }
    expired = now >= totalUntil ? tookTooLong(limits.totalMs) : onLate()
    canceller.abort()
  }
  // Whole answers: once they have begun, the limit for silence may be the shorter one.
  const soonest = stream ? limits.firstByteMs : Math.min(limits.firstByteMs, limits.idleMs)
  let timer = setTimeout(ring, Math.min(soonest, limits.totalMs))
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
  const answered = (): void => {
    if (log.latencyMs !== undefined) return
    log.latencyMs = Date.now() - startedAt
    options.onAnswer(log.latencyMs)
  }
  const times = { startedAt, idleMs: limits.idleMs, firstUntil: startedAt + limits.firstByteMs, totalUntil }
  const open = async (): Promise<TransportResponse> => {
    if (signal.aborted) throw stopReason(signal)
    const response = await send(options, canceller).catch(reason(unreachable))
    if (!stream) {
      deadline = Date.now() + limits.idleMs
      onLate = fellSilent
    }
    log.status = response.status
    const id = response.header('x-request-id') ?? response.header('request-id')
    if (id !== undefined) log.upstreamRequestId = id
    if (response.status >= 200 && response.status < 300) return response
    throw await readUpstreamError(response, options.codec, options.target.upstream)
  }
  try {
    if (stream) {
      const source = laterStream(async () => eventStream(await open(), options))
      const opened = await openStream(source, options).catch(reason(cutOff))
      clearTimeout(timer)
      if (opened.stream.state.started || opened.stream.state.ended) answered()
      return { kind: 'stream', ...opened, abort, times, onFirst: answered }
    }
    const response = await open()
    if (options.lane.passes === true && !isJson(response)) {
      const pump = createPump(await begunBody(response).catch(reason(truncated)))
      clearTimeout(timer)
      answered()
      return { kind: 'bytes', pump, headers: bodyHeaders(response), abort, times }
    }
    // An upstream that keeps sending, if only blanks while its model thinks, is not silent.
    const heard = (): void => {
      deadline = Date.now() + limits.idleMs
    }
    const bytes = await response.bytes(limits.answerBytes, heard).catch(reason(truncated))
    clearTimeout(timer)
    const answer = readAnswer(bytes, options)
    answered()
    return { kind: 'whole', answer }
  } catch (cause) {
    abort()
    const error = classify(cause, options)
    log.error = error.info.kind
    log.latencyMs ??= Date.now() - startedAt
    const { hints } = error
    // Our own patience is not begun anew with the same target; nor is what the upstream itself calls hopeless, nor what says
    // that there is no such endpoint.
    const noMore = error === expired || hints?.hopeless === true || hasNoEndpoint(log.status)
    const onward = onwardFrom(error)
    return { error, onward: noMore && onward === 'same' ? 'elsewhere' : onward }
  } finally {
    // A stream's relay listens to the client itself.
    signal.removeEventListener('abort', abort)
  }
}

async function send(
  { target, key, lane, url, header, extraHeaders, transport, stream, limits }: AttemptOptions,
  signal: Signal,
): Promise<TransportResponse> {
  const { upstream } = target
  let headers = headersTo(upstream, key, stream, header)
  if (lane.headers !== undefined) headers = { ...headers, ...lane.headers }
  if (extraHeaders !== undefined) headers = { ...headers, ...extraHeaders }
  const { body } = lane
  if (upstream.authorize !== undefined)
    headers = await authorized(upstream, { method: 'POST', url, headers, body }, signal)
  const { connectMs } = limits
  return transport({ method: 'POST', url, headers, body, signal, ...(connectMs === undefined ? {} : { connectMs }) })
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
    throw toClientError(info, info.status, target.upstream, {
      cause: cause.cause,
      ...(cause.hints === undefined ? {} : { hints: cause.hints }),
    })
  }
}

async function eventStream(response: TransportResponse, options: AttemptOptions): Promise<AsyncIterable<Uint8Array>> {
  const type = response.header('content-type') ?? ''
  const { toEvents } = options
  if (type.includes('event-stream') || !/json|html|^audio\//.test(type))
    return toEvents === undefined ? response.stream() : toEvents(response.stream())
  const { asEvents } = options.lane
  if (asEvents !== undefined && isJson(response)) {
    const bytes = await response.bytes(options.limits.answerBytes)
    return once(inClientsSight(() => asEvents(bytes), options))
  }
  // A provider may answer a stream request with a JSON error under 200.
  const error = type.includes('json') ? await readErrorUnder200(response, options.codec) : undefined
  response.discard()
  if (error !== undefined) throw toClientError(error, error.status, options.target.upstream)
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
    throw error === undefined ? cause : toClientError(error, error.status, options.target.upstream)
  }
  return { pump, stream }
}

const hasNoEndpoint = (status = 0): boolean =>
  (status >= 300 && status < 400) || status === 404 || status === 405 || status === 415 || status === 501

function classify(cause: unknown, { signal }: AttemptOptions): GatewayError {
  if (signal.aborted) return stopReason(signal)
  return cutOff(cause)
}

const cutOff = (cause: unknown): GatewayError =>
  cause instanceof GatewayError
    ? cause
    : new GatewayError('upstream_bad_response', 'The upstream broke off its answer before the first event.', { cause })

/** Why a call was stopped from this side: the gateway's own reason, or the client has left. */
export const stopReason = ({ reason }: Signal): GatewayError =>
  reason instanceof GatewayError
    ? reason
    : new GatewayError('cancelled', 'The client closed the connection before the answer began.')
