import { monotonicNow } from '../base/async.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { GatewayError } from '../base/errors.ts'
import { type Availability, isCallable, unavailableError } from '../routing/health/health.ts'
import { backoffMs } from '../routing/retry-policy.ts'
import type { Plan, ResolvedTarget } from '../routing/router.ts'
import type { AttemptLog } from './attempt-log.ts'
import type { AttemptFailure } from './attempt-result.ts'
import { AttemptsAllowed, callsOf } from './attempts-allowed.ts'
import type { Prepare, Prepared, TargetCall } from './call.ts'
import type { Candidate, Step } from './candidate.ts'
import { createPreparer, type Preparer } from './prepare-target.ts'

/** What a search leaves out. */
export interface SearchOptions {
  /** False: the plan's order holds whatever a target would lose. */
  readonly preferLossless?: boolean
  /** False: each target is called once at most. */
  readonly again?: boolean
  /** False: a target that is limited is not waited for. */
  readonly waits?: boolean
  /** False: no second target is called while the first has not answered. */
  readonly hedges?: boolean
}

/** The states in which a target may be called, the better one first. */
const callable = ['ready', 'doubtful'] as const

/**
 * One call's way among its plan's targets: whom to call first, and whom after a failure. Answers are promises only where a
 * request takes its time to be made ready (an upload, code that is loaded).
 */
export class TargetSelector<P extends Prepared> {
  /** One hold for all targets: the client's patience does not begin anew with each. */
  readonly holdUntil: number
  readonly #call: TargetCall
  readonly #plan: Plan
  readonly #groups: readonly (readonly Candidate<P>[])[]
  readonly #prepare: Preparer<P>
  readonly #options: SearchOptions
  readonly #allowed: AttemptsAllowed
  #failure: GatewayError | undefined

  constructor(
    call: TargetCall,
    plan: Plan,
    groups: readonly (readonly Candidate<P>[])[],
    prepare: Prepare<P>,
    options: SearchOptions,
  ) {
    this.#call = call
    this.#plan = plan
    this.#groups = groups
    this.#prepare = createPreparer(call, prepare)
    this.#options = options
    this.#allowed = new AttemptsAllowed(plan.retry.attempts, call.inbound, call.record, call.shared.overloads)
    this.holdUntil = monotonicNow() + call.shared.limits.holdMs
  }

  /** Calls upstream that may still be made. */
  left(): number {
    return this.#allowed.most - callsOf(this.#call.record.attempts)
  }

  /** The call's first attempt. Where nobody is to be called just now, a short wait may help. */
  first(): Step<P> | undefined | Promise<Step<P> | undefined> {
    this.#failure = this.#allowed.refusal()
    if (this.#failure !== undefined) return undefined
    const ready = this.fresh()
    if (ready instanceof Promise) return ready.then((late) => (late === undefined ? this.#limited() : this.step(late)))
    return ready === undefined ? this.#limited() : this.step(ready)
  }

  /** Whom to call in place of one that turned out to be failing before it was called. */
  async instead(): Promise<Step<P> | undefined> {
    const other = await this.fresh()
    const reason = this.#call.record.attempts.length === 0 ? 'first' : 'fallback'
    return other === undefined ? undefined : this.step(other, reason)
  }

  /** Whom to call after a failure; undefined: nobody. */
  async after(step: Step<P>, failed: AttemptFailure): Promise<Step<P> | undefined> {
    this.#failure = inClientTerms(failed.error, step.prepared.lane)
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

  step(candidate: Candidate<P>, reason: AttemptLog['reason'] = 'first', waitMs = 0): Step<P> {
    return { candidate, prepared: candidate.prepared as P, reason, waitMs }
  }

  /** The next target that has not been called yet: one that is ready before one that is doubtful, and so forth. */
  fresh(): Candidate<P> | undefined | Promise<Candidate<P> | undefined> {
    const lossless = this.#options.preferLossless !== false && this.#plan.preferLossless
    for (const state of callable)
      for (const group of this.#groups) {
        let best: Candidate<P> | undefined
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

  #standing(target: ResolvedTarget): Availability {
    return this.#call.shared.health.availability(target, this.#call.record.identity)
  }

  #all(): readonly Candidate<P>[] {
    return this.#groups.flat()
  }

  /** How many targets could still be called for the first time. */
  #freshCount(): number {
    return this.#all().filter(({ calls, out, target }) => calls === 0 && !out && isCallable(this.#standing(target)))
      .length
  }

  /** The target whose limit is over soonest. */
  async #limited(): Promise<Step<P> | undefined> {
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

  async #next(candidate: Candidate<P>, { error, retry: scope }: AttemptFailure): Promise<Step<P> | undefined> {
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
    if (scope === 'same-target' && this.#options.again !== false && !(unreachable && candidate.calls > 1))
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
    return this.#prepare.failure ?? new GatewayError('model_not_found', `The model '${model}' has no upstream.`)
  }
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
