import { unref } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import type { GatewayContext } from '../../calls/call.ts'
import { fetchAndSettle, type PollingCall } from '../stored-responses.ts'
import { processTurns } from './poll-turns.ts'
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
/** Seconds after which a caller with too many may try again. */
const retrySeconds = 30
/** Each pause differs by up to this part: responses that began at the same moment are not polled at the same moments. */
const spread = 0.2

/** @throws GatewayError `rate_limited` for a caller that has the largest number of background responses that have not ended */
export function checkPolled({ polledByOwner }: Pick<GatewayContext, 'polledByOwner'>, owner: string): void {
  if ((polledByOwner.get(owner)?.ends.size ?? 0) < maxOfOwner) return
  throw new GatewayError(
    'rate_limited',
    `You have ${maxOfOwner.toLocaleString('en-US')} background responses that have not ended, the largest number for a caller. Wait until some have ended.`,
    { param: 'background', retryAfter: retrySeconds },
  )
}

/** Polls a background response at growing intervals, and settles it when it has ended. Its client may request it too. */
export function pollBackground(call: PollingCall): void {
  const { shared, records, id } = call
  const { polledByOwner, logger, closing } = shared
  const { owner } = records
  const polls = polledByOwner.get(owner) ?? { ends: new Map(), hasWarned: false }
  // Requests that were admitted at the same time may be more.
  if (polls.ends.size >= maxOfOwner) {
    if (!polls.hasWarned)
      logger.warn(
        `modelgate: not polling background response '${id}': ${maxOfOwner.toLocaleString('en-US')} responses of this caller are already polled. The reservations of this response and of further ones stay charged until the client requests them.`,
      )
    polls.hasWarned = true
    return
  }
  let hasEnded = false
  const end = (): void => {
    if (hasEnded) return
    hasEnded = true
    closing.removeEventListener('abort', end)
    clearTimeout(timer)
    polls.ends.delete(id)
    if (polls.ends.size === 0) polledByOwner.delete(owner)
  }
  polls.ends.get(id)?.()
  polls.ends.set(id, end)
  polledByOwner.set(owner, polls)
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
    timer = setTimeout(() => void poll(), pauseMs * (1 - spread + 2 * spread * Math.random()))
    unref(timer)
    pauseMs = Math.min(2 * pauseMs, maxPauseMs)
  }
  const poll = async (): Promise<void> => {
    try {
      const state = await processTurns.run(owner, async () => (hasEnded ? 'ended' : await settleIfEnded(call)))
      if (state === 'ended') return end()
    } catch (error) {
      lastError = error
    }
    if (!hasEnded) wait()
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
