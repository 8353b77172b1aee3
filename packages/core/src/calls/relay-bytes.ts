import { monotonicNow, type Signal } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { CutBody } from '../http/inbound.ts'
import { type RelayEnd, UnreadTimer } from './relay-stream.ts'
import type { Pump } from './response-body.ts'
import { clientStalled, idleTimeout, totalTimeout, truncated } from './timeout-errors.ts'

export interface BytesTimes {
  /** Milliseconds of silence of the upstream until it is given up. */
  readonly idleMs: number
  /** When the upstream was called, by `monotonicNow`. */
  readonly startedAt: number
  /** When all must be over, by `monotonicNow`, also if the reader does not pull. */
  readonly totalUntil: number
  /** Milliseconds without a pull until the client is given up; Infinity: no limit. */
  readonly clientStallMs: number
}

/**
 * Bytes that pass as they are (speech, subtitles), pulled no faster than the client reads. They have no place for an error:
 * what breaks off throws, so that the adapter breaks the connection and nobody takes half a file for a whole one.
 *
 * @param length bytes that were announced to the client: the body that is passed on has neither more nor fewer
 * @param onEnd called exactly once, however it ends, also if nobody ever reads and the signal aborts
 */
export function relayBytes(
  pump: Pump,
  length: number | undefined,
  { idleMs, startedAt, totalUntil, clientStallMs }: BytesTimes,
  signal: Signal,
  onEnd: (end: RelayEnd) => void,
): CutBody {
  let over = false
  let stopped: GatewayError | undefined
  let left = length ?? Number.POSITIVE_INFINITY
  const finish = (end: RelayEnd): void => {
    if (over) return
    over = true
    signal.removeEventListener('abort', onAbort)
    pump.close()
    onEnd(end)
  }
  const onAbort = (): void => {
    unread.stop()
    const { reason } = signal
    if (!(reason instanceof GatewayError)) finish({ outcome: 'aborted' })
    else if (reason.info.kind === 'cancelled') finish({ outcome: 'aborted', error: reason })
    else {
      stopped = reason
      finish({ outcome: 'failed', error: stopped })
    }
  }
  /** Ends the body although its reader does not pull it. */
  const cut = (error: GatewayError, outcome: RelayEnd['outcome']): void => {
    unread.stop()
    stopped ??= error
    finish({ outcome, error })
    body.onCut?.(error)
  }
  const late = (): GatewayError => totalTimeout(totalUntil - startedAt)
  const unread = new UnreadTimer(
    {
      onTotal() {
        if (!over) cut(late(), 'failed')
      },
      onStalled: () => cut(clientStalled(clientStallMs), 'aborted'),
    },
    clientStallMs,
    totalUntil,
  )
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort)

  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    unread.pulled()
    if (over) return ended()
    try {
      const item = await pump.next(Math.max(0, Math.min(idleMs, totalUntil - monotonicNow())))
      if (over) return ended()
      const now = monotonicNow()
      if (now >= totalUntil && item !== 'end') throw late()
      if (item === 'tick') throw idleTimeout()
      if (item !== 'end') {
        left -= item.length
        if (left < 0) throw tooLong()
        unread.start(now)
        return { done: false, value: item }
      }
      if (length !== undefined && left > 0) throw truncated()
      finish({ outcome: 'finished' })
    } catch (cause) {
      const error = truncated(cause)
      finish({ outcome: 'failed', error })
      unread.stop()
      throw error
    }
    return ended()
  }
  const ended = (): IteratorResult<Uint8Array> => {
    unread.stop()
    if (stopped !== undefined) throw stopped
    return { done: true, value: undefined }
  }
  const body: CutBody = {
    onCut: undefined,
    [Symbol.asyncIterator]: () => ({
      next,
      async return() {
        unread.stop()
        finish({ outcome: 'aborted' })
        return { done: true, value: undefined }
      },
    }),
  }
  if (!over) unread.start(monotonicNow())
  return body
}

const tooLong = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream sent more bytes than it had announced.')
