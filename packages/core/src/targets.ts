import { letIn } from './admit.ts'
import { affinityOf } from './affinity.ts'
import { arrange } from './arrange.ts'
import { type AttemptFailure, type AttemptLimits, type AttemptLog, type AttemptResult, attempt } from './attempt.ts'
import { longestMs } from './check-config.ts'
import type { Limits, Logger, OnLoss } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Codec } from './formats/codec.ts'
import type { Health, Ticket } from './health/health.ts'
import { isCallable, resting } from './health/resting.ts'
import { alone, hedged, type Launched } from './hedge.ts'
import type { Inbound } from './inbound.ts'
import type { Lane } from './lanes/lane.ts'
import { announce, headersFor } from './observers.ts'
import type { Spool } from './operations/multipart/spool.ts'
import type { Plugin } from './plugin.ts'
import { type Candidate, createPreparer } from './prepare.ts'
import { backoffMs } from './retry.ts'
import type { Plan, ResolvedTarget, Router } from './router.ts'
import type { Ledger } from './settle.ts'
import { createCanceller, type Signal } from './signal.ts'
import { sleep } from './sleep.ts'
import { type Asked, isMeant, traitsOf } from './traits.ts'
import type { Transport } from './transport.ts'
import type { Hosting } from './upstreams/upstream.ts'

/** What one gateway's calls share. */
export interface Shared {
  readonly router: Router
  readonly health: Health
  readonly onLoss: OnLoss
  readonly plugins: readonly Plugin[]
  readonly limits: Required<Limits>
  readonly logger: Logger
  /** In place of what the adapter brings. */
  readonly openSpool?: (() => Spool) | undefined
}

/** One call to a model, whatever the operation. */
export interface TargetCall extends Asked {
  readonly shared: Shared
  readonly inbound: Inbound
  readonly ledger: Ledger
  readonly transport: Transport
  readonly signal: Signal
}

/** A request made ready for one target. */
export interface Prepared {
  readonly lane: Omit<Lane, 'upstreamFormat'> & Partial<Pick<Lane, 'upstreamFormat'>>
  readonly url: string
  /** Reads the upstream's errors. */
  readonly codec: Pick<Codec, 'decodeError' | 'tapResponse'>
  readonly hosting?: Hosting | undefined
  /** It asks for no answer of the model: the target's wishes for the body are not meant. */
  readonly asIs?: boolean
}

/** What answered, and under which policy for losses. */
export interface Answered<P extends Prepared> {
  readonly prepared: P
  readonly policy: OnLoss
  readonly result: AttemptResult
  readonly ticket: Ticket
  readonly log: AttemptLog
  readonly target: ResolvedTarget
}

export type Prepare<P extends Prepared> = (target: ResolvedTarget, policy: OnLoss) => P | Promise<P>

/** A call upstream to be made: whom, why, and after how long. */
export interface Step<P extends Prepared> {
  readonly candidate: Candidate<P>
  readonly prepared: P
  readonly reason: AttemptLog['reason']
  readonly waitMs: number
}

/**
 * Calls the model's targets until one answers: the plan's order, the same target again where that may help, then the next
 * (docs/routing.md). Throws the GatewayError that says most: the last attempt's, or why no target could be called at all.
 *
 * @param preferLossless false: the plan's order holds whatever a target would lose
 * @param again false: each target is called once at most
 */
export async function tryTargets<P extends Prepared>(
  call: TargetCall,
  prepare: Prepare<P>,
  { preferLossless = true, again = true }: { readonly preferLossless?: boolean; readonly again?: boolean } = {},
): Promise<Answered<P>> {
  const { shared, inbound, ledger, signal } = call
  const { health, limits } = shared
  announce(call)
  const plan = shared.router.plan(ledger.model, ledger.identity)
  for (const field of call.codec?.otherModels ?? [])
    shared.router.checkOthers(call.request.value[field], ledger.identity)
  const admitted = letIn(call, plan.targets)
  // Not awaited needlessly: counting in this process is done at once.
  if (admitted !== undefined) await admitted
  const affinity =
    plan.strategy === 'sticky' ? affinityOf(call.codec, call.request.value, (name) => inbound.header(name)) : undefined
  const groups = candidatesOf<P>(call, plan, affinity)
  const all = groups.flat()
  const preparer = createPreparer(call, prepare)
  const allowed = attemptsAllowed(plan.retry.attempts, inbound)
  // One hold for all targets: the client's patience does not begin anew with each.
  const holdUntil = Date.now() + limits.holdMs
  const left = (): number => allowed - ledger.attempts.length
  let failure: GatewayError | undefined

  /** The next target that has not been called yet: one that is ready before one that is doubtful, and so forth. */
  const fresh = async (): Promise<Candidate<P> | undefined> => {
    for (const state of ['ready', 'doubtful'] as const)
      for (const group of groups) {
        let best: Candidate<P> | undefined
        for (const candidate of group) {
          if (candidate.calls > 0 || candidate.out || health.standing(candidate.target).state !== state) continue
          const made = preparer(candidate)
          if ((made instanceof Promise ? await made : made) === undefined) continue
          if (!preferLossless || !plan.preferLossless || candidate.lossless) return candidate
          best ??= candidate
        }
        if (best !== undefined) return best
      }
    return undefined
  }
  const freshCount = (): number =>
    all.filter(({ calls, out, target }) => calls === 0 && !out && isCallable(health.standing(target))).length

  const step = (candidate: Candidate<P>, reason: AttemptLog['reason'], waitMs = 0): Step<P> => ({
    candidate,
    prepared: candidate.prepared as P,
    reason,
    waitMs,
  })

  /** The call's first attempt. Where nobody is to be called just now, a short wait may help. */
  const first = async (): Promise<Step<P> | undefined> => {
    const ready = await fresh()
    if (ready !== undefined) return step(ready, 'first')
    const limited = all
      .map((candidate) => ({ candidate, standing: health.standing(candidate.target) }))
      .sort((a, b) => a.standing.waitMs - b.standing.waitMs)
    for (const { candidate, standing } of limited) {
      const { state, waitMs } = standing
      // Whoever waited for the same moment must not come at the same moment.
      const spreadMs = waitMs + Math.random() * Math.min(1000, waitMs / 4)
      if (candidate.out || state !== 'limited' || !mayWait(spreadMs)) continue
      const made = preparer(candidate)
      if ((made instanceof Promise ? await made : made) !== undefined) return step(candidate, 'first', spreadMs)
    }
    return undefined
  }
  const mayWait = (ms: number): boolean => ms <= plan.retry.maxWaitMs && (!ledger.stream || Date.now() + ms < holdUntil)

  /** Where to go on after a failure; undefined: nowhere. */
  const next = async ({ candidate }: Step<P>, { error, onward }: AttemptFailure): Promise<Step<P> | undefined> => {
    if (onward === 'nowhere' || signal.aborted) return undefined
    if (left() <= 0) {
      ledger.spent = true
      return undefined
    }
    const { target } = candidate
    if (otherKeyHelps.has(error.info.kind) && target.upstream.keys !== undefined)
      if (health.standing(target).state === 'ready') return step(candidate, 'other-key')
    const stated = error.hints?.waitMs
    // A connection that cannot be had at once, twice, is not there: waiting for it would only keep the client waiting.
    const unreachable = error.info.kind === 'upstream_unreachable'
    const pause = (): number => stated ?? (unreachable ? 0 : backoffMs(candidate.calls, plan.retry))
    if (onward === 'same' && again && !(unreachable && candidate.calls > 1)) candidate.readyAt = Date.now() + pause()
    else candidate.out = true
    const other = await fresh()
    const worthIt = (): boolean => isCallable(health.standing(target)) && health.takeRetry(target, plan.retry)
    // Every target that is still fresh gets its chance before the attempts are used up.
    if (
      !candidate.out &&
      stated === undefined &&
      other !== undefined &&
      left() > freshCount() &&
      mayWait(candidate.readyAt - Date.now()) &&
      worthIt()
    )
      return step(candidate, 'retry', Math.max(0, candidate.readyAt - Date.now()))
    if (other !== undefined) return step(other, 'fallback')
    for (const tried of all.filter(({ calls, out }) => calls > 0 && !out).sort((a, b) => a.readyAt - b.readyAt)) {
      const standing = health.standing(tried.target)
      const waitMs = Math.max(0, tried.readyAt - Date.now(), standing.waitMs)
      if (standing.state === 'failing' || !mayWait(waitMs)) continue
      if (health.takeRetry(tried.target, plan.retry)) return step(tried, 'retry', waitMs)
      ledger.spent = true
    }
    return undefined
  }

  let current: Step<P> | undefined = await first()
  while (current !== undefined) {
    if (current.waitMs > 0) await sleep(current.waitMs, signal)
    // While it slept, or others were chosen for beside it, somebody may have found out that the target is gone.
    if (health.standing(current.candidate.target).state === 'failing') {
      const other = await fresh()
      current = other === undefined ? undefined : step(other, ledger.attempts.length === 0 ? 'first' : 'fallback')
      continue
    }
    const started = launch(call, current, affinity, holdUntil)
    const { answered, failed } =
      plan.hedgeMs === undefined
        ? await alone(started)
        : await hedged(started, plan.hedgeMs, async () => {
            const other = left() > 0 ? await fresh() : undefined
            // It may have answered while an upload was made ready.
            if (other === undefined || started.settled() || !health.takeRetry(other.target, plan.retry))
              return undefined
            return launch(call, step(other, 'hedge'), affinity, holdUntil)
          })
    if (answered !== undefined) {
      if (plan.hedgeMs !== undefined) enterBooks(ledger, answered.target, answered.prepared)
      return answered
    }
    current = undefined
    for (const { step: tried, failure: why } of failed) {
      // What went wrong with the one that was only called beside the other is not the call's to tell.
      if (tried.reason === 'hedge') {
        tried.candidate.out = why.onward !== 'same'
        continue
      }
      failure = inClientTerms(why.error, tried.prepared.lane)
      if (why.onward === 'nowhere') throw failure
      current = await next(tried, why)
    }
  }
  throw failure ?? nobodyToCall(call, all, health, preparer.failure)
}

const otherKeyHelps: ReadonlySet<string> = new Set(['rate_limited', 'quota_exceeded', 'upstream_auth'])

/** SDKs say how often they have tried already: what they did is taken off what we may do. */
function attemptsAllowed(attempts: number, inbound: Inbound): number {
  const count = Number(inbound.header('x-stainless-retry-count') ?? 0)
  return Number.isInteger(count) && count > 0 ? Math.max(1, attempts - count) : attempts
}

/** Those of the plan's targets that are meant for the call, in their order. */
function candidatesOf<P extends Prepared>(
  call: TargetCall,
  plan: Plan,
  affinity: string | undefined,
): readonly (readonly Candidate<P>[])[] {
  let traits: ReturnType<typeof traitsOf> | undefined
  const meant = plan.targets.filter(({ when }) =>
    isMeant(
      when,
      () => {
        traits ??= traitsOf(call)
        return traits
      },
      call.shared.logger,
    ),
  )
  const { latencies } = call.shared.health
  return arrange(meant, plan.strategy, { latencies, stream: call.ledger.stream, affinity }).map((group) =>
    group.map((target) => ({
      target,
      out: false,
      calls: 0,
      readyAt: 0,
      lossless: false,
      prepared: undefined,
      policy: 'warn',
    })),
  )
}

function launch<P extends Prepared>(
  call: TargetCall,
  step: Step<P>,
  affinity: string | undefined,
  holdUntil: number,
): Launched<P> {
  const { shared, ledger, inbound, transport, signal } = call
  const { candidate, prepared, reason, waitMs } = step
  const { target } = candidate
  const ticket = shared.health.enter(target, affinity)
  const log: AttemptLog = {
    upstream: target.upstreamName,
    model: target.model,
    reason,
    startedMs: performance.now() - ledger.startedAt,
  }
  if (ticket.key !== undefined) log.key = ticket.key
  if (waitMs > 0) log.waitedMs = waitMs
  candidate.calls++
  ledger.attempts.push(log)
  // The first one to be called stands for the call until another answers.
  if (reason !== 'hedge') enterBooks(ledger, target, prepared)
  const canceller = createCanceller()
  const leave = (): void => canceller.abort(signal.reason)
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave)
  let settled = false
  const run = async (): Promise<Answered<P> | AttemptFailure> => {
    const result = await attempt({
      target,
      lane: prepared.lane,
      url: prepared.url,
      codec: prepared.codec,
      stream: ledger.stream,
      toEvents: prepared.hosting?.toEvents,
      key: ticket.key,
      header: (name) => inbound.header(name),
      extraHeaders: headersFor(call, log),
      transport,
      signal: canceller,
      limits: limitsFor(target, shared.limits),
      holdMs: Math.max(0, holdUntil - Date.now()),
      log,
      onAnswer: (ms) => ticket.answered(ms, ledger.stream),
    })
    signal.removeEventListener('abort', leave)
    settled = true
    if (!('error' in result)) return { prepared, policy: candidate.policy, result, ticket, log, target }
    const { error } = result
    ticket.over(error, error.hints?.waitMs)
    // Also where another target saves the call: somebody has to mend it.
    if (error.info.kind === 'upstream_auth')
      shared.logger.warn(
        `modelgate: upstream '${target.upstreamName}' refused the configured credentials (request ${ledger.requestId})`,
        error.cause,
      )
    return result
  }
  return {
    step,
    done: run(),
    settled: () => settled,
    cancel() {
      log.error ??= 'cancelled'
      canceller.abort(new GatewayError('cancelled', 'Another target was faster.'))
    },
  }
}

function enterBooks(ledger: Ledger, target: ResolvedTarget, { lane }: Prepared): void {
  ledger.upstream = target.upstreamName
  ledger.upstreamModel = target.model
  if (lane.upstreamFormat !== undefined) ledger.upstreamFormat = lane.upstreamFormat
  ledger.lane = lane.kind
  ledger.losses = lane.report.losses
}

function limitsFor({ limits: own }: ResolvedTarget, limits: Required<Limits>): AttemptLimits {
  const { connectMs } = own ?? {}
  return {
    connectMs: connectMs === undefined ? undefined : Math.min(connectMs, longestMs),
    firstByteMs: Math.min(own?.firstByteMs ?? limits.firstByteMs, longestMs),
    idleMs: Math.min(own?.idleMs ?? limits.idleMs, longestMs),
    totalMs: Math.min(own?.totalMs ?? limits.totalMs, longestMs),
    answerBytes: limits.answerBytes,
  }
}

/** Why no attempt was made at all. */
function nobodyToCall<P extends Prepared>(
  { ledger }: TargetCall,
  all: readonly Candidate<P>[],
  health: Health,
  unprepared: GatewayError | undefined,
): GatewayError {
  const model = ledger.model.length > 100 ? `${ledger.model.slice(0, 100)}…` : ledger.model
  if (all.length === 0)
    return new GatewayError(
      'invalid_request',
      `The model '${model}' does not take such a request: no target is meant for it.`,
      {
        param: 'model',
      },
    )
  const standings = all.filter(({ out }) => !out).map(({ target }) => health.standing(target))
  if (standings.length > 0) return resting(ledger.model, standings)
  return unprepared ?? new GatewayError('model_not_found', `The model '${model}' has no upstream.`)
}

/** An upstream names fields as it was sent them, which may not be as the client wrote them. */
function inClientTerms(error: GatewayError, { paramOf }: Prepared['lane']): GatewayError {
  const { kind, message, param, raw: _raw, ...details } = error.info
  if (paramOf === undefined || param === undefined) return error
  const own = paramOf(param)
  if (own === param) return error
  return new GatewayError(kind, message, {
    ...details,
    ...(own === undefined ? {} : { param: own }),
    ...(error.cause === undefined ? {} : { cause: error.cause }),
  })
}
