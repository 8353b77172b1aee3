import type { CallRecord } from '../accounting/call-record.ts'
import { monotonicNow } from '../base/async.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { GatewayError } from '../base/errors.ts'
import type { OnLoss } from '../config/identity.ts'
import type { Inbound } from '../http/inbound.ts'
import type { Lane, TargetRequest } from '../lanes/lane.ts'
import type { OverloadMemory } from '../routing/health/cooldowns.ts'
import { type Availability, isCallable, unavailableError } from '../routing/health/health.ts'
import { effectiveLossPolicy, lossError, lossPolicyHeader, parseLossPolicy } from '../routing/loss-policy.ts'
import { backoffMs } from '../routing/retry-policy.ts'
import type { Plan, ResolvedTarget } from '../routing/router.ts'
import type { AttemptFailure, AttemptLog, Candidate, PreparingCall, SearchOptions, Step, TargetCall } from './call.ts'
import { editRequest } from './edit-request.ts'

// Chooses the target of each attempt. `TargetSelector` orders the targets, `prepareTarget` writes the request for one of them, and
// `AttemptLimit` bounds the number of upstream calls.

/** The states in which a target may be called, the best one first. */
const callable = ['ready', 'doubtful'] as const

/**
 * Selects the targets of one call: the first one, and the next one after a failure. Returns promises only where preparing a request
 * takes its time (an upload, code that is loaded).
 */
export class TargetSelector {
  /** Latest time of the response headers, for all targets together: clients time out without headers. */
  readonly holdUntil: number
  /** A stream is kept back until its end. */
  readonly holdsToEnd: boolean
  readonly #call: TargetCall
  readonly #plan: Plan
  readonly #groups: readonly (readonly Candidate[])[]
  readonly #options: SearchOptions
  readonly #requestedPolicy: OnLoss | undefined
  readonly #allowed: AttemptLimit
  #failure: GatewayError | undefined
  /** The error of the first target that could not be prepared. */
  #firstRefusal: GatewayError | undefined

  constructor(call: TargetCall, plan: Plan, groups: readonly (readonly Candidate[])[]) {
    this.#call = call
    this.#plan = plan
    this.#groups = groups
    this.#options = call.search ?? {}
    const requestedPolicy = call.inbound.header(lossPolicyHeader)
    this.#requestedPolicy = requestedPolicy === undefined ? undefined : parseLossPolicy(requestedPolicy)
    this.#allowed = new AttemptLimit(plan.retry.attempts, call.inbound, call.record, call.shared.overloads)
    this.holdUntil = monotonicNow() + call.shared.limits.holdMs
    this.holdsToEnd = plan.holdUntil === 'end'
  }

  /** Returns the number of upstream calls that may still be made. */
  attemptsLeft(): number {
    return this.#allowed.max - countCalls(this.#call.record.attempts)
  }

  /** Returns the first attempt. If no target is available, a short wait for a rate-limited one may help. */
  first(): Step | undefined | Promise<Step | undefined> {
    this.#failure = this.#allowed.refusal()
    if (this.#failure !== undefined) return undefined
    const ready = this.nextUntried()
    if (ready instanceof Promise)
      return ready.then((selected) => (selected === undefined ? this.#limited() : this.step(selected)))
    return ready === undefined ? this.#limited() : this.step(ready)
  }

  /** Returns an attempt in place of one whose target began to fail before it was called. */
  async replacement(): Promise<Step | undefined> {
    const other = await this.nextUntried()
    const reason = this.#call.record.attempts.length === 0 ? 'first' : 'fallback'
    return other === undefined ? undefined : this.step(other, reason)
  }

  /** Returns the next attempt after a failure; undefined: none. Throws the error if the request itself is at fault. */
  async afterFailure(step: Step, failed: AttemptFailure): Promise<Step | undefined> {
    this.#failure = inClientTerms(failed.error, step.request.lane)
    if (failed.retry === 'none') throw this.#failure
    return await this.#next(step.candidate, failed)
  }

  /** Ends the search without a response. Returns the error for the client. */
  finalError(): GatewayError {
    const error = this.#failure ?? this.#noTargetError()
    if (this.#failure !== undefined) this.#allowed.recordEnd(error)
    return error
  }

  /** Ends the search with a response. */
  succeed(): void {
    this.#allowed.recordEnd()
  }

  step(candidate: Candidate, reason: AttemptLog['reason'] = 'first', waitMs = 0): Step {
    return { candidate, request: candidate.request as TargetRequest, reason, waitMs }
  }

  /** Returns the next target that has not been called: ready ones before doubtful ones, then in the plan's order. */
  nextUntried(): Candidate | undefined | Promise<Candidate | undefined> {
    const lossless = this.#options.preferLossless !== false && this.#plan.preferLossless
    for (const state of callable)
      for (const group of this.#groups) {
        let best: Candidate | undefined
        for (const candidate of group) {
          if (candidate.attempts > 0 || candidate.isOut || this.#standing(candidate.target).state !== state) continue
          const made = this.#prepare(candidate)
          // The candidate keeps its request, so the repeated search returns to it.
          if (made instanceof Promise) return made.then(() => this.nextUntried())
          if (made === undefined) continue
          if (!lossless || candidate.isLossless) return candidate
          best ??= candidate
        }
        if (best !== undefined) return best
      }
    return undefined
  }

  #prepare(candidate: Candidate): TargetRequest | undefined | Promise<TargetRequest | undefined> {
    const prepared = prepareTarget(this.#call, candidate, this.#requestedPolicy)
    if (prepared instanceof Promise)
      return prepared.then((request) => {
        if (request === undefined) this.#firstRefusal ??= candidate.refusal
        return request
      })
    if (prepared === undefined) this.#firstRefusal ??= candidate.refusal
    return prepared
  }

  #standing(target: ResolvedTarget): Availability {
    return this.#call.shared.health.availability(target, this.#call.record.identity)
  }

  #all(): readonly Candidate[] {
    return this.#groups.flat()
  }

  /** Counts the targets that could still be called for the first time. */
  #freshCount(): number {
    return this.#all().filter(
      ({ attempts: calls, isOut: out, target }) => calls === 0 && !out && isCallable(this.#standing(target)),
    ).length
  }

  /** Returns an attempt at the rate-limited target that is available soonest. */
  async #limited(): Promise<Step | undefined> {
    if (this.#options.waits === false) return undefined
    const limited = this.#all()
      .map((candidate) => ({ candidate, standing: this.#standing(candidate.target) }))
      .sort((a, b) => a.standing.waitMs - b.standing.waitMs)
    for (const { candidate, standing } of limited) {
      const { state, waitMs } = standing
      // Calls that wait for the same moment must not all start at that moment.
      const spreadMs = waitMs + Math.random() * Math.min(1000, waitMs / 4)
      if (candidate.isOut || state !== 'limited' || !this.#mayWait(spreadMs)) continue
      if ((await this.#prepare(candidate)) !== undefined) return this.step(candidate, 'first', spreadMs)
    }
    return undefined
  }

  #mayWait(ms: number): boolean {
    return ms <= this.#plan.retry.maxWaitMs && (!this.#call.record.stream || monotonicNow() + ms < this.holdUntil)
  }

  async #next(candidate: Candidate, { error, retry: scope }: AttemptFailure): Promise<Step | undefined> {
    const { shared, record, signal } = this.#call
    const { health } = shared
    const { retry } = this.#plan
    if (signal.aborted) return undefined
    if (this.attemptsLeft() <= 0) {
      record.attemptsExhausted = true
      return undefined
    }
    const { target } = candidate
    if (errorKinds[error.info.kind].otherKey === true && target.upstream.keys !== undefined)
      if (this.#standing(target).state === 'ready') return this.step(candidate, 'other-key')
    const stated = error.hints?.waitMs
    // An unreachable upstream is retried at once, and once only: waiting rarely helps.
    const unreachable = error.info.kind === 'upstream_unreachable'
    const pause = (): number => stated ?? (unreachable ? 0 : backoffMs(candidate.attempts, retry))
    if (scope === 'same-target' && this.#options.repeats !== false && !(unreachable && candidate.attempts > 1))
      candidate.readyAt = monotonicNow() + pause()
    else candidate.isOut = true
    const other = await this.nextUntried()
    // After an overload the client retries itself: its retry needs an upstream call too.
    const reserved = errorKinds[error.info.kind].isOverload === true ? this.#allowed.reserved : 0
    const stays = stated === undefined || stated <= retry.stayMs
    const worthIt = (): boolean => {
      const standing = this.#standing(target)
      // A target that stated a wait is rate limited until then.
      const isReady = stated === undefined ? isCallable(standing) : standing.state !== 'failing'
      return isReady && health.spendRetry(target, retry, record.identity)
    }
    // Every untried target gets an attempt before the attempts are used up.
    if (
      !candidate.isOut &&
      stays &&
      other !== undefined &&
      this.attemptsLeft() > this.#freshCount() + reserved &&
      this.#mayWait(candidate.readyAt - monotonicNow()) &&
      worthIt()
    )
      return this.step(candidate, 'retry', Math.max(0, candidate.readyAt - monotonicNow()))
    if (other !== undefined) return this.step(other, 'fallback')
    if (this.attemptsLeft() <= reserved) return undefined
    const called = this.#all().filter(({ attempts: calls, isOut: out }) => calls > 0 && !out)
    for (const tried of called.sort((a, b) => a.readyAt - b.readyAt)) {
      const standing = this.#standing(tried.target)
      const waitMs = Math.max(0, tried.readyAt - monotonicNow(), standing.waitMs)
      if (standing.state === 'failing' || !this.#mayWait(waitMs)) continue
      if (health.spendRetry(tried.target, retry, record.identity)) return this.step(tried, 'retry', waitMs)
      record.attemptsExhausted = true
    }
    return undefined
  }

  /** Returns the error for a call without any attempt. */
  #noTargetError(): GatewayError {
    const { record } = this.#call
    const all = this.#all()
    const model = record.model.length > 100 ? `${record.model.slice(0, 100)}…` : record.model
    if (all.length === 0)
      return new GatewayError(
        'invalid_request',
        `No target of model '${model}' accepts this request (no \`when\` condition matched).`,
        {
          param: 'model',
        },
      )
    const standings = all.filter(({ isOut: out }) => !out).map(({ target }) => this.#standing(target))
    if (standings.length > 0) return unavailableError(record.model, standings)
    return this.#firstRefusal ?? new GatewayError('model_not_found', `The model '${model}' has no upstream.`)
  }
}

/** Replaces the upstream's name of a field in an error by the client's. */
function inClientTerms(error: GatewayError, { clientParam }: Lane): GatewayError {
  const { kind, message, param, raw: _raw, ...details } = error.info
  if (clientParam === undefined || param === undefined) return error
  const clientName = clientParam(param)
  if (clientName === param) return error
  return new GatewayError(kind, message, {
    ...details,
    ...(clientName === undefined ? {} : { param: clientName }),
    ...(error.cause === undefined ? {} : { cause: error.cause }),
  })
}

/**
 * Prepares a call's request for one target, once: the policy for losses, then the lane and the URL (by the call's writer), then the
 * target's `defaults` and `overrides`, then the check of the losses. Generation, model operations, token counts, realtime sessions and
 * explanations all prepare here.
 *
 * Returns undefined where the target cannot be sent the request: the candidate is then out, with the reason. Returns a promise only where
 * the request takes its time (an upload, code that is loaded). Never throws.
 *
 * @param requestedPolicy of the client's header
 */
export function prepareTarget(
  call: PreparingCall,
  candidate: Candidate,
  requestedPolicy: OnLoss | undefined,
): TargetRequest | undefined | Promise<TargetRequest | undefined> {
  if (candidate.request !== undefined) return candidate.isOut ? undefined : candidate.request
  const { target } = candidate
  try {
    const configured = target.onLoss ?? call.shared.onLoss
    candidate.policy =
      requestedPolicy === undefined
        ? configured
        : effectiveLossPolicy(requestedPolicy, configured, call.record.identity)
    const written = call.writer.write(target, candidate.policy)
    const edited =
      written instanceof Promise
        ? written.then((request) => editRequest(call, target, request))
        : editRequest(call, target, written)
    if (!(edited instanceof Promise)) return accept(call, candidate, edited)
    return edited
      .then((request) => accept(call, candidate, request))
      .catch((error: unknown) => skip(call, candidate, toEncodeError(error)))
  } catch (error) {
    return skip(call, candidate, toEncodeError(error))
  }
}

function accept({ record }: PreparingCall, candidate: Candidate, request: TargetRequest): TargetRequest | undefined {
  candidate.request = request
  const { losses } = request.lane.report
  const refused = losses.length === 0 ? undefined : lossError(losses, candidate.policy)
  if (refused !== undefined) {
    // Shows in the call record what would have been lost, if no target responds.
    if (record.attempts.length === 0) record.losses = losses
    return skip({ record }, candidate, refused)
  }
  candidate.isLossless = losses.every(({ severity }) => severity === 'note')
  return request
}

/** Takes a target out of the search. */
function skip({ record }: Pick<PreparingCall, 'record'>, candidate: Candidate, error: GatewayError): undefined {
  const { upstreamName: upstream, model } = candidate.target
  const { kind, message: reason, param } = error.info
  candidate.refusal = error
  candidate.isOut = true
  // An upstream without the endpoint is none of the operation's targets.
  if (kind === 'not_implemented') return undefined
  record.skipped ??= []
  record.skipped.push({ upstream, model, reason, ...(param === undefined ? {} : { param }) })
  return undefined
}

/** Codec exceptions become internal errors. */
const toEncodeError = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new GatewayError('internal', 'The request could not be translated.', { cause: error })

/** Retries that the official SDKs make by default. The gateway leaves them a call, so that their retry reaches the upstream. */
const defaultSdkRetries = 2

/**
 * Limits the upstream calls of one request, in view of its client's own retries. All requests of an SDK call together make at most
 * `attempts` upstream calls, or one each if the requests are more.
 */
class AttemptLimit {
  /** Maximum of upstream calls for this request. 0: the earlier requests have made them all. */
  readonly max: number
  /** Upstream calls reserved for the client's retries. An overloaded target is not retried if no more than these remain. */
  readonly reserved: number
  readonly #memory: OverloadMemory
  readonly #record: Pick<CallRecord, 'identity' | 'model' | 'attempts'>
  readonly #retry: number
  readonly #isCounted: boolean
  /** Upstream calls of the SDK call's earlier requests. */
  readonly #before: number

  constructor(
    attempts: number,
    inbound: Pick<Inbound, 'header'>,
    record: Pick<CallRecord, 'identity' | 'model' | 'attempts'>,
    memory: OverloadMemory,
  ) {
    this.#memory = memory
    this.#record = record
    const counted = inbound.header('x-stainless-retry-count')
    this.#isCounted = counted !== undefined
    const retry = counted === undefined ? 0 : Number(counted)
    this.#retry = Number.isSafeInteger(retry) && retry > 0 ? retry : 0
    const recent = memory.find(record.identity?.id ?? '', record.model)
    if (this.#retry === 0) {
      this.#before = 0
      this.max = attempts
      // A client that has just got an overload error retries itself, so the gateway only falls back to other targets. This needs an
      // identity: otherwise one caller would use up the retries of all others.
      const isClientRetry = record.identity !== null && recent?.recovered === false
      this.reserved = isClientRetry ? Number.POSITIVE_INFINITY : counted === undefined ? 0 : 1
      return
    }
    const total = Math.max(attempts, defaultSdkRetries + 1, this.#retry + 1)
    // Without a record, one call for each earlier request.
    this.#before = recent?.calls.slice(0, this.#retry).findLast((calls) => calls !== undefined) ?? this.#retry
    this.max = Math.min(attempts, Math.max(0, total - this.#before))
    this.reserved = this.#retry < defaultSdkRetries ? 1 : 0
  }

  /** Returns the error for a request that may make no upstream call; undefined if it may. */
  refusal(): GatewayError | undefined {
    if (this.max > 0) return undefined
    const { identity, model } = this.#record
    const kind = this.#memory.find(identity?.id ?? '', model)?.kind ?? 'overloaded'
    const name = model.length > 100 ? `${model.slice(0, 100)}…` : model
    return new GatewayError(
      kind,
      `All ${this.#before} upstream calls for '${name}' failed: the upstream is ${kind === 'overloaded' ? 'overloaded' : 'limiting the rate'}. Retry later.`,
    )
  }

  /** Records the outcome of the request. */
  recordEnd(error?: GatewayError): void {
    const { identity, model, attempts } = this.#record
    const id = identity?.id ?? ''
    if (this.max === 0) return
    if (error === undefined) {
      this.#memory.recover(id, model)
      return
    }
    const { kind, retryAfter = 0 } = error.info
    if (errorKinds[kind].isOverload !== true) return
    const calls = this.#before + countCalls(attempts)
    // Requests of a client that does not count its retries must not use up the calls of an SDK's retries.
    const retry = this.#isCounted ? this.#retry : undefined
    this.#memory.record(id, model, { kind, retry, calls, waitMs: retryAfter * 1000 })
  }
}

/** Counts upstream calls. A call that the transport sent twice counts twice. */
const countCalls = (attempts: CallRecord['attempts']): number => {
  let calls = attempts.length
  for (const { resent } of attempts) if (resent === true) calls++
  return calls
}
