import { GatewayError } from './errors.ts'
import { fellSilent, tookTooLong } from './late.ts'
import type { Pump } from './pump.ts'
import { type RelayEnd, truncated } from './relay.ts'
import type { Signal } from './signal.ts'

/**
 * Bytes that pass as they are (speech, subtitles), pulled no faster than the client reads. They have no place for an error:
 * what breaks off throws, so that the adapter breaks the connection and nobody takes half a file for a whole one.
 *
 * @param length bytes that were announced to the client: the body that is passed on has neither more nor fewer
 * @param times `idleMs`: silence of the upstream until it is given up; `totalUntil`: when all must be over, in milliseconds since 1970
 * @param onEnd called exactly once, however it ends, also if nobody ever reads and the signal aborts
 */
export function relayBytes(
  pump: Pump,
  length: number | undefined,
  { idleMs, totalUntil }: { readonly idleMs: number; readonly totalUntil: number },
  signal: Signal,
  onEnd: (end: RelayEnd) => void,
): AsyncIterable<Uint8Array> {
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
    const { reason } = signal
    stopped = reason instanceof GatewayError && reason.info.kind !== 'cancelled' ? reason : undefined
    finish(stopped === undefined ? { outcome: 'aborted' } : { outcome: 'failed', error: stopped })
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort)

  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    if (over) return ended()
    try {
      const item = await pump.next(Math.max(0, Math.min(idleMs, totalUntil - Date.now())))
      if (over) return ended()
      if (Date.now() >= totalUntil && item !== 'end') throw tookTooLong()
      if (item === 'tick') throw fellSilent()
      if (item !== 'end') {
        left -= item.length
        if (left < 0) throw tooLong()
        return { done: false, value: item }
      }
      if (length !== undefined && left > 0) throw truncated()
      finish({ outcome: 'finished' })
    } catch (cause) {
      const error = truncated(cause)
      finish({ outcome: 'failed', error })
      throw error
    }
    return ended()
  }
  const ended = (): IteratorResult<Uint8Array> => {
    if (stopped !== undefined) throw stopped
    return { done: true, value: undefined }
  }
  return {
    [Symbol.asyncIterator]: () => ({
      next,
      async return() {
        finish({ outcome: 'aborted' })
        return { done: true, value: undefined }
      },
    }),
  }
}

const tooLong = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream sent more bytes than it had announced.')
