import type { CallRecord } from '../accounting/call-record.ts'
import { lazy, maxTimerMs, monotonicNow, sleep, stopReason } from '../base/async.ts'
import type { GatewayError } from '../base/errors.ts'
import type { OnLoss } from '../config/identity.ts'
import type { Limits, TargetLimits } from '../config/limits.ts'
import type { ClientCodec } from '../formats/codec.ts'
import { loadFullCodec } from '../formats/codec-registry.ts'
import type { TargetRequest } from '../lanes/lane.ts'
import { callAffinity, continuesState, conversationAffinity } from '../routing/affinity.ts'
import type { Latencies, TrackedAttempt } from '../routing/health/health.ts'
import { orderByStrategy } from '../routing/order-targets.ts'
import type { matchingTargets } from '../routing/request-traits.ts'
import { checkNamedModels, type ModelNamingCall, type Plan, type ResolvedTarget } from '../routing/router.ts'
import type { TargetCards } from '../routing/target-cards.ts'
import { admitCall } from './admission.ts'
import { Attempt, type AttemptLimits } from './attempt.ts'
import type {
  AttemptFailure,
  AttemptLog,
  AttemptResult,
  Candidate,
  GatewayContext,
  SelectingCall,
  Step,
  TargetCall,
} from './call.ts'
import type { RunningAttempt } from './hedge.ts'
import { additionalHeaders, notifyRequest } from './plugin-hooks.ts'
import { TargetSelector } from './target-selector.ts'

/** The response of a target, and the policy for losses under which it was called. */
export interface TargetResponse {
  readonly request: TargetRequest
  readonly policy: OnLoss
  readonly result: AttemptResult
  readonly trackedAttempt: TrackedAttempt
  readonly log: AttemptLog
  readonly target: ResolvedTarget
}

/**
 * Calls the model's targets until one responds: in the plan's order, with retries of the same target before the next one
 * (docs/guide/retries.md). Throws the GatewayError of the last attempt, or the reason why no target could be called.
 */
export async function tryTargets(call: TargetCall): Promise<TargetResponse> {
  const { shared, record, signal } = call
  const { health } = shared
  recordRequest(call)
  const hasPlugins = shared.plugins.length > 0
  const early = record.admittedRequest
  record.admittedRequest = undefined
  if (hasPlugins && early === undefined) notifyRequest(call)
  const plan = planFor(call, early === call.request)
  if (hasPlugins) {
    if (early === undefined) {
      const admitted = admitCall(call, plan.targets)
      // Limits that this process counts are checked without a promise.
      if (admitted !== undefined) await admitted
    } else if (early !== call.request) {
      const { extendAdmission } = await import('./extend-admission.ts')
      await extendAdmission(call, plan.targets)
    }
  }
  const conditions = plan.conditional ? loadConditions(call) : undefined
  const cards = plan.fits ? shared.cards.load() : undefined
  const selection = selectTargets(
    call,
    plan,
    conditions instanceof Promise ? await conditions : conditions,
    cards instanceof Promise ? await cards : cards,
  )
  const { affinity, tooSmall } = selection
  if (selection.targets.length === 0 && tooSmall !== undefined && tooSmall.size > 0) {
    // The first error is that of the target which accepts the most tokens.
    const [error] = tooSmall.values()
    throw error
  }
  const groups = createCandidates(call, selection)
  const selector = new TargetSelector(call, plan, groups)
  const hedgeMs = call.search?.hedges === false ? undefined : plan.hedgeMs
  const race = hedgeMs === undefined ? undefined : await hedge()
  const first = selector.first()
  // Most requests are prepared without a promise.
  let current = first instanceof Promise ? await first : first
  while (current !== undefined) {
    if (current.waitMs > 0) await sleep(current.waitMs, signal)
    // Another call may have found the target failing during the wait or the selection.
    if (current.reason !== 'first' || current.waitMs > 0)
      if (health.availability(current.candidate.target, record.identity).state === 'failing') {
        current = await selector.replacement()
        continue
      }
    // The client disconnected while the request was prepared.
    if (signal.aborted) throw stopReason(signal)
    const started = startAttempt(call, current, affinity, selector)
    if (race === undefined || hedgeMs === undefined) {
      const result = await started.done
      if (!('error' in result)) {
        selector.succeed()
        return toTargetResponse(started, result)
      }
      warnOfRefusal(call, current, result)
      current = await selector.afterFailure(current, result)
      continue
    }
    const { winner: answered, failed } = await race(started, hedgeMs, async () => {
      const other = selector.attemptsLeft() > 0 ? await selector.nextUntried() : undefined
      // The first attempt may have ended while an upload was prepared.
      if (
        other === undefined ||
        started.attempt.settled ||
        !health.spendRetry(other.target, plan.retry, record.identity)
      )
        return undefined
      return startAttempt(call, selector.step(other, 'hedge'), affinity, selector)
    })
    for (const { step: tried, failure } of failed) warnOfRefusal(call, tried, failure)
    if (answered !== undefined) {
      const { launched, result } = answered
      selector.succeed()
      recordTarget(record, launched.step.candidate.target, launched.step.request)
      return toTargetResponse(launched, result)
    }
    current = undefined
    // The failure of a hedge is not the call's error.
    for (const { step: tried, failure } of failed)
      if (tried.reason === 'hedge') tried.candidate.isOut = failure.retry !== 'same-target'
      else current = await selector.afterFailure(tried, failure)
  }
  throw selector.finalError()
}

/** Returns the selected targets in the order in which they are tried. */
function createCandidates(
  { shared, record }: TargetCall,
  selection: TargetSelection,
): readonly (readonly Candidate[])[] {
  const { targets } = selection
  const [sole] = targets
  if (sole !== undefined && targets.length === 1) return [[createCandidate(sole)]]
  return orderTargets(selection, shared.health.latencies, record.stream).map((group) =>
    group.map((target) => createCandidate(target)),
  )
}

export const createCandidate = (target: ResolvedTarget): Candidate => ({
  target,
  isOut: false,
  attempts: 0,
  readyAt: 0,
  isLossless: false,
  request: undefined,
  refusal: undefined,
  policy: 'warn',
})

/** The code of conditions (`when`), and the codec of a generation request, whose features they read synchronously. */
interface Conditions {
  readonly matchingTargets: typeof matchingTargets
  readonly codec: ClientCodec | undefined
}

type ConditionalCall = Pick<SelectingCall, 'codec'> & Pick<TargetCall, 'shared'>

/** Loads the conditions of a plan with `when`. Returns them without a promise once they have been loaded. */
export function loadConditions({ codec, shared }: ConditionalCall): Conditions | Promise<Conditions> {
  const found = shared.parts.loadConditions()
  const whole = codec === undefined ? undefined : loadFullCodec(codec)
  if (!(found instanceof Promise || whole instanceof Promise))
    return { matchingTargets: found.matchingTargets, codec: whole }
  return Promise.all([found, whole]).then(([{ matchingTargets }, codec]) => ({ matchingTargets, codec }))
}

/** Loads the race of two attempts, with the first call that may hedge. */
const hedge = lazy(() => import('./hedge.ts').then(({ raceHedge }) => raceHedge))

function startAttempt(
  call: TargetCall,
  step: Step,
  affinity: string | undefined,
  selector: TargetSelector,
): RunningAttempt {
  const { shared, record, inbound, signal } = call
  const { candidate, reason, waitMs } = step
  const { target } = candidate
  const startedAt = monotonicNow()
  const ticket = shared.health.startAttempt(target, affinity, record.identity)
  const log: AttemptLog = {
    upstream: target.upstreamName,
    model: target.model,
    reason,
    startedMs: startedAt - record.startedAt,
  }
  if (ticket.key !== undefined) log.key = ticket.key
  if (waitMs > 0) log.waitedMs = waitMs
  candidate.attempts++
  record.attempts.push(log)
  // The call record shows the planned target unless a hedge wins.
  if (reason !== 'hedge') recordTarget(record, target, step.request)
  const { request, transport } =
    record.capture === undefined
      ? { request: step.request, transport: call.transport }
      : record.capture.watchAttempt(record.attempts.length - 1, target.upstream, step.request, call.transport)
  const attempt = new Attempt({
    target,
    request,
    stream: record.stream,
    startedAt,
    key: ticket.key,
    inbound,
    extraHeaders:
      shared.plugins.length > 0 || inbound.header('traceparent') !== undefined
        ? additionalHeaders(call, log)
        : undefined,
    transport,
    signal,
    limits: limitsFor(target, shared.limits),
    holdMs: Math.max(0, selector.holdUntil - startedAt),
    holdsToEnd: selector.holdsToEnd,
    log,
    trackedAttempt: ticket,
    // Always allowed for the first attempt: an idle connection that was just closed is no failure.
    resend: reason === 'first' || selector.attemptsLeft() > 0,
  })
  return { step, attempt, done: attempt.run(), trackedAttempt: ticket, log }
}

function toTargetResponse(
  { step, trackedAttempt: ticket, log }: RunningAttempt,
  result: AttemptResult,
): TargetResponse {
  const { request, candidate } = step
  return { request, policy: candidate.policy, result, trackedAttempt: ticket, log, target: candidate.target }
}

/** Warns about rejected credentials, even if another target responds: the operator has to fix them. */
function warnOfRefusal({ shared, record }: TargetCall, { candidate }: Step, { error }: AttemptFailure): void {
  if (error.info.kind !== 'upstream_auth' || shared.plugins.some(({ logsAttempts }) => logsAttempts)) return
  const { upstreamName } = candidate.target
  shared.logger.warn(
    `modelgate: upstream '${upstreamName}' rejected the configured credentials (request ${record.requestId})`,
    error.cause,
  )
}

function recordTarget(record: CallRecord, target: ResolvedTarget, { lane }: TargetRequest): void {
  record.upstream = target.upstreamName
  record.upstreamModel = target.model
  if (lane.upstreamFormat !== undefined) record.upstreamFormat = lane.upstreamFormat
  record.lane = lane.kind
  record.requestedTier = lane.tier
  record.losses = lane.report.losses
}

/** The gateway's limits, for targets without their own. */
const commonLimits = new WeakMap<Required<Limits>, AttemptLimits>()

function limitsFor({ limits: targetLimits }: ResolvedTarget, limits: Required<Limits>): AttemptLimits {
  if (targetLimits !== undefined) return limitsOf(targetLimits, limits)
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

/** The targets whose conditions match a request, and how to order them. */
export interface TargetSelection {
  /** In the configured order, not in that in which they are tried. */
  readonly targets: readonly ResolvedTarget[]
  readonly strategy: Plan['strategy']
  /** Calls with the same value should reach the same target and key. */
  readonly affinity: string | undefined
  /** The targets that the request does not fit, with the error for it; the target that accepts the most tokens comes first. */
  readonly tooSmall?: ReadonlyMap<ResolvedTarget, GatewayError> | undefined
}

type PlanningCall = ModelNamingCall &
  Pick<SelectingCall, 'plan' | 'record'> & { readonly shared: Pick<GatewayContext, 'router'> }

/** Puts the request into the call record. From here on the call is settled. */
export function recordRequest({ record, request }: Pick<SelectingCall, 'record' | 'request'>): void {
  record.pluginsNotified = true
  // The record of a stream lasts as long as the stream: it must not hold a large body.
  if (request.outline === undefined) record.body = request.value
  else record.estimatedInputTokens = request.outline.tokens
}

/**
 * Returns the plan for the call's model. Throws a GatewayError if the caller may not use it, or another model that the request names.
 *
 * @param isChecked whether the models that the request names have been checked before
 */
export function planFor(call: PlanningCall, isChecked = false): Plan {
  const { shared, record } = call
  const plan = call.plan ?? shared.router.plan(record.model, record.identity)
  if (!isChecked) checkNamedModels(call, shared.router, record.identity)
  return plan
}

/**
 * Selects the targets whose conditions match the request.
 *
 * @param conditions needed if the plan is conditional
 * @param cards needed if targets accept only what fits
 */
export function selectTargets(
  call: SelectingCall,
  plan: Plan,
  conditions: Conditions | undefined,
  cards: TargetCards | undefined,
): TargetSelection {
  const { codec: clientCodec, request, record, inbound, shared } = call
  const continues = clientCodec?.statefulFields !== undefined && continuesState(clientCodec, request.fields)
  // Calls that continue stored state go to the same target as their caller's other such calls.
  const strategy = continues && plan.strategy !== 'order' ? 'sticky' : plan.strategy
  const affinity =
    continues || strategy === 'sticky'
      ? callAffinity(clientCodec, continues, request.fields, record.identity, inbound)
      : // A provider's cache belongs to one account, so the calls of a conversation use the same key of a pool.
        plan.hasKeyPool
        ? conversationAffinity(clientCodec, request.fields, (name) => inbound.header(name))
        : undefined
  const matching =
    conditions === undefined
      ? plan.targets
      : conditions.matchingTargets({ codec: conditions.codec, request, inbound, record }, plan.targets, shared.logger)
  if (cards === undefined) return { targets: matching, strategy, affinity }
  const tooSmall = cards.tooSmall(matching, plan, record.tokenCounting, request)
  return { targets: matching.filter((target) => !tooSmall.has(target)), strategy, affinity, tooSmall }
}

/** Returns the selected targets in the order in which they are tried, grouped by priority. */
export const orderTargets = (
  { targets, strategy, affinity }: TargetSelection,
  latencies: Pick<Latencies, 'expectedMs' | 'claimMeasurement'>,
  stream: boolean,
): readonly (readonly ResolvedTarget[])[] => orderByStrategy(targets, strategy, { latencies, stream, affinity })
