import { monotonicNow, type Signal } from '../base/async.ts'
import { errorFromInfo } from '../base/errors.ts'
import { isOnlyComments } from '../http/sse/blocks.ts'
import type { ResponseStream } from '../lanes/lane.ts'
import { emptyStream } from './relay-stream.ts'
import type { Pump } from './response-body.ts'
import { truncated } from './timeout-errors.ts'

/** Bytes of a stream that is kept back. A longer one is relayed. */
const maxHeldBytes = 8 * 1024 * 1024

/**
 * Waits for a stream's end for at most `holdMs`, so that another attempt can replace a stream that breaks. Its output stays in `stream`.
 * Throws each failure in that time. A stream that is not complete by then goes on.
 *
 * @param signal ends the wait, even if the transport does not
 * @param onEvents called after each chunk with more than comments, from the first event on
 */
export async function awaitStreamEnd(
  pump: Pump,
  stream: ResponseStream,
  holdMs: number,
  signal: Signal,
  onEvents: () => void,
): Promise<void> {
  const until = monotonicNow() + holdMs
  let heldBytes = 0
  const onAbort = (): void => pump.close()
  signal.addEventListener('abort', onAbort)
  try {
    while (!stream.state.ended && heldBytes <= maxHeldBytes) {
      const left = until - monotonicNow()
      if (left <= 0) return
      const item = await pump.next(left)
      if (item === 'tick') return
      if (item === 'end') stream.end(pump.delimited)
      else stream.push(item)
      const { ended, error, started } = stream.state
      if (ended) return
      if (error !== undefined) throw errorFromInfo(error)
      if (item === 'end') throw started ? truncated() : emptyStream()
      heldBytes += item.length
      if (started && !isOnlyComments(item)) onEvents()
    }
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
