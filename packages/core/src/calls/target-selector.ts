import type { CallRecord } from '../accounting/call-record.ts'
import { monotonicNow } from '../base/async.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { GatewayError } from '../base/errors.ts'
import type { OnLoss } from '../config/identity.ts'
import type { Inbound } from '../http/inbound.ts'
import type { Lane, TargetRequest } from '../lanes/lane.ts'
import type { OverloadMemory } from '../routing/health/cooldowns.ts'
import type { Availability } from '../routing/health/health.ts'
import { isCallable, unavailableError } from '../routing/health/health.ts'
import { requestedLossPolicy } from '../routing/loss-policy.ts'
import { backoffMs } from '../routing/retry-policy.ts'
import type { Plan, ResolvedTarget } from '../routing/router.ts'
import type { AttemptFailure, AttemptLog, Candidate, SearchOptions, Step, TargetCall } from './call.ts'
import { prepareTarget } from './prepare-target.ts'

/** The states in which a target may be called, the better one first. */
const callable = ['ready', 'doubtful'] as const

/**
 * One call's way among its plan's targets: whom to call first, and whom after a failure. Answers are promises only where a
 * request takes its time to be made ready (an upload, code that is loaded).
 */
export class TargetSelector {
  /** One hold for all targets: the client's patience does not begin anew with each. */
  readonly holdUntil: number
  readonly #call: TargetCall
  readonly #plan: Plan
  readonly #groups: readonly (readonly Candidate[])[]
  readonly #options: SearchOptions
  readonly #requestedPolicy: OnLoss | undefined
  readonly #allowed: AttemptsAllowed
  #failure: GatewayError | undefined
  /** Why the first of the targets that could not be prepared could not. */
  #firstRefusal: GatewayError | undefined

  constructor(call: TargetCall, plan: Plan, groups: readonly (readonly Candidate[])[]) {
    this.#call = call
    this.#plan = plan
    this.#groups = groups
    this.#options = call.search ?? {}
    this.#requestedPolicy = requestedLossPolicy(call.inbound)
    this.#allowed = new AttemptsAllowed(plan.retry.attempts, call.inbound, call.record, call.shared.overloads)
    this.holdUntil = monotonicNow() + call.shared.limits.holdMs
  }

  /** Calls upstream that may still be made. */
  left(): number {
    return this.#allowed.most - callsOf(this.#call.record.attempts)
  }

  /** The call's first attempt. Where nobody is to be called just now, a short wait may help. */
  first(): Step | undefined | Promise<Step | undefined> {
    this.#failure = this.#allowed.refusal()
    if (this.#failure !== undefined) return undefined
    const ready = this.fresh()
    if (ready instanceof Promise) return ready.then((late) => (late === undefined ? this.#limited() : this.step(late)))
    return ready === undefined ? this.#limited() : this.step(ready)
  }

  /** Whom to call in place of one that turned out to be failing before it was called. */
  async instead(): Promise<Step | undefined> {
    const other = await this.fresh()
    const reason = this.#call.record.attempts.length === 0 ? 'first' : 'fallback'
    return other === undefined ? undefined : this.step(other, reason)
  }

  /** Whom to call after a failure; undefined: nobody. */
  async after(step: Step, failed: AttemptFailure): Promise<Step | undefined> {
    this.#failure = inClientTerms(failed.error, step.request.lane)
    if (failed.retry === 'none') throw this.#failure
    return await this.#next(step.candidate, failed)
  }

  /** Ends the search with the error for the client. */
  failure(): GatewayError {
    const error = this.#failure ?? this.#noTargetError()
    if (this.#failure !== undefined) this.#allowed.end(error)
    return error
  }

  /** Ends the search with an answer. */
  answered(): void {
    this.#allowed.end()
  }

  step(candidate: Candidate, reason: AttemptLog['reason'] = 'first', waitMs = 0): Step {
    return { candidate, request: candidate.request as TargetRequest, reason, waitMs }
  }

  /** The next target that has not been called yet: one that is ready before one that is doubtful, and so forth. */
  fresh(): Candidate | undefined | Promise<Candidate | undefined> {
    const lossless = this.#options.preferLossless !== false && this.#plan.preferLossless
    for (const state of callable)
      for (const group of this.#groups) {
        let best: Candidate | undefined
        for (const candidate of group) {
          if (candidate.calls > 0 || candidate.out || this.#standing(candidate.target).state !== state) continue
          const made = this.#prepare(candidate)
          // It is kept by the candidate: looking again comes to the same place.
          if (made instanceof Promise) return made.then(() => this.fresh())
          if (made === undefined) continue
          if (!lossless || candidate.lossless) return candidate
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

  /** How many targets could still be called for the first time. */
  #freshCount(): number {
    return this.#all().filter(({ calls, out, target }) => calls === 0 && !out && isCallable(this.#standing(target)))
      .length
  }

  /** The target whose limit is over soonest. */
  async #limited(): Promise<Step | undefined> {
    if (this.#options.waits === false) return undefined
    const limited = this.#all()
      .map((candidate) => ({ candidate, standing: this.#standing(candidate.target) }))
      .sort((a, b) => a.standing.waitMs - b.standing.waitMs)
    for (const { candidate, standing } of limited) {
      const { state, waitMs } = standing
      // Whoever waited for the same moment must not come at the same moment.
      const spreadMs = waitMs + Math.random() * Math.min(1000, waitMs / 4)
      if (candidate.out || state !== 'limited' || !this.#mayWait(spreadMs)) continue
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
    if (this.left() <= 0) {
      record.attemptsExhausted = true
      return undefined
    }
    const { target } = candidate
    if (errorKinds[error.info.kind].otherKey === true && target.upstream.keys !== undefined)
      if (this.#standing(target).state === 'ready') return this.step(candidate, 'other-key')
    const stated = error.hints?.waitMs
    // A connection that cannot be had at once, twice, is not there: waiting for it would only keep the client waiting.
    const unreachable = error.info.kind === 'upstream_unreachable'
    const pause = (): number => stated ?? (unreachable ? 0 : backoffMs(candidate.calls, retry))
    if (scope === 'same-target' && this.#options.repeats !== false && !(unreachable && candidate.calls > 1))
      candidate.readyAt = monotonicNow() + pause()
    else candidate.out = true
    const other = await this.fresh()
    // After an overload the client retries by itself: its retry needs a call, too.
    const reserved = errorKinds[error.info.kind].isOverload === true ? this.#allowed.reserved : 0
    const worthIt = (): boolean =>
      isCallable(this.#standing(target)) && health.spendRetry(target, retry, record.identity)
    // Every target that is still fresh gets its chance before the attempts are used up.
    if (
      !candidate.out &&
      stated === undefined &&
      other !== undefined &&
      this.left() > this.#freshCount() + reserved &&
      this.#mayWait(candidate.readyAt - monotonicNow()) &&
      worthIt()
    )
      return this.step(candidate, 'retry', Math.max(0, candidate.readyAt - monotonicNow()))
    if (other !== undefined) return this.step(other, 'fallback')
    if (this.left() <= reserved) return undefined
    const called = this.#all().filter(({ calls, out }) => calls > 0 && !out)
    for (const tried of called.sort((a, b) => a.readyAt - b.readyAt)) {
      const standing = this.#standing(tried.target)
      const waitMs = Math.max(0, tried.readyAt - monotonicNow(), standing.waitMs)
      if (standing.state === 'failing' || !this.#mayWait(waitMs)) continue
      if (health.spendRetry(tried.target, retry, record.identity)) return this.step(tried, 'retry', waitMs)
      record.attemptsExhausted = true
    }
    return undefined
  }

  /** Why no attempt was made at all. */
  #noTargetError(): GatewayError {
    const { record } = this.#call
    const all = this.#all()
    const model = record.model.length > 100 ? `${record.model.slice(0, 100)}…` : record.model
    if (all.length === 0)
      return new GatewayError(
        'invalid_request',
        `The model '${model}' does not take such a request: no target is meant for it.`,
        {
          param: 'model',
        },
      )
    const standings = all.filter(({ out }) => !out).map(({ target }) => this.#standing(target))
    if (standings.length > 0) return unavailableError(record.model, standings)
    return this.#firstRefusal ?? new GatewayError('model_not_found', `The model '${model}' has no upstream.`)
  }
}

/** An upstream names fields as it was sent them, which may not be as the client wrote them. */
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

/** Retries that the official SDKs make by default. The gateway leaves them a call, so that their retry reaches the upstream. */
const defaultSdkRetries = 2

/**
 * How many upstream calls one request may make, in view of its client's own retries. An SDK call makes at most `attempts` upstream
 * calls, or one for each of its requests if those are more.
 */
export class AttemptsAllowed {
  /** Most upstream calls of this request. 0: the requests before it have made them all. */
  readonly most: number
  /** Calls left for the client's retries: an overloaded target is not called again for this request when no more than these remain. */
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
      this.most = attempts
      // A client that was told of an overload a moment ago retries by itself. Only fallbacks are left to the gateway then. Not where
      // callers cannot be told apart: one of them would take the retries of all others away.
      const isClientRetry = record.identity !== null && recent?.recovered === false
      this.reserved = isClientRetry ? Number.POSITIVE_INFINITY : counted === undefined ? 0 : 1
      return
    }
    const total = Math.max(attempts, defaultSdkRetries + 1, this.#retry + 1)
    // Without a record, one call for each earlier request.
    this.#before = recent?.calls.slice(0, this.#retry).findLast((calls) => calls !== undefined) ?? this.#retry
    this.most = Math.min(attempts, Math.max(0, total - this.#before))
    this.reserved = this.#retry < defaultSdkRetries ? 1 : 0
  }

  /** The response to a request that may make no upstream call; undefined where it may. */
  refusal(): GatewayError | undefined {
    if (this.most > 0) return undefined
    const { identity, model } = this.#record
    const kind = this.#memory.find(identity?.id ?? '', model)?.kind ?? 'overloaded'
    const name = model.length > 100 ? `${model.slice(0, 100)}…` : model
    return new GatewayError(
      kind,
      `The upstream of '${name}' ${kind === 'overloaded' ? 'is overloaded' : 'is limiting the rate'}: all ${this.#before} upstream calls for this request failed. Retry later.`,
    )
  }

  /** CallerRecords how the request ended. */
  end(error?: GatewayError): void {
    const { identity, model, attempts } = this.#record
    const id = identity?.id ?? ''
    if (this.most === 0) return
    if (error === undefined) {
      this.#memory.recover(id, model)
      return
    }
    const { kind, retryAfter = 0 } = error.info
    if (errorKinds[kind].isOverload !== true) return
    const calls = this.#before + callsOf(attempts)
    // A client that does not count retries makes more calls for one request: they must not use up the calls of an SDK's retries.
    const retry = this.#isCounted ? this.#retry : undefined
    this.#memory.record(id, model, { kind, retry, calls, waitMs: retryAfter * 1000 })
  }
}

/** Upstream calls, with those that the transport sent twice. */
export const callsOf = (attempts: CallRecord['attempts']): number => {
  let calls = attempts.length
  for (const { resent } of attempts) if (resent === true) calls++
  return calls
}
