import { unref } from '../../base/async.ts'
import { type AskingCall, fetchAndSettle } from '../stored-responses.ts'
import { foreignRecord } from './records.ts'

// A client may leave a background response and never ask for it again: its reservation would stay the charge, however much the response
// costs. So the process that began it asks its upstream, until the response has ended or a call has settled it.

const firstPauseMs = 5_000
const maxPauseMs = 5 * 60_000
/** Milliseconds after which the gateway gives up: the record of the response ends by default after the same time. */
const followMs = 24 * 60 * 60_000
/** Maximum number of responses of one caller, because each takes memory for a day. */
const maxOfCaller = 1_000

/** The number of responses that are followed, by their owner. */
const followed = new Map<string, number>()

/** Asks for a background response from time to time, and settles it when it has ended. Its client may ask for it too. */
export function followUp(call: AskingCall): void {
  const { shared, records, id } = call
  const { owner } = records
  const count = followed.get(owner) ?? 0
  if (count >= maxOfCaller) {
    shared.logger.warn(
      `modelgate: ${maxOfCaller} background responses of one caller are running; '${id}' keeps its reservation until its client asks for it`,
    )
    return
  }
  followed.set(owner, count + 1)
  const end = (): void => {
    shared.closing.removeEventListener('abort', end)
    clearTimeout(timer)
    const others = (followed.get(owner) ?? 1) - 1
    if (others === 0) followed.delete(owner)
    else followed.set(owner, others)
  }
  let timer: ReturnType<typeof setTimeout> | undefined
  let pauseMs = firstPauseMs
  let leftMs = followMs
  let lastError: unknown
  const wait = (): void => {
    leftMs -= pauseMs
    if (leftMs < 0) {
      shared.logger.warn(`modelgate: the usage of background response '${id}' is unknown after a day`, lastError)
      end()
      return
    }
    timer = setTimeout(() => void ask(), pauseMs)
    unref(timer)
    pauseMs = Math.min(2 * pauseMs, maxPauseMs)
  }
  const ask = async (): Promise<void> => {
    try {
      if (!(await isStillRunning(call))) return end()
    } catch (error) {
      lastError = error
    }
    if (!shared.closing.aborted) wait()
  }
  shared.closing.addEventListener('abort', end)
  if (shared.closing.aborted) end()
  else wait()
}

/** Settles a response if it has ended. Returns false if it is settled, deleted, or no longer known to its upstream. */
async function isStillRunning(call: AskingCall): Promise<boolean> {
  const stored = await call.records.response(call.id)
  if (stored === undefined || stored === foreignRecord || stored.kind === 'kept') return false
  return fetchAndSettle(call, stored)
}
