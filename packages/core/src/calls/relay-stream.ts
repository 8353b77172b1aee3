import type { Signal } from '../base/async.ts'
import { maxTimerMs, monotonicNow } from '../base/async.ts'
import { concatBytes } from '../base/bytes.ts'
import { type ErrorInfo, errorFromInfo, GatewayError } from '../base/errors.ts'
import type { BodySink, CutBody, PulledBody } from '../http/inbound.ts'
import { isOnlyComments } from '../http/sse/blocks.ts'
import type { ResponseStream } from '../lanes/lane.ts'
import type { Pump, Pumped, PumpWaiter } from './response-body.ts'
import {
  clientStalled,
  finalErrorGraceMs,
  firstByteTimeout,
  idleTimeout,
  totalTimeout,
  truncated,
} from './timeout-errors.ts'

export interface RelayTimes {
  /** Silence towards the client until a heartbeat. */
  readonly heartbeatMs: number
  /** Milliseconds without an event of the upstream until it is given up; comments are no events. */
  readonly idleMs: number
  /** Milliseconds without a pull until the client is given up. Default: no such limit. */
  readonly clientStallMs?: number
  /** When the upstream was called, by `monotonicNow`. */
  readonly startedAt?: number
  /** Until when, by `monotonicNow`, the first event must be there; the limit for silence holds from then on. Default: no such limit. */
  readonly firstUntil?: number
  /** Until when all must be over, also if the reader does not pull. Default: no limit. */
  readonly totalUntil?: number
  /** Called when the first event comes, once. */
  readonly onFirst?: () => void
}

/** An upstream has said its last word but not closed: how long the connection may take to become free again. */
const drainMs = 1000

/** A stream that ended before its first real event: an empty one, or something else than events. */
const nothingSaid = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream ended its stream without an answer.')

/** What the client is told of any failure; strangers' errors stay in the process. */
const infoOf = (error: unknown): ErrorInfo =>
  error instanceof GatewayError
    ? error.info
    : new GatewayError('internal', 'The gateway failed to handle the answer.').info

/**
 * Waits for a stream's first real event, so that an upstream's failure can still become a status, for at most `holdMs`:
 * clients give up on silent headers. Throws what went wrong before the first event.
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
      throw error === undefined || error.kind === 'upstream_truncated' ? nothingSaid() : errorFromInfo(error)
    }
    stream.push(item)
    // However the bytes were split: an error behind the first real event belongs to the stream.
    if (stream.state.error !== undefined && !stream.state.started) throw errorFromInfo(stream.state.error)
  }
}

function endQuietly(stream: ResponseStream): void {
  try {
    stream.end()
  } catch {
    // What broke in it is nobody's any more.
  }
}

/**
 * The client's bytes, pulled no faster than the client reads. Nothing ends well here that did not end well upstream: a
 * cut, a stall or a broken event becomes one error event in the client's dialect.
 *
 * @param signal aborted when the client has left, or does not read (`cancelled`); aborted with another GatewayError as its reason, it ends the stream with that error.
 * @param onEnd called exactly once, however the stream ends, also if nobody ever reads it and the signal aborts.
 */
export function relay(
  pump: Pump,
  stream: ResponseStream,
  times: RelayTimes,
  signal: Signal,
  onEnd: (end: RelayEnd) => void,
): PulledBody & CutBody {
  let over = false
  let booked = false
  /** The clock as it was last read: once for what arrives, and once for a pull that comes later than what was handed over. */
  let now = monotonicNow()
  let lastIn = now
  let lastOut = now
  let handedOver = now
  const { firstUntil = never, totalUntil = never, clientStallMs = never } = times
  const limitOf = (until: number): number | undefined =>
    times.startedAt === undefined ? undefined : until - times.startedAt
  let waiting = times.firstUntil !== undefined && !stream.state.started

  const closeBooks = (end: RelayEnd): void => {
    if (booked) return
    booked = true
    if (lastWords !== undefined) clearTimeout(lastWords)
    signal.removeEventListener('abort', onAbort)
    if (end.outcome === 'finished') pump.drain(drainMs)
    else pump.close()
    onEnd(end)
  }
  const finish = (end: RelayEnd): void => {
    over = true
    closeBooks(end)
  }
  // A client that leaves once the whole answer is out has not aborted anything: some always do.
  const endSoFar = (): RelayEnd => {
    if (stream.state.error && !stream.state.ended) return { outcome: 'failed', error: stream.state.error }
    // A format without a terminal event knows that it was whole only when it is asked.
    if (!stream.state.ended) endQuietly(stream)
    return { outcome: stream.state.ended ? 'finished' : 'aborted' }
  }
  const leave = (error?: GatewayError): void => {
    unread?.stop()
    const end = endSoFar()
    finish(error === undefined || end.outcome !== 'aborted' ? end : { outcome: 'aborted', error })
  }
  // A client that left gets nothing more; a gateway that must stop says so in the client's dialect.
  let stopped: GatewayError | undefined
  let lastWords: ReturnType<typeof setTimeout> | undefined
  const onAbort = (): void => {
    const { reason } = signal
    if (!(reason instanceof GatewayError) || reason.info.kind === 'cancelled') {
      leave(reason instanceof GatewayError ? reason : undefined)
      return
    }
    // A client that does not read even this much is not waited for; should it read later, the words are still there.
    lastWords = setTimeout(
      () => closeBooks(stopped === undefined ? endSoFar() : { outcome: 'failed', error: stopped }),
      finalErrorGraceMs,
    )
    // What has come to its end already needs no other one.
    if (!stream.state.ended && stream.state.error === undefined) {
      stopped = reason
      pump.close()
    }
  }
  /** Why the client gets nothing more. */
  let cutBy: GatewayError | undefined
  const unread =
    clientStallMs === never && totalUntil === never
      ? undefined
      : new UnreadTimer(
          {
            onTotal() {
              if (over || stopped !== undefined) return
              // Kept for the client, should it read again.
              stopped = totalTimeout(limitOf(totalUntil))
              closeBooks({ outcome: 'failed', error: stopped })
            },
            onStalled() {
              cutBy = clientStalled(clientStallMs)
              if (!over) leave(cutBy)
              body.onCut?.(cutBy)
            },
          },
          clientStallMs,
          totalUntil,
        )
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort)
  if (!over) unread?.start(now)

  const fail = (error: unknown, out: Uint8Array | undefined): IteratorResult<Uint8Array> => {
    // First: an encoder that fails as well must not keep the call open.
    closeBooks({ outcome: 'failed', error })
    const bytes = stream.fail(infoOf(error))
    over = true
    return { done: false, value: out === undefined ? bytes : concatBytes([out, bytes]) }
  }

  /** What there is for the client already; undefined while only the upstream can tell. */
  const ready = (): IteratorResult<Uint8Array> | undefined => {
    if (over) {
      if (cutBy !== undefined) throw cutBy
      return theEnd
    }
    if (stopped !== undefined) return fail(stopped, stream.take())
    const value = stream.take()
    if (stream.state.ended || stream.state.error !== undefined) {
      finish(endSoFar())
      return value === undefined ? theEnd : { done: false, value }
    }
    if (value === undefined) return undefined
    lastOut = now
    return { done: false, value }
  }
  /** The limits' own answer to silence: undefined while there is time left. */
  const silence = (): IteratorResult<Uint8Array> | undefined => {
    if (now >= totalUntil) return fail(totalTimeout(limitOf(totalUntil)), undefined)
    if (waiting ? now >= firstUntil : now - lastIn >= times.idleMs)
      return fail(waiting ? firstByteTimeout(limitOf(firstUntil)) : idleTimeout(), undefined)
    if (now - lastOut < times.heartbeatMs) return undefined
    lastOut = now
    return { done: false, value: stream.heartbeat() }
  }
  /** What the upstream's bytes, or their end, come to at once; undefined: see `ready`. */
  const take = (item: Pumped): IteratorResult<Uint8Array> | undefined => {
    if (item === 'tick') return silence()
    if (item === 'end') {
      stream.end(pump.delimited)
      return stream.state.ended || stream.state.error !== undefined ? undefined : fail(truncated(), stream.take())
    }
    if (!isOnlyComments(item)) lastIn = now
    // An upstream that never falls silent may still take too long.
    if (now >= totalUntil) return fail(totalTimeout(limitOf(totalUntil)), stream.take())
    stream.push(item)
    if (waiting && stream.state.started) {
      waiting = false
      times.onFirst?.()
    }
    return undefined
  }
  const arrived = (item: Pumped): IteratorResult<Uint8Array> | undefined => {
    if (over || stopped !== undefined) return undefined
    try {
      return take(item)
    } catch (error) {
      return broken(error)
    }
  }
  const broken = (error: unknown): IteratorResult<Uint8Array> | undefined =>
    over || stopped !== undefined ? undefined : fail(truncated(error), stream.take())

  /** Who waits for the next bytes. */
  let client: BodySink | undefined
  /** Within a sink's `onResult`: a pull that comes now is not late. */
  let isHandingOver = false
  const answer = <T>(find: (what: T) => IteratorResult<Uint8Array> | undefined, what: T): void => {
    let result: IteratorResult<Uint8Array> | undefined
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
    handedOver = now
    const to = client
    client = undefined
    if (result === undefined || failure !== undefined) {
      unread?.stop()
      to?.onError(failure?.error)
      return
    }
    isHandingOver = true
    to?.onResult(result)
    isHandingOver = false
    if (result.done === true) unread?.stop()
    else if (client === undefined) unread?.start(handedOver)
  }
  // Nothing is made for one chunk alone: thousands of streams wait at the same time, and what each of them waits with is
  // carried along by every minor collection.
  const upstream: PumpWaiter = {
    onItem(item) {
      now = monotonicNow()
      answer(arrived, item)
    },
    onError(error) {
      now = monotonicNow()
      answer(broken, error)
    },
  }
  const pull = (to: BodySink): void => {
    client = to
    unread?.pulled()
    if (!isHandingOver) {
      now = monotonicNow()
      // While the client did not read, nobody listened to the upstream: that silence is not its own.
      lastIn += now - handedOver
    }
    answer(ready, undefined)
  }
  const body = new RelayedBody(pull, leave)
  return body
}

const never = Number.POSITIVE_INFINITY

/** A class, as an object with a member of a computed name is made in the slowest way there is. */
class RelayedBody implements PulledBody, CutBody {
  readonly pull: PulledBody['pull']
  onCut: CutBody['onCut'] = undefined
  readonly #leave: () => void

  constructor(pull: PulledBody['pull'], leave: () => void) {
    this.pull = pull
    this.#leave = leave
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => new Promise((onResult, onError) => this.pull({ onResult, onError })),
      return: async () => {
        this.#leave()
        return theEnd
      },
    }
  }
}

const theEnd: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** Handlers for time limits that end while no reader pulls a body. */
export interface UnreadBody {
  /** The call's total time limit is over. Called once at most. */
  onTotal(): void
  /** The client has not pulled for as long as it may. Called once at most; nothing follows. */
  onStalled(): void
}

/**
 * The time limits of a body whose client does not pull it: nothing else runs then that could notice. One timer, made when a chunk
 * has been handed over and the next one is not pulled at once. It is not re-armed for each chunk: when it rings, it looks how much
 * time is left.
 */
export class UnreadTimer {
  readonly #body: UnreadBody
  readonly #stallMs: number
  #totalUntil: number
  /** When the last chunk was handed over; undefined while the client waits for the next one. */
  #since: number | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  /**
   * @param stallMs milliseconds without a pull; Infinity: no limit
   * @param totalUntil by `monotonicNow`; Infinity: no limit
   */
  constructor(body: UnreadBody, stallMs: number, totalUntil: number) {
    this.#body = body
    this.#stallMs = stallMs
    this.#totalUntil = totalUntil
  }

  /** A chunk has been handed over, and the client has not asked for the next one. */
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

  /** The timer. */
  ring(): void {
    this.#timer = undefined
    if (this.#since === undefined) return
    const now = monotonicNow()
    if (now >= this.#totalUntil) {
      this.#totalUntil = Number.POSITIVE_INFINITY
      this.#body.onTotal()
    }
    if (now - this.#since >= this.#stallMs) this.#body.onStalled()
    else this.#arm(now)
  }
}

const ring = (timer: UnreadTimer): void => timer.ring()

/** On Node: a body that was dropped unread must not keep the process alive. */
function unref(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref()
}

/** How a relayed stream ended, for the books. */
export interface RelayEnd {
  readonly outcome: 'finished' | 'failed' | 'aborted'
  readonly error?: unknown
}
