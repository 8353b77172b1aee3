import { maxTimerMs } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import type { TrackedAttempt } from '../routing/health/health.ts'
import type { Attempt } from './attempt.ts'
import type { AttemptFailure, AttemptLog, AttemptResult, Step } from './call.ts'

/** An attempt on its way. */
export interface RunningAttempt {
  readonly step: Step
  readonly attempt: Attempt
  readonly done: Promise<AttemptResult | AttemptFailure>
  readonly ticket: TrackedAttempt
  readonly log: AttemptLog
}

/** What came of one attempt, or of two side by side. */
interface Outcome {
  readonly answered?: { readonly launched: RunningAttempt; readonly result: AttemptResult }
  /** Without an answer there is at least one; a hedge's stands before the other. */
  readonly failed: readonly { readonly step: Step; readonly failure: AttemptFailure }[]
}

async function alone(launched: RunningAttempt): Promise<Outcome> {
  const result = await launched.done
  return 'error' in result
    ? { failed: [{ step: launched.step, failure: result }] }
    : { answered: { launched, result }, failed: [] }
}

/** A second attempt beside the first, where that has not answered after a while. The first to answer wins. */
export async function hedged(
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
  if (second === undefined) return alone(first)
  const failed: { step: Step; failure: AttemptFailure }[] = []
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
function giveUp({ attempt, log, done, ticket }: RunningAttempt): void {
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
