import { monotonicNow } from '../../base/async.ts'
import { errorKinds } from '../../base/error-kinds.ts'
import { GatewayError } from '../../base/errors.ts'
import type { BreakerConfig, GatewayConfig, Logger, RetryConfig } from '../../config/config.ts'
import type { Identity } from '../../config/identity.ts'
import type { CircuitChanged, CooldownStarted } from '../../config/notices.ts'
import type { HealthState } from '../../config/stores.ts'
import type { ResolvedTarget } from '../router.ts'
import { type CircuitBreaker, createCircuitBreaker, type OnBreakerChange } from './circuit-breaker.ts'
import {
  type Caller,
  type CallerCooldowns,
  createCallerCooldowns,
  createKeyPool,
  type KeyPool,
  memoryHealthState,
} from './cooldowns.ts'
import { guardedHealthState } from './guarded-state.ts'
import { isUpstreamFault } from './upstream-fault.ts'

// The health of upstreams, as seen by calls: `availability` before an attempt, `startAttempt` and the returned TrackedAttempt around it.
//
//                     ┌ circuit-breaker.ts   is the target failing?            by target and caller
//   TrackedAttempt ──>├ cooldowns.ts         which key can be used?            by key, model and caller
//                     ├ Latencies            how long until a first event?     by target
//                     └ RetryBudget          may the call be retried?          by upstream and caller
//
// All state belongs to one upstream of one configuration. A new configuration keeps the state of the upstreams that it does not change.

/** The health of all targets: circuit breakers, cooldowns of keys, latencies and retry budgets. */
export interface Health {
  readonly latencies: Latencies
  /**
   * Returns whether a target can be called now.
   *
   * @param identity the caller. Default: null, callers cannot be distinguished.
   */
  availability(target: ResolvedTarget, identity?: Identity | null): Availability
  /** Chooses a key and starts to track a call to the target. */
  startAttempt(target: ResolvedTarget, affinity: string | undefined, identity?: Identity | null): TrackedAttempt
  /** Spends one retry of the upstream's budget. Returns false if none is left. */
  spendRetry(target: ResolvedTarget, settings: Required<RetryConfig>, identity?: Identity | null): boolean
  /** Returns the health of an upstream, which is created on first use. */
  upstreamHealth(upstreamName: string): UpstreamHealth
}

/** The health of one upstream, and the settings that it was created with. */
export interface UpstreamHealth {
  readonly settings: BreakerConfig | false | undefined
  readonly shared: HealthState | undefined
  readonly state: HealthState
  readonly callerCooldowns: CallerCooldowns
  readonly breaker: CircuitBreaker
  readonly keys: KeyPool
  readonly budget: RetryBudget
}

/** The health that a new configuration continues to use. */
export interface PreviousHealth extends Pick<Health, 'latencies'> {
  /** By name of the upstream. */
  readonly upstreams: ReadonlyMap<string, UpstreamHealth>
}

/** Returns the caller of an identity. Identities without an id cannot be distinguished and count as one caller. */
const callerOf = (identity: Identity | null): Caller =>
  identity === null ? undefined : typeof identity.id === 'string' ? identity.id : ''

const ready: Availability = { state: 'ready', waitMs: 0 }
const doubtful: Availability = { state: 'doubtful', waitMs: 0 }

/** Returns the health of the upstreams that two configurations share: same name, same address, same keys. */
export function unchangedUpstreams(
  { latencies, upstreamHealth }: Health,
  upstreams: GatewayConfig['upstreams'],
  others: GatewayConfig['upstreams'],
): PreviousHealth {
  const same = Object.keys(upstreams).filter((name) => {
    const one = upstreams[name]
    const other = others[name]
    // A new `authorize` function may use another account: only the same function counts as unchanged.
    return one?.authorize === other?.authorize && isSame(one, other)
  })
  return { latencies, upstreams: new Map(same.map((name) => [name, upstreamHealth(name)])) }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/**
 * Creates the health of a configuration's upstreams.
 *
 * @param shared the host's HealthState. Default: the memory of this process
 * @param earlier health of the previous configuration, from `unchangedUpstreams`
 * @param notify called for each change of a circuit breaker and each cooldown. Kept by the health that later configurations continue to use
 */
export function createHealth(
  settings: BreakerConfig | false | undefined,
  shared?: HealthState,
  earlier?: PreviousHealth,
  logger: Logger = console,
  notify: (notice: CircuitChanged | CooldownStarted) => void = () => {},
): Health {
  const latencies = earlier?.latencies ?? createLatencies()
  // Each upstream has its own state: late results of a replaced upstream must not count against a new one of the same name.
  const all = new Map<string, UpstreamHealth>()
  // Unchanged upstreams share their state with running calls of the previous configuration, which continue to report results.
  for (const [name, one] of earlier?.upstreams ?? [])
    if (one.shared === shared)
      all.set(
        name,
        isSame(one.settings, settings)
          ? one
          : {
              ...one,
              settings,
              breaker: createCircuitBreaker(settings, one.state, one.callerCooldowns, breakerNotices(name, notify)),
            },
      )
  const healthOf = (upstreamName: string): UpstreamHealth => {
    let one = all.get(upstreamName)
    if (one === undefined) {
      const state = shared === undefined ? memoryHealthState() : guardedHealthState(shared, logger)
      const callerCooldowns = createCallerCooldowns()
      const breaker = createCircuitBreaker(settings, state, callerCooldowns, breakerNotices(upstreamName, notify))
      const keys = createKeyPool(state, callerCooldowns, notify)
      one = { settings, shared, state, callerCooldowns, breaker, keys, budget: createRetryBudget() }
      all.set(upstreamName, one)
    }
    return one
  }
  return {
    latencies,
    upstreamHealth: healthOf,
    availability({ id, upstreamName, upstream, model }, identity = null) {
      const { breaker, keys } = healthOf(upstreamName)
      const caller = callerOf(identity)
      const failing = breaker.waitMs(id, caller)
      if (failing > 0) return { state: 'failing', waitMs: failing }
      const choice = keys.peek(upstreamName, upstream, model, caller)
      if (choice.waitMs > 0) return { state: 'limited', waitMs: choice.waitMs }
      return choice.doubtful ? doubtful : ready
    },
    startAttempt({ id, upstreamName, upstream, model }, affinity, identity = null) {
      const { breaker, keys, budget } = healthOf(upstreamName)
      const caller = callerOf(identity)
      let probe = breaker.startCall(id, caller)
      const { key } = keys.choose(upstreamName, upstream, model, affinity, caller)
      budget.recordCall(caller)
      let ended = false
      let hasBegun = false
      return {
        key,
        responseBegan(ms, stream) {
          hasBegun = true
          breaker.recordResponse(id, caller, probe)
          // The target works again. The end of this response, perhaps much later, counts as that of any other call.
          probe = 'none'
          if (ms !== undefined) latencies.record(id, stream, ms)
        },
        end(error, waitMs) {
          if (ended) return undefined
          ended = true
          const kind = error?.info.kind
          let cooldownMs: number | undefined
          if (kind === 'rate_limited' || kind === 'quota_exceeded')
            cooldownMs = keys.coolDown(upstreamName, upstream, model, key, kind, waitMs, caller)
          else if (kind === 'upstream_auth') {
            // A 403 may concern this model only: the key stays usable for other models.
            const about = error?.hints?.status === 403 ? 'model' : 'key'
            cooldownMs = keys.coolDown(upstreamName, upstream, model, key, 'refused', waitMs, caller, about)
          }
          // A disconnected caller, or another target that responded first, shows nothing about this target. The duration of a whole
          // response may depend on how slowly the client reads it.
          const isUnknown =
            kind === 'cancelled' || error?.hints?.ours === true || (kind === 'upstream_total_timeout' && hasBegun)
          if (isUnknown) {
            breaker.recordEnd(id, caller, probe, 'unknown')
            return cooldownMs
          }
          // One of several keys was refused: it cools down, and the target has others.
          const keyAlone = kind === 'upstream_auth' && upstream.keys !== undefined
          if (error !== undefined && errorKinds[error.info.kind].blamesTarget === true && !keyAlone)
            breaker.recordEnd(id, caller, probe, isUpstreamFault(error) ? 'unavailable' : 'failed')
          else {
            // The target responded, even if it refused the request: it is available.
            breaker.recordResponse(id, caller, probe)
            breaker.recordEnd(id, caller, probe, 'ok')
          }
          return cooldownMs
        },
      }
    },
    spendRetry: ({ upstreamName }, retry, identity = null) =>
      healthOf(upstreamName).budget.spend(retry, callerOf(identity)),
  }
}

/** Converts changes of an upstream's breakers to notices. */
const breakerNotices =
  (upstream: string, notify: (notice: CircuitChanged) => void): OnBreakerChange =>
  (kind, id, oneCaller, forMs) =>
    notify({
      kind,
      upstream,
      model: id.slice(upstream.length + 1),
      ...(forMs === undefined ? {} : { forMs }),
      ...(oneCaller ? { oneCaller } : {}),
    })

/** Whether a target can be called now. */
export interface Availability {
  /** `doubtful`: callable, but a `ready` target is preferred. `limited` and `failing`: not callable for `waitMs` milliseconds. */
  readonly state: 'ready' | 'doubtful' | 'limited' | 'failing'
  readonly waitMs: number
}

/** Tracks one call to a target from its start to its end. */
export interface TrackedAttempt {
  /** The chosen key's place in the upstream's list; undefined if the upstream has one credential. */
  readonly key: number | undefined
  /** Records the first event or the whole response. `ms` is undefined if the time is not representative. */
  responseBegan(ms: number | undefined, stream: boolean): void
  /**
   * Records the end: undefined for success, or the error. Later calls do nothing. Returns the milliseconds of the cooldown that the error
   * caused; undefined: none.
   */
  end(error: GatewayError | undefined, waitMs?: number): number | undefined
}

/** Whether a target can be called now. */
export const isCallable = ({ state }: Availability): boolean => state === 'ready' || state === 'doubtful'

/** Creates the error for a model of which no target can be called now, with the time until the first one can. */
export function unavailableError(model: string, availabilities: readonly Availability[]): GatewayError {
  const name = model.length > 100 ? `${model.slice(0, 100)}…` : model
  const soonest = availabilities.reduce((best, availability) =>
    availability.waitMs < best.waitMs ? availability : best,
  )
  const retryAfter = Math.max(1, Math.ceil(soonest.waitMs / 1000))
  return soonest.state === 'limited'
    ? new GatewayError(
        'rate_limited',
        `All upstreams for '${name}' have reached their rate limits. Retry in ${retryAfter} s.`,
        {
          retryAfter,
        },
      )
    : new GatewayError(
        'overloaded',
        `All upstreams for '${name}' are temporarily unavailable (circuit open). Retry in ${retryAfter} s.`,
        {
          retryAfter,
        },
      )
}

const slots = 10
const slotMs = 1000

interface Slot {
  second: number
  calls: number
  retries: number
  /** The only caller in this second; `severalCallers` if there is more than one. */
  caller: Caller | typeof severalCallers
  /** Retries by caller. Created with the first retry: most seconds have none. */
  retriesByCaller: Map<Caller, number> | undefined
}

const severalCallers = Symbol('several callers')

/**
 * The retry budget of one upstream: a share of its calls of the last ten seconds, and a few retries in any case. With several callers,
 * each gets at most half of it, so that calls of the others can still be retried.
 */
export interface RetryBudget {
  /** Counts a call to the upstream. */
  recordCall(caller?: Caller): void
  /** Spends a retry. Returns false if none is left. */
  spend(settings: Pick<Required<RetryConfig>, 'budgetRatio' | 'budgetFloor'>, caller?: Caller): boolean
}

export function createRetryBudget(): RetryBudget {
  const ring: Slot[] = Array.from({ length: slots }, () => ({
    second: 0,
    calls: 0,
    retries: 0,
    caller: undefined,
    retriesByCaller: undefined,
  }))
  const slotNow = (): Slot => {
    const second = Math.floor(monotonicNow() / slotMs)
    const slot = ring[second % slots] as Slot
    if (slot.second !== second) {
      slot.second = second
      slot.calls = 0
      slot.retries = 0
      slot.caller = undefined
      slot.retriesByCaller = undefined
    }
    return slot
  }
  return {
    recordCall(caller) {
      const slot = slotNow()
      if (slot.calls++ === 0) slot.caller = caller
      else if (slot.caller !== caller) slot.caller = severalCallers
    },
    spend({ budgetRatio, budgetFloor }, caller) {
      const slot = slotNow()
      let calls = 0
      let retries = 0
      let isOnlyCaller = true
      const retriesByCaller = new Map<Caller, number>()
      for (const one of ring)
        if (one.second > slot.second - slots) {
          calls += one.calls
          retries += one.retries
          if (one.calls > 0 && one.caller !== caller) isOnlyCaller = false
          for (const [other, count] of one.retriesByCaller ?? [])
            retriesByCaller.set(other, (retriesByCaller.get(other) ?? 0) + count)
        }
      // Retries are not counted as calls: they would earn further retries.
      const allowed = Math.max(budgetFloor, (calls - retries) * budgetRatio)
      const allowedForCaller = isOnlyCaller ? allowed : Math.max(1, Math.ceil(allowed / 2))
      // Retries that another caller made while it was the only one do not reduce the share of the others.
      let counted = 0
      for (const count of retriesByCaller.values()) counted += Math.min(count, allowedForCaller)
      const ownRetries = retriesByCaller.get(caller) ?? 0
      if (ownRetries + 1 > allowedForCaller || counted + 1 > allowed) return false
      slot.retries++
      slot.retriesByCaller ??= new Map()
      slot.retriesByCaller.set(caller, (slot.retriesByCaller.get(caller) ?? 0) + 1)
      return true
    },
  }
}

/** Recent latencies of targets: an exponentially weighted mean of the time to the first event, or to a whole response. */
export interface Latencies {
  /** Adds a measured latency. */
  record(id: string, stream: boolean, ms: number): void
  /**
   * As `expectedMs`, and assigns the measurement to this call: if the target has not been measured for a minute, this returns -1 once.
   * Until the call has responded, others get the last known value, or Infinity.
   */
  claimMeasurement(id: string, stream: boolean): number
  /** Returns the expected milliseconds; -1 for a target that has not been measured for a minute. */
  expectedMs(id: string, stream: boolean): number
}

/** Weight of a new sample: about the last ten calls count. */
const sampleWeight = 0.2
const staleMs = 60_000
/** Bounds the memory: models may be named by clients. */
const maxTargets = 10_000

interface Mean {
  ms: number
  measuredAt: number
  /** When a call was assigned to measure the target. */
  claimedAt: number
}

export function createLatencies(): Latencies {
  const means = new Map<string, Mean>()
  // Streams and whole responses are measured separately: a first event arrives sooner than the end of a response.
  const keyOf = (id: string, stream: boolean): string => (stream ? `~${id}` : id)
  const store = (key: string, mean: Mean): void => {
    if (means.size >= maxTargets) means.clear()
    means.set(key, mean)
  }
  const isFresh = ({ measuredAt, claimedAt }: Mean): boolean =>
    monotonicNow() - Math.max(measuredAt, claimedAt) < staleMs
  return {
    record(id, stream, ms) {
      const key = keyOf(id, stream)
      const now = monotonicNow()
      const mean = means.get(key)
      if (mean === undefined) return store(key, { ms, measuredAt: now, claimedAt: now })
      // An old mean is replaced, not adjusted: otherwise a slow hour would count for many further calls.
      mean.ms = now - mean.measuredAt < staleMs ? mean.ms + sampleWeight * (ms - mean.ms) : ms
      mean.measuredAt = now
    },
    expectedMs(id, stream) {
      const mean = means.get(keyOf(id, stream))
      return mean !== undefined && isFresh(mean) ? mean.ms : -1
    },
    claimMeasurement(id, stream) {
      const key = keyOf(id, stream)
      const mean = means.get(key)
      if (mean !== undefined && isFresh(mean)) return mean.ms
      if (mean !== undefined) mean.claimedAt = monotonicNow()
      else store(key, { ms: Number.POSITIVE_INFINITY, measuredAt: Number.NEGATIVE_INFINITY, claimedAt: monotonicNow() })
      return -1
    },
  }
}
