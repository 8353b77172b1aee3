import { maxTimerMs } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { TrackedAttempt } from '../routing/health/health.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptLog } from './attempt-log.ts'
import type { AttemptFailure, AttemptResult } from './attempt-result.ts'
import type { Prepared } from './call.ts'
import type { Step } from './candidate.ts'

/** An attempt on its way. */
export interface RunningAttempt<P extends Prepared> {
  readonly step: Step<P>
  readonly attempt: Attempt
  readonly done: Promise<AttemptResult | AttemptFailure>
  readonly ticket: TrackedAttempt
  readonly log: AttemptLog
}

/** What came of one attempt, or of two side by side. */
interface Outcome<P extends Prepared> {
  readonly answered?: { readonly launched: RunningAttempt<P>; readonly result: AttemptResult }
  /** Without an answer there is at least one; a hedge's stands before the other. */
  readonly failed: readonly { readonly step: Step<P>; readonly failure: AttemptFailure }[]
}

async function alone<P extends Prepared>(launched: RunningAttempt<P>): Promise<Outcome<P>> {
  const result = await launched.done
  return 'error' in result
    ? { failed: [{ step: launched.step, failure: result }] }
    : { answered: { launched, result }, failed: [] }
}

/** A second attempt beside the first, where that has not answered after a while. The first to answer wins. */
export async function hedged<P extends Prepared>(
  first: RunningAttempt<P>,
  hedgeMs: number,
  another: () => Promise<RunningAttempt<P> | undefined>,
): Promise<Outcome<P>> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const slow = new Promise<'slow'>((resolve) => {
    timer = setTimeout(() => resolve('slow'), Math.min(hedgeMs, maxTimerMs))
  })
  const early = await Promise.race([first.done, slow])
  clearTimeout(timer)
  const second = early === 'slow' ? await another() : undefined
  if (second === undefined) return alone(first)
  const failed: { step: Step<P>; failure: AttemptFailure }[] = []
  const running = new Set([first, second])
  while (running.size > 0) {
    const [who, result] = await Promise.race([...running].map(async (one) => [one, await one.done] as const))
    running.delete(who)
    if ('error' in result) {
      // The hedge first: the one that was called by right decides where to go on.
      if (who !== first) failed.unshift({ step: who.step, failure: result })
      else {
        failed.push({ step: who.step, failure: result })
        // The request's own fault. (The hedge's word is not enough: its target may be less able.)
        if (result.retry === 'none') for (const other of running) giveUp(other)
        if (result.retry === 'none') break
      }
      continue
    }
    for (const other of running) giveUp(other)
    return { answered: { launched: who, result }, failed }
  }
  return { failed }
}

/** Its answer, should one come at the same moment, is nobody's. */
function giveUp<P extends Prepared>({ attempt, log, done, ticket }: RunningAttempt<P>): void {
  log.error ??= 'cancelled'
  const reason = new GatewayError('cancelled', 'Another target was faster.')
  attempt.cancel(reason)
  void done.then((late) => {
    if ('error' in late) return
    ticket.end(reason)
    if (late.kind === 'whole' || late.kind === 'upgraded') return
    late.pump.close()
    late.abort()
  })
}
