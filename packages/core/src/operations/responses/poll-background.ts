import { unref } from '../../base/async.ts'
import { fetchAndSettle, type PollingCall } from '../stored-responses.ts'
import { foreignRecord } from './records.ts'

// A client may leave a background response and never request it again: its reservation would stay the charge, however much the response
// costs. So the process that began the response polls its upstream, until the response is settled: here or by a call.

const firstPauseMs = 5_000
const maxPauseMs = 5 * 60_000
const maxHours = 24
/** Milliseconds after which the gateway gives up: the record of the response ends by default after the same time. */
const maxMs = maxHours * 60 * 60_000
/** Maximum number of responses of one caller, because each takes memory for a day. */
const maxOfOwner = 1_000

/** Polls a background response at growing intervals, and settles it when it has ended. Its client may request it too. */
export function pollBackground(call: PollingCall): void {
  const { shared, records, id } = call
  const { polledByOwner, logger, closing } = shared
  const { owner } = records
  const polls = polledByOwner.get(owner) ?? { count: 0, hasWarned: false }
  if (polls.count >= maxOfOwner) {
    if (!polls.hasWarned)
      logger.warn(
        `modelgate: not polling background response '${id}': ${maxOfOwner.toLocaleString('en-US')} responses of this caller are already polled. The reservations of this response and of further ones stay charged until the client requests them.`,
      )
    polls.hasWarned = true
    return
  }
  polls.count += 1
  polledByOwner.set(owner, polls)
  const end = (): void => {
    closing.removeEventListener('abort', end)
    clearTimeout(timer)
    polls.count -= 1
    if (polls.count === 0) polledByOwner.delete(owner)
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  let pauseMs = firstPauseMs
  let leftMs = maxMs
  let lastError: unknown
  const wait = (): void => {
    leftMs -= pauseMs
    if (leftMs < 0) {
      logger.warn(
        `modelgate: gave up on background response '${id}' after ${maxHours} hours: its usage is unknown, and its reservation stays charged.`,
        lastError,
      )
      end()
      return
    }
    timer = setTimeout(() => void poll(), pauseMs)
    unref(timer)
    pauseMs = Math.min(2 * pauseMs, maxPauseMs)
  }
  const poll = async (): Promise<void> => {
    try {
      if ((await settleIfEnded(call)) === 'ended') return end()
    } catch (error) {
      lastError = error
    }
    if (!closing.aborted) wait()
  }
  closing.addEventListener('abort', end)
  if (closing.aborted) end()
  else wait()
}

/** Settles a response if it has ended. A response that is settled, deleted, or no longer known to its upstream counts as ended. */
async function settleIfEnded(call: PollingCall): Promise<'running' | 'ended'> {
  const stored = await call.records.response(call.id)
  if (stored === undefined || stored === foreignRecord || stored.kind === 'kept') return 'ended'
  return fetchAndSettle(call, stored)
}
