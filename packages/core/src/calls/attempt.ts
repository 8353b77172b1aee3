import { createCanceller, lazy, maxTimerMs, monotonicNow, type Signal, stopReason } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import { put } from '../base/json/json.ts'
import type { Inbound } from '../http/inbound.ts'
import {
  bytesToUtf8,
  streamToUtf8,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '../http/transport.ts'
import type { Lane, ResponseStream, TargetRequest } from '../lanes/lane.ts'
import type { TrackedAttempt } from '../routing/health/health.ts'
import { hasNoEndpoint, retryScope } from '../routing/retry-policy.ts'
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
import { isResentFailure, recordFailureCause } from './failure-cause.ts'
import { type FailureMapper, interruptedResponse, keepFailure } from './failure-mappers.ts'
import { contentTypeOf, createPump, isJson, lazyStream, oneChunk, type Pump } from './response-body.ts'
import { firstByteTimeout, idleTimeout, totalTimeout, truncated } from './timeout-errors.ts'

/** Inputs of an attempt. */
export interface AttemptOptions {
  readonly target: ResolvedTarget
  readonly request: TargetRequest
  readonly stream: boolean
  /** Start of the attempt, as `monotonicNow` returns it. */
  readonly startedAt: number
  /** Index of the upstream's key. */
  readonly key: number | undefined
  /** Client headers. The upstream's list selects those that are passed. */
  readonly inbound: Pick<Inbound, 'header'>
  /** Headers that plugins add. */
  readonly extraHeaders: Readonly<Record<string, string>> | undefined
  readonly transport: Transport
  /** The call's signal: aborted when the client disconnects. */
  readonly signal: Signal
  readonly limits: AttemptLimits
  /** Milliseconds for which a stream is kept back at most. After that it is relayed. */
  readonly holdMs: number
  /** Keeps a stream back until its end, not only until its first event. */
  readonly holdsToEnd: boolean
  /** Filled in as the response arrives, for a stream even after the attempt's end. */
  readonly log: AttemptLog
  readonly trackedAttempt: TrackedAttempt
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

/**
 * One call to one target: sends the request, waits for a response or a stream's first event within the limits, classifies the result. A
 * class rather than a function with closures, which would allocate more for each call.
 */
export class Attempt {
  /** The attempt has ended, or its stream is being relayed. */
  settled = false
  readonly #options: AttemptOptions
  /** Aborted by a limit, by a client that disconnects, or by a faster attempt. */
  readonly #canceller = createCanceller()
  readonly #totalUntil: number
  // One timer for all limits, re-armed when it fires: one timer for each limit costs measurable time.
  #deadline: number
  #timer: ReturnType<typeof setTimeout> | undefined
  /** The response has begun: the limit for silence applies. */
  #hasBegun = false
  /** The error of the limit that was exceeded. */
  #expired: GatewayError | undefined
  #toError: FailureMapper = unreachable
  /** The reason of an abort from outside. */
  #abortedBy: Pick<Signal, 'reason'> | undefined

  constructor(options: AttemptOptions) {
    this.#options = options
    const { limits, signal, stream, startedAt } = options
    this.#totalUntil = limits.totalMs < maxTimerMs ? startedAt + limits.totalMs : Number.POSITIVE_INFINITY
    this.#deadline = startedAt + limits.firstByteMs
    // Once a whole response has begun, the limit for silence may be the shorter one.
    const soonest = stream ? limits.firstByteMs : Math.min(limits.firstByteMs, limits.idleMs)
    this.#timer = setTimeout(ring, Math.min(soonest, limits.totalMs), this)
    if (signal.aborted) this.handleEvent()
    else signal.addEventListener('abort', this)
  }

  /** Never rejects: a failure is a value, so that the caller can try the next target. */
  async run(): Promise<AttemptResult | AttemptFailure> {
    const { signal, stream, request, limits } = this.#options
    try {
      if (stream && request.upgrade === undefined) return await this.#openStream()
      const response = await this.#send()
      if (request.upgrade !== undefined) return await this.#acceptUpgrade(response)
      const refused = this.#receive(response)
      if (refused !== undefined) throw await refused
      this.#hasBegun = true
      this.#restartIdleLimit()
      this.#toError = truncated
      const { passes } = request.lane
      if (passes !== undefined && !isJson(response)) return await this.#openBytes(response, passes)
      const bytes = bytesToUtf8(await response.bytes(limits.answerBytes, () => this.#restartIdleLimit()), response)
      clearTimeout(this.#timer)
      this.#toError = keepFailure
      const whole = this.#withClientError(() => request.lane.readResponse(bytes))
      this.#recordResponse()
      return { kind: 'whole', response: whole }
    } catch (cause) {
      return this.#toFailure(cause)
    } finally {
      this.settled = true
      // A stream's relay listens to the client's signal itself.
      signal.removeEventListener('abort', this)
    }
  }

  /** Cancels the attempt and the response that has begun. */
  cancel(reason?: unknown): void {
    this.#abortedBy ??= { reason }
    this.#abort(reason)
  }

  /** Listener of the call's signal. */
  handleEvent(): void {
    this.cancel(this.#options.signal.reason)
  }

  /** Called by the timer. */
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
        : this.#hasBegun
          ? idleTimeout()
          : firstByteTimeout(limits.firstByteMs)
    this.#canceller.abort()
  }

  #abort(reason?: unknown): void {
    clearTimeout(this.#timer)
    this.#canceller.abort(reason)
  }

  async #acceptUpgrade(response: TransportResponse): Promise<AttemptResult> {
    const { log, trackedAttempt: ticket } = this.#options
    const refused = response.status === 101 ? undefined : this.#receive(response)
    if (refused !== undefined) throw await refused
    if (response.status !== 101) {
      response.discard()
      throw new GatewayError('upstream_bad_response', 'The upstream did not upgrade the connection to a WebSocket.')
    }
    clearTimeout(this.#timer)
    log.status = response.status
    log.latencyMs = monotonicNow() - this.#options.startedAt
    // The latency of a connection is not recorded: it says nothing about that of responses.
    ticket.responseBegan(undefined, true)
    return { kind: 'upgraded' }
  }

  async #openBytes(response: TransportResponse, passes: NonNullable<Lane['passes']>): Promise<AttemptResult> {
    const [{ relayBytes }, { awaitFirstChunk, contentLengthOf, passedHeaders }] = await loadByteRelay()
    const pump = createPump(await awaitFirstChunk(response, passes))
    clearTimeout(this.#timer)
    this.#recordResponse()
    const length = contentLengthOf(response)
    return {
      kind: 'bytes',
      relay: relayBytes,
      pump,
      headers: this.#redactHeaders(passedHeaders(response, length)),
      length,
      ...this.#relayOptions(),
    }
  }

  /** Removes the upstream's secrets from headers that pass. */
  #redactHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
    const { upstream } = this.#options.target
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redact(value, upstream)]))
  }

  async #openStream(): Promise<AttemptResult> {
    const { request, holdMs, holdsToEnd, target } = this.#options
    const loadingStream = request.lane.loadStream?.()
    const loadingRelay = streamRelay()
    const { awaitFirstEvent, relayStream } = loadingRelay instanceof Promise ? await loadingRelay : loadingRelay
    if (loadingStream !== undefined) await loadingStream
    const pump: Pump = createPump(lazyStream(() => this.#openEvents(pump)))
    const stream = request.lane.openStream()
    try {
      if (holdsToEnd) await this.#holdToEnd(pump, stream)
      else await awaitFirstEvent(pump, stream, holdMs)
    } catch (cause) {
      pump.close()
      const { error } = stream.state
      // An error response that was being read keeps its own status, even if reading it timed out.
      if (this.#toError !== keepFailure) this.#toError = stream.state.started ? truncated : interruptedResponse
      // The stream's decoder reports a truncation for any end. Before the first event, the cause is more exact.
      const isUnspecific = error === undefined || error.kind === 'upstream_truncated'
      throw isUnspecific ? cause : toClientError(error, error.status, target.upstream)
    }
    clearTimeout(this.#timer)
    if (stream.state.started || stream.state.ended) this.#recordResponse()
    const { abort, times, onFirst } = this.#relayOptions()
    return { kind: 'stream', relay: relayStream, pump, stream, abort, times, onFirst }
  }

  /**
   * Returns what a relay needs. It must not hold the attempt: the request, in all its forms, would stay in memory as long as the
   * stream lasts.
   */
  #relayOptions(): { readonly abort: () => void; readonly times: StreamTimes; readonly onFirst: () => void } {
    const { log, trackedAttempt: ticket, limits, startedAt } = this.#options
    const canceller = this.#canceller
    const times = {
      startedAt,
      idleMs: limits.idleMs,
      firstUntil: startedAt + limits.firstByteMs,
      totalUntil: this.#totalUntil,
    }
    return { abort: () => canceller.abort(), times, onFirst: () => recordLatency(log, ticket, startedAt, true) }
  }

  async #openEvents(pump: Pump): Promise<AsyncIterable<Uint8Array>> {
    let response: TransportResponse
    try {
      response = await this.#send()
    } catch (cause) {
      if (isResentFailure(cause)) this.#options.log.resent = true
      throw this.#errorFor(cause)
    }
    this.#toError = interruptedResponse
    const refused = this.#receive(response)
    if (refused !== undefined) throw await refused
    pump.delimited = response.delimited === true
    const type = contentTypeOf(response)
    const { lane, hosting } = this.#options.request
    const toEvents = lane.readsFrames === true ? undefined : hosting?.toEvents
    // `event-stream` for server-sent events, `eventstream` for binary frames.
    if (/event-?stream/.test(type) || !/json|html|^audio\//.test(type))
      return toEvents === undefined ? streamToUtf8(response) : toEvents(response.stream())
    return await this.#readNonStream(response, type)
  }

  #send(): Promise<TransportResponse> {
    const { target, key, request, inbound, extraHeaders, transport, stream, limits, resend } = this.#options
    if (this.#abortedBy !== undefined) throw stopReason(this.#abortedBy)
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
    put(sent, 'webSocket', request.webSocket)
    if (upstream.authorize === undefined) return transport(sent)
    const call = { method, url, headers, body }
    return addCredentials(upstream, call, signal).then((headers) => transport({ ...sent, headers }))
  }

  /** Records the status and id of a response. Returns its error unless the status is good. */
  #receive(response: TransportResponse): Promise<GatewayError> | undefined {
    const { log, request, target } = this.#options
    log.status = response.status
    if (response.resent === true) log.resent = true
    const id = response.header('x-request-id') ?? response.header('request-id')
    // An upstream could put a secret into its id, which reaches traces and ledgers.
    if (id !== undefined) log.upstreamRequestId = redact(id, target.upstream)
    if (response.status >= 200 && response.status < 300) return undefined
    this.#toError = keepFailure
    return readUpstreamError(response, request.codec, target.upstream)
  }

  /** Handles a response to a streaming call that is not an event stream. */
  async #readNonStream(response: TransportResponse, type: string): Promise<AsyncIterable<Uint8Array>> {
    const { request, limits, target } = this.#options
    const { asEvents } = request.lane
    if (asEvents !== undefined && isJson(response)) {
      const bytes = bytesToUtf8(await response.bytes(limits.answerBytes), response)
      return oneChunk(this.#withClientError(() => asEvents(bytes)))
    }
    // A provider may respond to a streaming request with a JSON error under 200.
    const error = type.includes('json') ? await readErrorUnder200(response, request.codec) : undefined
    response.discard()
    if (error !== undefined) throw toClientError(error, error.status, target.upstream)
    throw new GatewayError(
      'upstream_bad_response',
      'The upstream responded to a streaming request with a body that is not an event stream.',
    )
  }

  /** Restarts the limit for silence. An upstream that sends blanks while its model thinks is not silent. */
  #restartIdleLimit(): void {
    this.#deadline = monotonicNow() + this.#options.limits.idleMs
  }

  async #holdToEnd(pump: Pump, stream: ResponseStream): Promise<void> {
    const { awaitStreamEnd } = await import('./hold-stream.ts')
    await awaitStreamEnd(pump, stream, this.#options.holdMs, this.#canceller, () => {
      this.#restartIdleLimit()
      if (this.#hasBegun) return
      this.#hasBegun = true
      // Re-armed: it waits for the limit of the first event.
      clearTimeout(this.#timer)
      this.ring()
      this.#recordResponse()
    })
  }

  #recordResponse(): void {
    recordLatency(this.#options.log, this.#options.trackedAttempt, this.#options.startedAt, this.#options.stream)
  }

  /** Redacts and classifies an error under a good status as one under an error status. */
  #withClientError<T>(read: () => T): T {
    try {
      return read()
    } catch (cause) {
      if (!(cause instanceof GatewayError)) throw cause
      throw toClientError(cause.info, cause.info.status, this.#options.target.upstream, {
        cause: cause.cause,
        ...(cause.hints === undefined ? {} : { hints: cause.hints }),
      })
    }
  }

  /** Returns the reason of a failure: an abort from outside, a limit, or the current phase. */
  #errorFor(cause: unknown): GatewayError {
    if (this.#abortedBy !== undefined) return stopReason(this.#abortedBy)
    return this.#toError === keepFailure ? keepFailure(cause) : (this.#expired ?? this.#toError(cause))
  }

  #toFailure(cause: unknown): AttemptFailure {
    const { log, trackedAttempt: ticket, target } = this.#options
    this.#abort()
    const reason = this.#errorFor(cause)
    // The message may quote the upstream.
    const error = redactError(reason, target.upstream)
    log.error = error.info.kind
    recordFailureCause(log, error)
    // Read from the cause: the error of a limit or an abort does not know it.
    if (isResentFailure(cause)) log.resent = true
    log.latencyMs ??= monotonicNow() - this.#options.startedAt
    const { hints } = error
    const cooldownMs = ticket.end(error, hints?.waitMs)
    if (cooldownMs !== undefined) log.cooldownMs = cooldownMs
    // The same target is not retried after a limit of the gateway, if the upstream says that a retry is useless, or if it has no
    // such endpoint.
    const noMore = reason === this.#expired || hints?.neverRetry === true || hasNoEndpoint(log.status)
    const retry = retryScope(error)
    return { error, retry: noMore && retry === 'same-target' ? 'other-target' : retry }
  }
}

/** Loads the relay of streams, with the first call that streams. */
export const streamRelay = lazy(() => import('./relay-stream.ts'))

/** The same for bytes that pass unchanged. */
const loadByteRelay = lazy(() => Promise.all([import('./relay-bytes.ts'), import('./passed-bytes.ts')]))

const ring = (attempt: Attempt): void => attempt.ring()

/** Records the latency of the first event or of the whole response, once. */
function recordLatency(log: AttemptLog, ticket: TrackedAttempt, startedAt: number, stream: boolean): void {
  if (log.latencyMs !== undefined) return
  log.latencyMs = monotonicNow() - startedAt
  ticket.responseBegan(log.latencyMs, stream)
}
