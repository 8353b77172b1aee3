import { maxTimerMs, monotonicNow, type Signal, unref } from '../base/async.ts'
import { concatBytes } from '../base/bytes.ts'
import { type ErrorInfo, errorFromInfo, GatewayError } from '../base/errors.ts'
import type { BodySink, CutBody, PulledBody, PulledResult } from '../http/inbound.ts'
import { isOnlyComments } from '../http/sse/blocks.ts'
import type { ResponseStream } from '../lanes/lane.ts'
import type { Pump, PumpItem, PumpWaiter } from './response-body.ts'
import {
  clientStalled,
  finalErrorGraceMs,
  firstByteTimeout,
  idleTimeout,
  totalTimeout,
  truncated,
} from './timeout-errors.ts'

export interface RelayTimes {
  /** Milliseconds without bytes for the client until a heartbeat. */
  readonly heartbeatMs: number
  /** Milliseconds without an event of the upstream until the stream fails. Comments are not events. */
  readonly idleMs: number
  /** Milliseconds without a pull until the client counts as stalled. Default: no limit. */
  readonly clientStallMs?: number
  /** When the upstream was called, by `monotonicNow`. */
  readonly startedAt?: number
  /** Deadline of the first event, by `monotonicNow`. The limit for silence applies from then on. Default: no limit. */
  readonly firstUntil?: number
  /** Deadline of the whole stream, even if the reader does not pull. Default: no limit. */
  readonly totalUntil?: number
  /** Called once, with the first event. */
  readonly onFirst?: () => void
}

/** Milliseconds for which the rest of a complete stream is read, so that the connection can be used again. */
const drainMs = 1000

/** The error for a stream that ends before its first event. */
export const emptyStream = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream closed the stream without a response.')

/** Returns the error for the client. Other exceptions than GatewayError are not shown. */
const infoOf = (error: unknown): ErrorInfo =>
  error instanceof GatewayError
    ? error.info
    : new GatewayError('internal', 'The gateway failed to handle the response of the upstream.').info

/**
 * Waits for a stream's first event for at most `holdMs`, so that an upstream's failure can still become a status. Clients time out
 * without headers. Throws the failure before the first event.
 */
export async function awaitFirstEvent(pump: Pump, stream: ResponseStream, holdMs: number): Promise<void> {
  const until = monotonicNow() + holdMs
  while (!stream.state.started && !stream.state.ended) {
    const left = until - monotonicNow()
    if (left <= 0) return
    const item = await pump.next(left)
    if (item === 'tick') return
    if (item === 'end') {
      stream.end(pump.delimited)
      if (stream.state.ended) return
      const { error } = stream.state
      throw error === undefined || error.kind === 'upstream_truncated' ? emptyStream() : errorFromInfo(error)
    }
    stream.push(item)
    // An error after the first event belongs to the stream, even if it arrived in the same chunk.
    if (stream.state.error !== undefined && !stream.state.started) throw errorFromInfo(stream.state.error)
  }
}

function endQuietly(stream: ResponseStream): void {
  try {
    stream.end()
  } catch {
    // The stream has ended for the client: its failure has no receiver.
  }
}

/**
 * Relays a stream to the client, no faster than the client reads. A truncated, stalled or broken stream ends with one error event in the
 * client's format.
 *
 * @param signal aborted when the client disconnects or stalls (`cancelled`). Another GatewayError as its reason ends the stream with that error
 * @param onEnd called exactly once, even if the stream is never read and the signal aborts
 */
export function relayStream(
  pump: Pump,
  stream: ResponseStream,
  times: RelayTimes,
  signal: Signal,
  onEnd: (end: RelayEnd) => void,
): PulledBody & CutBody {
  let over = false
  let isReported = false
  /** The clock, read once for each chunk and for each pull that comes later than the last chunk. */
  let now = monotonicNow()
  let lastIn = now
  let lastOut = now
  let deliveredAt = now
  const { firstUntil = never, totalUntil = never, clientStallMs = never } = times
  const durationUntil = (until: number): number | undefined =>
    times.startedAt === undefined ? undefined : until - times.startedAt
  let waiting = times.firstUntil !== undefined && !stream.state.started

  const reportEnd = (end: RelayEnd): void => {
    if (isReported) return
    isReported = true
    if (finalErrorTimer !== undefined) clearTimeout(finalErrorTimer)
    signal.removeEventListener('abort', onAbort)
    if (end.outcome === 'finished') pump.drain(drainMs)
    else pump.close()
    onEnd(end)
  }
  const finish = (end: RelayEnd): void => {
    over = true
    reportEnd(end)
  }
  // A client that disconnects after the whole response has aborted nothing. Some clients always do.
  const currentEnd = (): RelayEnd => {
    if (stream.state.error && !stream.state.ended) return { outcome: 'failed', error: stream.state.error }
    // A format without a terminal event decides at its end whether the response is whole.
    if (!stream.state.ended) endQuietly(stream)
    return { outcome: stream.state.ended ? 'finished' : 'aborted' }
  }
  const endByClient = (error?: GatewayError): void => {
    unread?.stop()
    const end = currentEnd()
    finish(error === undefined || end.outcome !== 'aborted' ? end : { outcome: 'aborted', error })
  }
  // A client that disconnected gets nothing more. A gateway that shuts down sends an error in the client's format.
  let stopped: GatewayError | undefined
  let finalErrorTimer: ReturnType<typeof setTimeout> | undefined
  const onAbort = (): void => {
    const { reason } = signal
    if (!(reason instanceof GatewayError) || reason.info.kind === 'cancelled') {
      endByClient(reason instanceof GatewayError ? reason : undefined)
      return
    }
    // The call ends even if the client does not read this error. It stays available for a later pull.
    finalErrorTimer = setTimeout(
      () => reportEnd(stopped === undefined ? currentEnd() : { outcome: 'failed', error: stopped }),
      finalErrorGraceMs,
    )
    // A stream that has ended keeps its own end.
    if (!stream.state.ended && stream.state.error === undefined) {
      stopped = reason
      pump.close()
    }
  }
  /** The reason why the client gets nothing more. */
  let cutError: GatewayError | undefined
  const unread =
    clientStallMs === never && totalUntil === never
      ? undefined
      : new UnreadTimer(
          {
            onTotalTimeout() {
              if (over || stopped !== undefined) return
              // Kept for a later pull of the client.
              stopped = totalTimeout(durationUntil(totalUntil))
              reportEnd({ outcome: 'failed', error: stopped })
            },
            onStalled() {
              cutError = clientStalled(clientStallMs)
              if (!over) endByClient(cutError)
              body.onCut?.(cutError)
            },
          },
          clientStallMs,
          totalUntil,
        )
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort)
  if (!over) unread?.start(now)

  const fail = (error: unknown, out: Uint8Array | undefined): PulledResult => {
    // First, since an encoder that fails as well must not keep the call open.
    reportEnd({ outcome: 'failed', error })
    const bytes = stream.fail(infoOf(error))
    over = true
    return { done: false, value: out === undefined ? bytes : concatBytes([out, bytes]), isLast: true }
  }

  /** Returns the next chunk for the client, or the end; undefined if it depends on the upstream. */
  const ready = (): PulledResult | undefined => {
    if (over) {
      if (cutError !== undefined) throw cutError
      return theEnd
    }
    if (stopped !== undefined) return fail(stopped, stream.take())
    const value = stream.take()
    if (stream.state.ended || stream.state.error !== undefined) {
      finish(currentEnd())
      return value === undefined ? theEnd : { done: false, value, isLast: true }
    }
    if (value === undefined) return undefined
    lastOut = now
    return { done: false, value }
  }
  /** Returns a heartbeat or the error of a limit during silence; undefined while there is time left. */
  const silence = (): PulledResult | undefined => {
    if (now >= totalUntil) return fail(totalTimeout(durationUntil(totalUntil)), undefined)
    if (waiting ? now >= firstUntil : now - lastIn >= times.idleMs)
      return fail(waiting ? firstByteTimeout(durationUntil(firstUntil)) : idleTimeout(), undefined)
    if (now - lastOut < times.heartbeatMs) return undefined
    lastOut = now
    return { done: false, value: stream.heartbeat() }
  }
  /** Processes bytes of the upstream, or their end. Returns an error chunk; undefined: see `ready`. */
  const process = (item: PumpItem): PulledResult | undefined => {
    if (item === 'tick') return silence()
    if (item === 'end') {
      stream.end(pump.delimited)
      return stream.state.ended || stream.state.error !== undefined ? undefined : fail(truncated(), stream.take())
    }
    if (!isOnlyComments(item)) lastIn = now
    // An upstream that is never silent may still exceed the total limit.
    if (now >= totalUntil) return fail(totalTimeout(durationUntil(totalUntil)), stream.take())
    stream.push(item)
    if (waiting && stream.state.started) {
      waiting = false
      times.onFirst?.()
    }
    return undefined
  }
  const arrived = (item: PumpItem): PulledResult | undefined => {
    if (over || stopped !== undefined) return undefined
    try {
      return process(item)
    } catch (error) {
      return broken(error)
    }
  }
  const broken = (error: unknown): PulledResult | undefined =>
    over || stopped !== undefined ? undefined : fail(truncated(error), stream.take())

  /** The sink that waits for the next bytes. */
  let client: BodySink | undefined
  /** True within the sink's `onResult`: the clock need not be read again for its pull. */
  let isDelivering = false
  const deliver = <T>(find: (what: T) => PulledResult | undefined, what: T): void => {
    let result: PulledResult | undefined
    let failure: { readonly error: unknown } | undefined
    try {
      result = find(what) ?? ready()
    } catch (error) {
      failure = { error }
    }
    if (result === undefined && failure === undefined) {
      const silentUntil = waiting ? firstUntil : lastIn + times.idleMs
      pump.listen(Math.min(lastOut + times.heartbeatMs, silentUntil, totalUntil), upstream)
      return
    }
    deliveredAt = now
    const to = client
    client = undefined
    if (result === undefined || failure !== undefined) {
      unread?.stop()
      to?.onError(failure?.error)
      return
    }
    isDelivering = true
    to?.onResult(result)
    isDelivering = false
    // A host that watches the client itself sends the last chunk together with the end, and does not pull again.
    if (result.done === true || (result.isLast === true && clientStallMs === never)) unread?.stop()
    else if (client === undefined) unread?.start(deliveredAt)
  }
  // Made once for a stream, not for each chunk: thousands of streams wait at the same time, and every minor collection copies
  // their young objects.
  const upstream: PumpWaiter = {
    onItem(item) {
      now = monotonicNow()
      deliver(arrived, item)
    },
    onError(error) {
      now = monotonicNow()
      deliver(broken, error)
    },
  }
  const pull = (to: BodySink): void => {
    client = to
    unread?.pulled()
    if (!isDelivering) {
      now = monotonicNow()
      // While the client did not read, the relay did not listen to the upstream: that time is not silence.
      lastIn += now - deliveredAt
    }
    deliver(ready, undefined)
  }
  const body = new RelayedBody(pull, endByClient)
  return body
}

const never = Number.POSITIVE_INFINITY

/** A class, since V8 creates objects with a computed member name slowly. */
class RelayedBody implements PulledBody, CutBody {
  readonly pull: PulledBody['pull']
  onCut: CutBody['onCut'] = undefined
  readonly #endByClient: () => void

  constructor(pull: PulledBody['pull'], endByClient: () => void) {
    this.pull = pull
    this.#endByClient = endByClient
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => new Promise((onResult, onError) => this.pull({ onResult, onError })),
      return: async () => {
        this.#endByClient()
        return theEnd
      },
    }
  }
}

const theEnd: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** Handlers for time limits that are exceeded while the client does not pull. */
export interface UnreadHandlers {
  /** The total limit is exceeded. Called once at most. */
  onTotalTimeout(): void
  /** The client has stalled. Called once at most, and last. */
  onStalled(): void
}

/**
 * Enforces the time limits of a body that its client does not pull, when no other code runs. One timer, started when a chunk was
 * delivered and the next one is not pulled at once. It is not re-armed for each chunk: when it fires, it checks the time left.
 */
export class UnreadTimer {
  readonly #body: UnreadHandlers
  readonly #stallMs: number
  #totalUntil: number
  /** When the last chunk was delivered; undefined while the client waits for the next one. */
  #since: number | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  /**
   * @param stallMs milliseconds without a pull; Infinity: no limit
   * @param totalUntil by `monotonicNow`; Infinity: no limit
   */
  constructor(body: UnreadHandlers, stallMs: number, totalUntil: number) {
    this.#body = body
    this.#stallMs = stallMs
    this.#totalUntil = totalUntil
  }

  /** A chunk was delivered, and the client has not pulled the next one. */
  start(since: number): void {
    this.#since = since
    if (this.#timer === undefined) this.#arm(monotonicNow())
  }

  pulled(): void {
    this.#since = undefined
  }

  stop(): void {
    this.#since = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #arm(now: number): void {
    const left = Math.min((this.#since ?? now) + this.#stallMs, this.#totalUntil) - now
    if (left === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(ring, Math.min(Math.max(0, Math.ceil(left)), maxTimerMs), this)
    unref(this.#timer)
  }

  /** Called by the timer. */
  ring(): void {
    this.#timer = undefined
    if (this.#since === undefined) return
    const now = monotonicNow()
    if (now >= this.#totalUntil) {
      this.#totalUntil = Number.POSITIVE_INFINITY
      this.#body.onTotalTimeout()
    }
    if (now - this.#since >= this.#stallMs) this.#body.onStalled()
    else this.#arm(now)
  }
}

const ring = (timer: UnreadTimer): void => timer.ring()

/** The outcome of a relayed response. */
export interface RelayEnd {
  readonly outcome: 'finished' | 'failed' | 'aborted'
  readonly error?: unknown
}
