import { createCanceller, maxTimerMs, monotonicNow, type Signal, stopReason } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import { put } from '../base/json/object.ts'
import type { Inbound } from '../http/inbound.ts'
import type { Transport, TransportRequest, TransportResponse } from '../http/transport.ts'
import { bytesToUtf8, streamToUtf8, unreadableResponse } from '../http/transport.ts'
import type { Lane, TargetRequest } from '../lanes/lane.ts'
import type { TrackedAttempt } from '../routing/health/health.ts'
import { retryScope } from '../routing/retry-policy.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { addCredentials, addFlags, requestHeaders } from '../upstreams/outgoing-call.ts'
import { redact } from '../upstreams/redaction/redactor.ts'
import {
  readErrorUnder200,
  readUpstreamError,
  redactError,
  toClientError,
  unreachable,
} from '../upstreams/upstream-error.ts'
import type { AttemptFailure, AttemptLog, AttemptResult, StreamTimes } from './call.ts'
import { awaitFirstEvent } from './relay-stream.ts'
import {
  awaitFirstChunk,
  bodyHeaders,
  contentTypeOf,
  createPump,
  isJson,
  lazyStream,
  lengthOf,
  once,
  type Pump,
} from './response-body.ts'
import { firstByteTimeout, idleTimeout, totalTimeout, truncated } from './timeout-errors.ts'

/** What an attempt is made of. */
export interface AttemptOptions {
  readonly target: ResolvedTarget
  readonly request: TargetRequest
  readonly stream: boolean
  /** Which of the upstream's keys is used. */
  readonly key: number | undefined
  /** Client headers, of which the upstream's own list picks. */
  readonly inbound: Pick<Inbound, 'header'>
  /** Headers that plugins add. */
  readonly extraHeaders: Readonly<Record<string, string>> | undefined
  readonly transport: Transport
  /** The call's: the client's leaving aborts it. */
  readonly signal: Signal
  readonly limits: AttemptLimits
  /** Milliseconds for which a stream's first event is waited for here; then the stream is handed over without one. */
  readonly holdMs: number
  /** Filled in as the answer comes, which for a stream may be after the attempt's end. */
  readonly log: AttemptLog
  readonly ticket: TrackedAttempt
  /** The transport may send it twice. */
  readonly resend: boolean
}

/** In milliseconds; `answerBytes` in bytes. */
export interface AttemptLimits {
  readonly connectMs: number | undefined
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
  readonly answerBytes: number
}

/** How the failure of an attempt is told, by what it was doing. */
type FailureMapper = (cause: unknown) => GatewayError

/**
 * One call to one target: send, wait (bounded) for an answer or a stream's first real event, classify. An object rather than
 * a function with functions in it: one is made for each call, and what it allocates is felt.
 */
export class Attempt {
  /** It is over, or a stream has been handed on. */
  settled = false
  readonly #options: AttemptOptions
  /** Of this attempt alone: the clock stops it, the client's leaving, and whoever is better without it. */
  readonly #canceller = createCanceller()
  readonly #startedAt = monotonicNow()
  readonly #totalUntil: number
  // One timer for all limits, moved when it rings: making one for each would be felt.
  #deadline: number
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The answer has begun: from now on silence counts. */
  #begun = false
  /** Which limit was hit. */
  #expired: GatewayError | undefined
  #doing: FailureMapper = unreachable
  /** Why it was stopped from outside. */
  #stopped: Pick<Signal, 'reason'> | undefined

  constructor(options: AttemptOptions) {
    this.#options = options
    const { limits, signal, stream } = options
    this.#totalUntil = limits.totalMs < maxTimerMs ? this.#startedAt + limits.totalMs : Number.POSITIVE_INFINITY
    this.#deadline = this.#startedAt + limits.firstByteMs
    // Whole answers: once they have begun, the limit for silence may be the shorter one.
    const soonest = stream ? limits.firstByteMs : Math.min(limits.firstByteMs, limits.idleMs)
    this.#timer = setTimeout(ring, Math.min(soonest, limits.totalMs), this)
    if (signal.aborted) this.handleEvent()
    else signal.addEventListener('abort', this)
  }

  /** Never rejects: what went wrong is a value, so that the caller can go on to the next target. */
  async run(): Promise<AttemptResult | AttemptFailure> {
    const { signal, stream, request, limits } = this.#options
    try {
      if (stream && request.upgrade === undefined) return await this.#openStream()
      const response = await this.#send()
      if (request.upgrade !== undefined) return await this.#upgraded(response)
      const refused = this.#receive(response)
      if (refused !== undefined) throw await refused
      this.#begun = true
      this.#heard()
      this.#doing = truncated
      const { passes } = request.lane
      if (passes !== undefined && !isJson(response)) return await this.#passBytes(response, passes)
      const bytes = bytesToUtf8(await response.bytes(limits.answerBytes, () => this.#heard()), response)
      clearTimeout(this.#timer)
      this.#doing = keepFailure
      const whole = this.#inClientsSight(() => request.lane.readResponse(bytes))
      this.#answered()
      return { kind: 'whole', response: whole }
    } catch (cause) {
      return this.#failure(cause)
    } finally {
      this.settled = true
      // A stream's relay listens to the client itself.
      signal.removeEventListener('abort', this)
    }
  }

  /** Stops it, and what has come of it. */
  cancel(reason?: unknown): void {
    this.#stopped ??= { reason }
    this.#abort(reason)
  }

  /** The call is over. */
  handleEvent(): void {
    this.cancel(this.#options.signal.reason)
  }

  /** The timer. */
  ring(): void {
    const { limits } = this.#options
    const now = monotonicNow()
    const left = Math.min(this.#deadline, this.#totalUntil) - now
    if (left > 0) {
      this.#timer = setTimeout(ring, Math.ceil(left), this)
      return
    }
    this.#expired =
      now >= this.#totalUntil
        ? totalTimeout(limits.totalMs)
        : this.#begun
          ? idleTimeout()
          : firstByteTimeout(limits.firstByteMs)
    this.#canceller.abort()
  }

  #abort(reason?: unknown): void {
    clearTimeout(this.#timer)
    this.#canceller.abort(reason)
  }

  async #upgraded(response: TransportResponse): Promise<AttemptResult> {
    const { log, ticket } = this.#options
    const refused = response.status === 101 ? undefined : this.#receive(response)
    if (refused !== undefined) throw await refused
    if (response.status !== 101) {
      response.discard()
      throw new GatewayError('upstream_bad_response', 'The upstream did not upgrade the connection to a WebSocket.')
    }
    clearTimeout(this.#timer)
    log.status = response.status
    log.latencyMs = monotonicNow() - this.#startedAt
    // The latency of a connection says nothing about that of responses.
    ticket.responseBegan(undefined, true)
    return { kind: 'upgraded' }
  }

  async #passBytes(response: TransportResponse, passes: NonNullable<Lane['passes']>): Promise<AttemptResult> {
    const pump = createPump(await awaitFirstChunk(response, passes))
    clearTimeout(this.#timer)
    this.#answered()
    const length = lengthOf(response)
    return { kind: 'bytes', pump, headers: this.#redacted(bodyHeaders(response, length)), length, ...this.#handOn() }
  }

  /** Of the headers that pass with such an answer. */
  #redacted(headers: Readonly<Record<string, string>>): Record<string, string> {
    const { upstream } = this.#options.target
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redact(value, upstream)]))
  }

  async #openStream(): Promise<AttemptResult> {
    const { request, holdMs, target } = this.#options
    const pump: Pump = createPump(lazyStream(() => this.#firstOfStream(pump)))
    const stream = request.lane.openStream()
    try {
      await awaitFirstEvent(pump, stream, holdMs)
    } catch (cause) {
      pump.close()
      const { error } = stream.state
      // An error response that was being read keeps its own status, also when reading it took too long.
      if (this.#doing !== keepFailure) this.#doing = interruptedResponse
      // That the answer stopped is the reader's word: before the first event the cause knows better.
      const unsaid = error === undefined || error.kind === 'upstream_truncated'
      throw unsaid ? cause : toClientError(error, error.status, target.upstream)
    }
    clearTimeout(this.#timer)
    if (stream.state.started || stream.state.ended) this.#answered()
    const { abort, times, onFirst } = this.#handOn()
    return { kind: 'stream', pump, stream, abort, times, onFirst }
  }

  /**
   * What whoever takes the answer over needs of this attempt. Not the attempt itself: with it the request, in all its forms,
   * would stay in memory as long as a stream runs.
   */
  #handOn(): { readonly abort: () => void; readonly times: StreamTimes; readonly onFirst: () => void } {
    const { log, ticket, limits } = this.#options
    const startedAt = this.#startedAt
    const canceller = this.#canceller
    const times = {
      startedAt,
      idleMs: limits.idleMs,
      firstUntil: startedAt + limits.firstByteMs,
      totalUntil: this.#totalUntil,
    }
    return { abort: () => canceller.abort(), times, onFirst: () => answeredNow(log, ticket, startedAt, true) }
  }

  async #firstOfStream(pump: Pump): Promise<AsyncIterable<Uint8Array>> {
    let response: TransportResponse
    try {
      response = await this.#send()
    } catch (cause) {
      if (wasResent(cause)) this.#options.log.resent = true
      throw this.#reason(cause)
    }
    this.#doing = interruptedResponse
    const refused = this.#receive(response)
    if (refused !== undefined) throw await refused
    pump.delimited = response.delimited === true
    const type = contentTypeOf(response)
    const { toEvents } = this.#options.request.hosting ?? {}
    if (type.includes('event-stream') || !/json|html|^audio\//.test(type))
      return toEvents === undefined ? streamToUtf8(response) : toEvents(response.stream())
    return await this.#noStream(response, type)
  }

  #send(): Promise<TransportResponse> {
    const { target, key, request, inbound, extraHeaders, transport, stream, limits, resend } = this.#options
    if (this.#stopped !== undefined) throw stopReason(this.#stopped)
    const { lane, url, upgrade } = request
    const { upstream } = target
    let headers = upgrade?.headers(key) ?? requestHeaders(upstream, key, stream, (name) => inbound.header(name))
    if (lane.headers !== undefined) headers = { ...headers, ...lane.headers }
    headers = addFlags(headers, lane.flags)
    if (extraHeaders !== undefined) headers = { ...headers, ...extraHeaders }
    const body = upgrade === undefined ? lane.body : undefined
    const method = upgrade === undefined ? 'POST' : 'GET'
    const signal = this.#canceller
    const sent: { -readonly [K in keyof TransportRequest]: TransportRequest[K] } = {
      method,
      url,
      headers,
      body,
      signal,
    }
    put(sent, 'connectMs', limits.connectMs)
    if (!resend) sent.resend = false
    if (upstream.authorize === undefined) return transport(sent)
    const call = { method, url, headers, body }
    return addCredentials(upstream, call, signal).then((headers) => transport({ ...sent, headers }))
  }

  /** An answer has begun. Why it is none, where it says so. */
  #receive(response: TransportResponse): Promise<GatewayError> | undefined {
    const { log, request, target } = this.#options
    log.status = response.status
    if (response.resent === true) log.resent = true
    const id = response.header('x-request-id') ?? response.header('request-id')
    // Into traces and ledgers nothing goes that an upstream could hide there.
    if (id !== undefined) log.upstreamRequestId = redact(id, target.upstream)
    if (response.status >= 200 && response.status < 300) return undefined
    this.#doing = keepFailure
    return readUpstreamError(response, request.codec, target.upstream)
  }

  /** What answers a streaming call with something else than events. */
  async #noStream(response: TransportResponse, type: string): Promise<AsyncIterable<Uint8Array>> {
    const { request, limits, target } = this.#options
    const { asEvents } = request.lane
    if (asEvents !== undefined && isJson(response)) {
      const bytes = bytesToUtf8(await response.bytes(limits.answerBytes), response)
      return once(this.#inClientsSight(() => asEvents(bytes)))
    }
    // A provider may answer a stream request with a JSON error under 200.
    const error = type.includes('json') ? await readErrorUnder200(response, request.codec) : undefined
    response.discard()
    if (error !== undefined) throw toClientError(error, error.status, target.upstream)
    throw new GatewayError(
      'upstream_bad_response',
      'The upstream answered a streaming request with something that is no event stream.',
    )
  }

  /** An upstream that keeps sending, if only blanks while its model thinks, is not silent. */
  #heard(): void {
    this.#deadline = monotonicNow() + this.#options.limits.idleMs
  }

  #answered(): void {
    const { log, ticket, stream } = this.#options
    answeredNow(log, ticket, this.#startedAt, stream)
  }

  /** An error in place of the answer, under a good status, needs the same care as one under an error status. */
  #inClientsSight<T>(read: () => T): T {
    try {
      return read()
    } catch (cause) {
      if (!(cause instanceof GatewayError)) throw cause
      const { info } = cause
      throw toClientError(info, info.status, this.#options.target.upstream, {
        cause: cause.cause,
        ...(cause.hints === undefined ? {} : { hints: cause.hints }),
      })
    }
  }

  /** A failure's true reason: whoever stopped it, the clock, or what it was doing. */
  #reason(cause: unknown): GatewayError {
    if (this.#stopped !== undefined) return stopReason(this.#stopped)
    return this.#doing === keepFailure ? keepFailure(cause) : (this.#expired ?? this.#doing(cause))
  }

  #failure(cause: unknown): AttemptFailure {
    const { log, ticket, target } = this.#options
    this.#abort()
    const reason = this.#reason(cause)
    // Whoever read the answer may have repeated what the upstream said.
    const error = redactError(reason, target.upstream)
    log.error = error.info.kind
    // Of the cause itself: who stopped it, or the clock, has the word on the error, and knows nothing of it.
    if (wasResent(cause)) log.resent = true
    log.latencyMs ??= monotonicNow() - this.#startedAt
    const { hints } = error
    ticket.end(error, hints?.waitMs)
    // The same target is not called again after a time limit of the gateway's own, if the upstream says that a retry is useless, or
    // if it has no such endpoint.
    const noMore = reason === this.#expired || hints?.neverRetry === true || hasNoEndpoint(log.status)
    const retry = retryScope(error)
    return { error, retry: noMore && retry === 'same-target' ? 'other-target' : retry }
  }
}

const ring = (attempt: Attempt): void => attempt.ring()

/** The first event, or the whole answer, is there. Said once. */
function answeredNow(log: AttemptLog, ticket: TrackedAttempt, startedAt: number, stream: boolean): void {
  if (log.latencyMs !== undefined) return
  log.latencyMs = monotonicNow() - startedAt
  ticket.responseBegan(log.latencyMs, stream)
}

/** How transports tell of a call that was sent twice and failed. */
const wasResent = (cause: unknown): boolean => cause instanceof Error && 'resent' in cause && cause.resent === true

const hasNoEndpoint = (status = 0): boolean =>
  (status >= 300 && status < 400) || status === 404 || status === 405 || status === 415 || status === 501

/** It had the answer, or the upstream's own words for there being none: the clock has no say any more. */
const keepFailure: FailureMapper = (cause) => interruptedResponse(cause)

/** What is no error of ours breaks the answer off. */
const interruptedResponse = (cause: unknown): GatewayError =>
  cause instanceof GatewayError
    ? cause
    : (unreadableResponse(cause) ??
      new GatewayError('upstream_bad_response', 'The upstream broke off its answer before the first event.', { cause }))
