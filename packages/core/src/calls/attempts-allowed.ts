import type { CallRecord } from '../accounting/call-record.ts'
import { errorKinds } from '../base/error-kinds.ts'
import { GatewayError } from '../base/errors.ts'
import type { Inbound } from '../http/inbound.ts'
import type { OverloadMemory } from '../routing/health/cooldowns.ts'

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

  /** Records how the request ended. */
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
