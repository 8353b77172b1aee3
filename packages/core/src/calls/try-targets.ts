import type { CallRecord } from '../accounting/call-record.ts'
import { monotonicNow } from '../base/clock.ts'
import { stopReason } from '../base/signal.ts'
import { maxTimerMs, sleep } from '../base/sleep.ts'
import type { Limits, TargetLimits } from '../config/config.ts'
import type { OnLoss } from '../config/identity.ts'
import { loadFullCodec } from '../formats/codec-registry.ts'
import type { Ticket } from '../routing/health/standing.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { admitCall } from './admission.ts'
import { Attempt, type AttemptLimits } from './attempt.ts'
import type { AttemptLog } from './attempt-log.ts'
import type { AttemptFailure, AttemptResult } from './attempt-result.ts'
import type { Prepare, Prepared, TargetCall } from './call.ts'
import type { Candidate, Step } from './candidate.ts'
import { hedged, type RunningAttempt } from './hedge.ts'
import { notifyRequest, traceHeaders } from './plugin-hooks.ts'
import { orderTargets, planFor, selectTargets, type TargetSelection } from './select-targets.ts'
import { type SearchOptions, TargetSelector } from './target-selector.ts'

/** What answered, and under which policy for losses. */
export interface Answered<P extends Prepared> {
  readonly prepared: P
  readonly policy: OnLoss
  readonly result: AttemptResult
  readonly ticket: Ticket
  readonly log: AttemptLog
  readonly target: ResolvedTarget
}

/**
 * Calls the model's targets until one answers: the plan's order, the same target again where that may help, then the next
 * (docs/routing.md). Throws the GatewayError that says most: the last attempt's, or why no target could be called at all.
 *
 * @param options what the operation leaves out. Default: nothing
 */
export async function tryTargets<P extends Prepared>(
  call: TargetCall,
  prepare: Prepare<P>,
  options: SearchOptions = {},
): Promise<Answered<P>> {
  const { shared, record, signal } = call
  const { health } = shared
  notifyRequest(call)
  const plan = planFor(call)
  const admitted = admitCall(call, plan.targets)
  // Not awaited needlessly: counting in this process is done at once.
  if (admitted !== undefined) await admitted
  // A target's `when` is told at once what the request uses.
  const whole = plan.conditional && call.codec !== undefined ? loadFullCodec(call.codec) : undefined
  const selection = selectTargets(call, plan, whole instanceof Promise ? await whole : whole)
  const { affinity } = selection
  const groups = candidatesOf<P>(call, selection)
  const search = new TargetSelector(call, plan, groups, prepare, options)
  const hedgeMs = options.hedges === false ? undefined : plan.hedgeMs
  const first = search.first()
  // Not awaited needlessly: most requests are made ready at once.
  let current = first instanceof Promise ? await first : first
  while (current !== undefined) {
    if (current.waitMs > 0) await sleep(current.waitMs, signal)
    // While it slept, or others were chosen for beside it, somebody may have found out that the target is gone.
    if (current.reason !== 'first' || current.waitMs > 0)
      if (health.standing(current.candidate.target, record.identity).state === 'failing') {
        current = await search.instead()
        continue
      }
    // Whoever left while the request was made ready (an upload came, code was loaded) is not called for.
    if (signal.aborted) throw stopReason(signal)
    const started = launch(call, current, affinity, search)
    if (hedgeMs === undefined) {
      const result = await started.done
      if (!('error' in result)) {
        search.answered()
        return answeredBy(started, result)
      }
      warnOfRefusal(call, current, result)
      current = await search.after(current, result)
      continue
    }
    const { answered, failed } = await hedged(started, hedgeMs, async () => {
      const other = search.left() > 0 ? await search.fresh() : undefined
      // It may have answered while an upload was made ready.
      if (
        other === undefined ||
        started.attempt.settled ||
        !health.takeRetry(other.target, plan.retry, record.identity)
      )
        return undefined
      return launch(call, search.step(other, 'hedge'), affinity, search)
    })
    for (const { step: tried, failure } of failed) warnOfRefusal(call, tried, failure)
    if (answered !== undefined) {
      const { launched, result } = answered
      search.answered()
      recordTarget(record, launched.step.candidate.target, launched.step.prepared)
      return answeredBy(launched, result)
    }
    current = undefined
    // What went wrong with the one that was only called beside the other is not the call's to tell.
    for (const { step: tried, failure } of failed)
      if (tried.reason === 'hedge') tried.candidate.out = failure.retry !== 'same-target'
      else current = await search.after(tried, failure)
  }
  throw search.failure()
}

/** The selected targets in the order in which they are tried. */
function candidatesOf<P extends Prepared>(
  { shared, record }: TargetCall,
  selection: TargetSelection,
): readonly (readonly Candidate<P>[])[] {
  const { targets } = selection
  const [sole] = targets
  if (sole !== undefined && targets.length === 1) return [[candidateOf(sole)]]
  return orderTargets(selection, shared.health.latencies, record.stream).map((group) =>
    group.map((target) => candidateOf<P>(target)),
  )
}

const candidateOf = <P extends Prepared>(target: ResolvedTarget): Candidate<P> => ({
  target,
  out: false,
  calls: 0,
  readyAt: 0,
  lossless: false,
  prepared: undefined,
  policy: 'warn',
})

function launch<P extends Prepared>(
  call: TargetCall,
  step: Step<P>,
  affinity: string | undefined,
  search: TargetSelector<P>,
): RunningAttempt<P> {
  const { shared, record, inbound, transport, signal } = call
  const { candidate, prepared, reason, waitMs } = step
  const { target } = candidate
  const ticket = shared.health.enter(target, affinity, record.identity)
  const log: AttemptLog = {
    upstream: target.upstreamName,
    model: target.model,
    reason,
    startedMs: performance.now() - record.startedAt,
  }
  if (ticket.key !== undefined) log.key = ticket.key
  if (waitMs > 0) log.waitedMs = waitMs
  candidate.calls++
  record.attempts.push(log)
  // The first one to be called stands for the call until another answers.
  if (reason !== 'hedge') recordTarget(record, target, prepared)
  const attempt = new Attempt({
    target,
    prepared,
    stream: record.stream,
    key: ticket.key,
    inbound,
    extraHeaders: traceHeaders(call, log),
    transport,
    signal,
    limits: limitsFor(target, shared.limits),
    holdMs: Math.max(0, search.holdUntil - monotonicNow()),
    log,
    ticket,
    // The first one in any case: an idle connection that has just been closed is no failure.
    resend: reason === 'first' || search.left() > 0,
  })
  return { step, attempt, done: attempt.run(), ticket, log }
}

function answeredBy<P extends Prepared>({ step, ticket, log }: RunningAttempt<P>, result: AttemptResult): Answered<P> {
  const { prepared, candidate } = step
  return { prepared, policy: candidate.policy, result, ticket, log, target: candidate.target }
}

/** Also where another target saves the call: somebody has to mend it. */
function warnOfRefusal<P extends Prepared>(
  { shared, record }: TargetCall,
  { candidate }: Step<P>,
  { error }: AttemptFailure,
): void {
  if (error.info.kind !== 'upstream_auth') return
  const { upstreamName } = candidate.target
  shared.logger.warn(
    `modelgate: upstream '${upstreamName}' refused the configured credentials (request ${record.requestId})`,
    error.cause,
  )
}

function recordTarget(record: CallRecord, target: ResolvedTarget, { lane }: Prepared): void {
  record.upstream = target.upstreamName
  record.upstreamModel = target.model
  if (lane.upstreamFormat !== undefined) record.upstreamFormat = lane.upstreamFormat
  record.lane = lane.kind
  record.losses = lane.report.losses
}

/** The gateway's, for targets without limits of their own. */
const commonLimits = new WeakMap<Required<Limits>, AttemptLimits>()

function limitsFor({ limits: own }: ResolvedTarget, limits: Required<Limits>): AttemptLimits {
  if (own !== undefined) return limitsOf(own, limits)
  let common = commonLimits.get(limits)
  if (common === undefined) {
    common = limitsOf({}, limits)
    commonLimits.set(limits, common)
  }
  return common
}

function limitsOf(own: TargetLimits, limits: Required<Limits>): AttemptLimits {
  const { connectMs } = own
  return {
    connectMs: connectMs === undefined ? undefined : Math.min(connectMs, maxTimerMs),
    firstByteMs: Math.min(own.firstByteMs ?? limits.firstByteMs, maxTimerMs),
    idleMs: Math.min(own.idleMs ?? limits.idleMs, maxTimerMs),
    totalMs: Math.min(own.totalMs ?? limits.totalMs, maxTimerMs),
    answerBytes: limits.answerBytes,
  }
}
