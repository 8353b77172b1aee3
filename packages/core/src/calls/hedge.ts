import { maxTimerMs } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { TrackedAttempt } from '../routing/health/health.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptFailure, AttemptLog, AttemptResult, Step } from './call.ts'

/** An attempt in progress. */
export interface RunningAttempt {
  readonly step: Step
  readonly attempt: Attempt
  readonly done: Promise<AttemptResult | AttemptFailure>
  readonly trackedAttempt: TrackedAttempt
  readonly log: AttemptLog
}

/** The outcome of one attempt, or of two in parallel. */
interface Outcome {
  readonly winner?: { readonly launched: RunningAttempt; readonly result: AttemptResult }
  /** Failures of the attempts; at least one if there is no winner. The hedge's failure comes first. */
  readonly failed: readonly { readonly step: Step; readonly failure: AttemptFailure }[]
}

async function awaitAlone(launched: RunningAttempt): Promise<Outcome> {
  const result = await launched.done
  return 'error' in result
    ? { failed: [{ step: launched.step, failure: result }] }
    : { winner: { launched, result }, failed: [] }
}

/** Starts a second attempt if the first has not responded after `hedgeMs`. The first response wins, and the other attempt is cancelled. */
export async function raceHedge(
  first: RunningAttempt,
  hedgeMs: number,
  another: () => Promise<RunningAttempt | undefined>,
): Promise<Outcome> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const slow = new Promise<'slow'>((resolve) => {
    timer = setTimeout(() => resolve('slow'), Math.min(hedgeMs, maxTimerMs))
  })
  const early = await Promise.race([first.done, slow])
  clearTimeout(timer)
  const second = early === 'slow' ? await another() : undefined
  if (second === undefined) return awaitAlone(first)
  const failed: { step: Step; failure: AttemptFailure }[] = []
  const running = new Set([first, second])
  while (running.size > 0) {
    const [attempted, result] = await Promise.race([...running].map(async (one) => [one, await one.done] as const))
    running.delete(attempted)
    if ('error' in result) {
      // The hedge's failure comes first: that of the planned attempt decides how the call continues.
      if (attempted !== first) failed.unshift({ step: attempted.step, failure: result })
      else {
        failed.push({ step: attempted.step, failure: result })
        // The request itself is at fault. The hedge cannot tell: its target may support less.
        if (result.retry === 'none') for (const other of running) cancelAttempt(other)
        if (result.retry === 'none') break
      }
      continue
    }
    for (const other of running) cancelAttempt(other)
    return { winner: { launched: attempted, result }, failed }
  }
  return { failed }
}

/** Cancels the losing attempt. A response that arrives at the same moment is discarded. */
function cancelAttempt({ attempt, log, done, trackedAttempt: ticket }: RunningAttempt): void {
  log.error ??= 'cancelled'
  const reason = new GatewayError('cancelled', 'Another target was faster.')
  attempt.cancel(reason)
  void done.then((loser) => {
    if ('error' in loser) return
    ticket.end(reason)
    if (loser.kind === 'whole' || loser.kind === 'upgraded') return
    loser.pump.close()
    loser.abort()
  })
}
