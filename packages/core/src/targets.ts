import { letIn } from './admit.ts'
import { Attempt, type AttemptLimits, type AttemptLog } from './attempt.ts'
import type { AttemptFailure, AttemptResult } from './calls/attempt-result.ts'
import {
  orderTargets,
  planFor,
  type SelectingCall,
  selectTargets,
  type TargetSelection,
} from './calls/select-targets.ts'
import { longestMs } from './check-config.ts'
import { monotonicNow } from './clock.ts'
import type { Identity, Limits, Logger, OnLoss, TargetLimits } from './config.ts'
import type { UpstreamWireCodec } from './formats/codec.ts'
import type { Health, Ticket } from './health/health.ts'
import type { OverloadMemory } from './health/overload-memory.ts'
import { hedged, type Launched } from './hedge.ts'
import type { Lane } from './lanes/lane.ts'
import type { MediaPolicy } from './media.ts'
import { announce, headersFor } from './observers.ts'
import type { Spool } from './operations/multipart/spool.ts'
import type { Plugin } from './plugin.ts'
import type { Candidate } from './prepare.ts'
import type { ReferencePolicy } from './references/policy.ts'
import type { Received } from './references/received.ts'
import type { ResolvedTarget, Router } from './router.ts'
import { Search, type SearchOptions } from './search.ts'
import type { Ledger } from './settle.ts'
import { type Signal, stopReason } from './signal.ts'
import { sleep } from './sleep.ts'
import type { Transport } from './transport.ts'
import type { Hosting } from './upstreams/upstream.ts'

/** What one gateway's calls share. */
export interface Shared {
  readonly router: Router
  readonly health: Health
  readonly overloads: OverloadMemory
  readonly onLoss: OnLoss
  readonly plugins: readonly Plugin[]
  readonly limits: Required<Limits>
  readonly logger: Logger
  /** In place of what the adapter brings. */
  readonly openSpool?: (() => Spool) | undefined
  /** Without it nothing that a client names by URL is fetched. */
  readonly media?: MediaPolicy | undefined
  /** Which references to stored state requests may make. */
  readonly references: ReferencePolicy
  /** Records that a caller received the ids of stored objects. Absent: nothing is recorded. */
  readonly claim?: ((identity: Identity | null, received: readonly Received[]) => Promise<void>) | undefined
}

/** One call to a model, whatever the operation. */
export interface TargetCall extends SelectingCall {
  readonly shared: Shared
  readonly transport: Transport
  readonly signal: Signal
}

/** A request made ready for one target. */
export interface Prepared {
  readonly lane: Omit<Lane, 'upstreamFormat'> & Partial<Pick<Lane, 'upstreamFormat'>>
  readonly url: string
  /** Reads the upstream's errors. */
  readonly codec: Pick<UpstreamWireCodec, 'decodeError' | 'isAnswer'>
  readonly hosting?: Hosting | undefined
  /** Present for a GET that asks for a WebSocket: only 101 is a good response, and these are its headers. */
  readonly upgrade?: { headers(key: number | undefined): Readonly<Record<string, string>> }
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
 * @param options what the operation leaves out. Default: nothing
 */
export async function tryTargets<P extends Prepared>(
  call: TargetCall,
  prepare: Prepare<P>,
  options: SearchOptions = {},
): Promise<Answered<P>> {
  const { shared, ledger, signal } = call
  const { health } = shared
  announce(call)
  const plan = planFor(call)
  const admitted = letIn(call, plan.targets)
  // Not awaited needlessly: counting in this process is done at once.
  if (admitted !== undefined) await admitted
  // A target's `when` is told at once what the request uses.
  const whole = plan.conditional ? call.codec?.whole() : undefined
  const selection = selectTargets(call, plan, whole instanceof Promise ? await whole : whole)
  const { affinity } = selection
  const groups = candidatesOf<P>(call, selection)
  const search = new Search(call, plan, groups, prepare, options)
  const hedgeMs = options.hedges === false ? undefined : plan.hedgeMs
  const first = search.first()
  // Not awaited needlessly: most requests are made ready at once.
  let current = first instanceof Promise ? await first : first
  while (current !== undefined) {
    if (current.waitMs > 0) await sleep(current.waitMs, signal)
    // While it slept, or others were chosen for beside it, somebody may have found out that the target is gone.
    if (current.reason !== 'first' || current.waitMs > 0)
      if (health.standing(current.candidate.target, ledger.identity).state === 'failing') {
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
        !health.takeRetry(other.target, plan.retry, ledger.identity)
      )
        return undefined
      return launch(call, search.step(other, 'hedge'), affinity, search)
    })
    for (const { step: tried, failure } of failed) warnOfRefusal(call, tried, failure)
    if (answered !== undefined) {
      const { launched, result } = answered
      search.answered()
      enterBooks(ledger, launched.step.candidate.target, launched.step.prepared)
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
  { shared, ledger }: TargetCall,
  selection: TargetSelection,
): readonly (readonly Candidate<P>[])[] {
  const { targets } = selection
  const [sole] = targets
  if (sole !== undefined && targets.length === 1) return [[candidateOf(sole)]]
  return orderTargets(selection, shared.health.latencies, ledger.stream).map((group) =>
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
  search: Search<P>,
): Launched<P> {
  const { shared, ledger, inbound, transport, signal } = call
  const { candidate, prepared, reason, waitMs } = step
  const { target } = candidate
  const ticket = shared.health.enter(target, affinity, ledger.identity)
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
  const attempt = new Attempt({
    target,
    prepared,
    stream: ledger.stream,
    key: ticket.key,
    inbound,
    extraHeaders: headersFor(call, log),
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

function answeredBy<P extends Prepared>({ step, ticket, log }: Launched<P>, result: AttemptResult): Answered<P> {
  const { prepared, candidate } = step
  return { prepared, policy: candidate.policy, result, ticket, log, target: candidate.target }
}

/** Also where another target saves the call: somebody has to mend it. */
function warnOfRefusal<P extends Prepared>(
  { shared, ledger }: TargetCall,
  { candidate }: Step<P>,
  { error }: AttemptFailure,
): void {
  if (error.info.kind !== 'upstream_auth') return
  const { upstreamName } = candidate.target
  shared.logger.warn(
    `modelgate: upstream '${upstreamName}' refused the configured credentials (request ${ledger.requestId})`,
    error.cause,
  )
}

function enterBooks(ledger: Ledger, target: ResolvedTarget, { lane }: Prepared): void {
  ledger.upstream = target.upstreamName
  ledger.upstreamModel = target.model
  if (lane.upstreamFormat !== undefined) ledger.upstreamFormat = lane.upstreamFormat
  ledger.lane = lane.kind
  ledger.losses = lane.report.losses
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
    connectMs: connectMs === undefined ? undefined : Math.min(connectMs, longestMs),
    firstByteMs: Math.min(own.firstByteMs ?? limits.firstByteMs, longestMs),
    idleMs: Math.min(own.idleMs ?? limits.idleMs, longestMs),
    totalMs: Math.min(own.totalMs ?? limits.totalMs, longestMs),
    answerBytes: limits.answerBytes,
  }
}
