import type { CallRecord } from '../accounting/call-record.ts'
import { maxTimerMs, monotonicNow, sleep, stopReason } from '../base/async.ts'
import type { OnLoss } from '../config/identity.ts'
import type { Limits, TargetLimits } from '../config/limits.ts'
import type { Codec } from '../formats/codec.ts'
import { loadFullCodec } from '../formats/codec-registry.ts'
import { bodyFields } from '../formats/request-body.ts'
import type { TargetRequest } from '../lanes/lane.ts'
import { callAffinity, continuesState, effectiveStrategy } from '../routing/affinity.ts'
import type { Latencies, TrackedAttempt } from '../routing/health/health.ts'
import { orderByStrategy } from '../routing/order-targets.ts'
import { createRequestTraits, matchesWhen } from '../routing/request-traits.ts'
import { checkNamedModels, type Plan, type ResolvedTarget } from '../routing/router.ts'
import { admitCall } from './admission.ts'
import { Attempt, type AttemptLimits } from './attempt.ts'
import type { AttemptFailure, AttemptLog, AttemptResult, Candidate, SelectingCall, Step, TargetCall } from './call.ts'
import { hedged, type RunningAttempt } from './hedge.ts'
import { notifyRequest, traceHeaders } from './plugin-hooks.ts'
import { TargetSelector } from './target-selector.ts'

/** What answered, and under which policy for losses. */
export interface TargetResponse {
  readonly request: TargetRequest
  readonly policy: OnLoss
  readonly result: AttemptResult
  readonly ticket: TrackedAttempt
  readonly log: AttemptLog
  readonly target: ResolvedTarget
}

/**
 * Calls the model's targets until one answers: the plan's order, the same target again where that may help, then the next
 * (docs/routing.md). Throws the GatewayError that says most: the last attempt's, or why no target could be called at all.
 *
 * @param options what the operation leaves out. Default: nothing
 */
export async function tryTargets(call: TargetCall): Promise<TargetResponse> {
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
  const groups = candidatesOf(call, selection)
  const search = new TargetSelector(call, plan, groups)
  const hedgeMs = call.search?.hedges === false ? undefined : plan.hedgeMs
  const first = search.first()
  // Not awaited needlessly: most requests are made ready at once.
  let current = first instanceof Promise ? await first : first
  while (current !== undefined) {
    if (current.waitMs > 0) await sleep(current.waitMs, signal)
    // While it slept, or others were chosen for beside it, somebody may have found out that the target is gone.
    if (current.reason !== 'first' || current.waitMs > 0)
      if (health.availability(current.candidate.target, record.identity).state === 'failing') {
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
        !health.spendRetry(other.target, plan.retry, record.identity)
      )
        return undefined
      return launch(call, search.step(other, 'hedge'), affinity, search)
    })
    for (const { step: tried, failure } of failed) warnOfRefusal(call, tried, failure)
    if (answered !== undefined) {
      const { launched, result } = answered
      search.answered()
      recordTarget(record, launched.step.candidate.target, launched.step.request)
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
function candidatesOf({ shared, record }: TargetCall, selection: TargetSelection): readonly (readonly Candidate[])[] {
  const { targets } = selection
  const [sole] = targets
  if (sole !== undefined && targets.length === 1) return [[candidateOf(sole)]]
  return orderTargets(selection, shared.health.latencies, record.stream).map((group) =>
    group.map((target) => candidateOf(target)),
  )
}

export const candidateOf = (target: ResolvedTarget): Candidate => ({
  target,
  out: false,
  calls: 0,
  readyAt: 0,
  lossless: false,
  request: undefined,
  refusal: undefined,
  policy: 'warn',
})

function launch(call: TargetCall, step: Step, affinity: string | undefined, search: TargetSelector): RunningAttempt {
  const { shared, record, inbound, transport, signal } = call
  const { candidate, request, reason, waitMs } = step
  const { target } = candidate
  const ticket = shared.health.startAttempt(target, affinity, record.identity)
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
  if (reason !== 'hedge') recordTarget(record, target, request)
  const attempt = new Attempt({
    target,
    request,
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

function answeredBy({ step, ticket, log }: RunningAttempt, result: AttemptResult): TargetResponse {
  const { request, candidate } = step
  return { request, policy: candidate.policy, result, ticket, log, target: candidate.target }
}

/** Also where another target saves the call: somebody has to mend it. */
function warnOfRefusal({ shared, record }: TargetCall, { candidate }: Step, { error }: AttemptFailure): void {
  if (error.info.kind !== 'upstream_auth') return
  const { upstreamName } = candidate.target
  shared.logger.warn(
    `modelgate: upstream '${upstreamName}' refused the configured credentials (request ${record.requestId})`,
    error.cause,
  )
}

function recordTarget(record: CallRecord, target: ResolvedTarget, { lane }: TargetRequest): void {
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

/** The targets that a request is meant for, and how its call chooses among them. */
export interface TargetSelection {
  /** As configured: not in the order in which they are tried. */
  readonly targets: readonly ResolvedTarget[]
  readonly strategy: Plan['strategy']
  /** The call shares this with others that should reach the same target and key. */
  readonly affinity: string | undefined
}

/** The plan for a call's model. Throws a GatewayError if its caller may not use the model, or another one that the request names. */
export function planFor(call: SelectingCall): Plan {
  const { shared, record } = call
  const plan = shared.router.plan(record.model, record.identity)
  checkNamedModels(call, shared.router, record.identity)
  return plan
}

/** @param codec of a chat request, for the features that a target's `when` may ask for. Needed where the plan is conditional */
export function selectTargets(call: SelectingCall, plan: Plan, codec: Codec | undefined): TargetSelection {
  const { request, record, inbound } = call
  const fields = bodyFields(request)
  const continues = continuesState(call.codec, fields)
  const strategy = effectiveStrategy(plan.strategy, continues)
  const affinity = callAffinity(call.codec, strategy, continues, fields, record.identity, inbound)
  const targets = plan.conditional ? targetsMeantFor(call, codec, plan.targets) : plan.targets
  return { targets, strategy, affinity }
}

/** The selected targets in the order in which they are tried, those of the same priority together. */
export const orderTargets = (
  { targets, strategy, affinity }: TargetSelection,
  latencies: Pick<Latencies, 'expectedMs' | 'claimMeasurement'>,
  stream: boolean,
): readonly (readonly ResolvedTarget[])[] => orderByStrategy(targets, strategy, { latencies, stream, affinity })

function targetsMeantFor(
  { request, inbound, record, shared }: SelectingCall,
  codec: Codec | undefined,
  targets: readonly ResolvedTarget[],
): readonly ResolvedTarget[] {
  let traits: ReturnType<typeof createRequestTraits> | undefined
  const traitsOfCall = (): ReturnType<typeof createRequestTraits> => {
    traits ??= createRequestTraits({ codec, request, inbound, record })
    return traits
  }
  return targets.filter((target) => matchesWhen(target, traitsOfCall, shared.logger))
}
