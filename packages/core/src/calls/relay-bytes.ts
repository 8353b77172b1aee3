import { monotonicNow, type Signal } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { CutBody } from '../http/inbound.ts'
import { type RelayEnd, UnreadTimer } from './relay-stream.ts'
import type { Pump } from './response-body.ts'
import { clientStalled, idleTimeout, totalTimeout, truncated } from './timeout-errors.ts'

export interface BytesTimes {
  /** Milliseconds without bytes of the upstream until the response fails. */
  readonly idleMs: number
  /** When the upstream was called, by `monotonicNow`. */
  readonly startedAt: number
  /** Deadline of the whole response, by `monotonicNow`, even if the reader does not pull. */
  readonly totalUntil: number
  /** Milliseconds without a pull until the client counts as stalled; Infinity: no limit. */
  readonly clientStallMs: number
}

/**
 * Relays bytes unchanged (speech, subtitles), no faster than the client reads. They have no place for an error: a failure throws, so that
 * the adapter breaks the connection and no client mistakes half a file for a whole one.
 *
 * @param length bytes that the headers announce: the relayed body has exactly as many
 * @param onEnd called exactly once, even if the body is never read and the signal aborts
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
  /** Ends the body while its reader does not pull it. */
  const cut = (error: GatewayError, outcome: RelayEnd['outcome']): void => {
    unread.stop()
    stopped ??= error
    finish({ outcome, error })
    body.onCut?.(error)
  }
  const totalTimeoutError = (): GatewayError => totalTimeout(totalUntil - startedAt)
  const unread = new UnreadTimer(
    {
      onTotalTimeout() {
        if (!over) cut(totalTimeoutError(), 'failed')
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
      if (now >= totalUntil && item !== 'end') throw totalTimeoutError()
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
