import { monotonicNow } from '../../base/async.ts'
import { errorKinds } from '../../base/error-kinds.ts'
import { GatewayError } from '../../base/errors.ts'
import type { BreakerConfig, GatewayConfig, Logger, RetryConfig } from '../../config/config.ts'
import type { Identity } from '../../config/identity.ts'
import type { HealthState } from '../../config/stores.ts'
import type { ResolvedTarget } from '../router.ts'
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts'
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

/** What is known of all targets: who fails, who is limited, who is fast, and how many retries are left. */
export interface Health {
  readonly latencies: Latencies
  /** @param identity whose call it is for; null, the default: callers cannot be told apart */
  availability(target: ResolvedTarget, identity?: Identity | null): Availability
  startAttempt(target: ResolvedTarget, affinity: string | undefined, identity?: Identity | null): TrackedAttempt
  /** Takes one retry off an upstream's budget, if there is one left. */
  spendRetry(target: ResolvedTarget, settings: Required<RetryConfig>, identity?: Identity | null): boolean
  /** What is known of an upstream. */
  upstreamHealth(upstreamName: string): UpstreamHealth
}

/** What is known of one upstream, and what that was told under. */
interface UpstreamHealth {
  readonly settings: BreakerConfig | false | undefined
  readonly shared: HealthState | undefined
  readonly state: HealthState
  readonly callerRests: CallerCooldowns
  readonly breaker: CircuitBreaker
  readonly keys: KeyPool
  readonly budget: RetryBudget
}

/** What another configuration may go on with. */
export interface PreviousHealth extends Pick<Health, 'latencies'> {
  /** By the upstreams' names. */
  readonly upstreams: ReadonlyMap<string, UpstreamHealth>
}

/** Identities without an id cannot be told apart: together they are one caller. */
const callerOf = (identity: Identity | null): Caller =>
  identity === null ? undefined : typeof identity.id === 'string' ? identity.id : ''

const ready: Availability = { state: 'ready', waitMs: 0 }
const doubtful: Availability = { state: 'doubtful', waitMs: 0 }

/** What is known of the upstreams that another configuration has, too: of the same name, at the same address, with the same keys. */
export function unchangedUpstreams(
  { latencies, upstreamHealth: known }: Health,
  upstreams: GatewayConfig['upstreams'],
  others: GatewayConfig['upstreams'],
): PreviousHealth {
  const same = Object.keys(upstreams).filter((name) => {
    const one = upstreams[name]
    const other = others[name]
    // Whose tokens they are cannot be seen: a function that was made anew may be another account's.
    return one?.authorize === other?.authorize && isSame(one, other)
  })
  return { latencies, upstreams: new Map(same.map((name) => [name, known(name)])) }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

export function createHealth(
  settings: BreakerConfig | false | undefined,
  shared?: HealthState,
  earlier?: PreviousHealth,
  logger: Logger = console,
): Health {
  const latencies = earlier?.latencies ?? createLatencies()
  // Each upstream has its own: what one that was replaced still has to tell must not fall on another of the same name.
  const all = new Map<string, UpstreamHealth>()
  // What stays the same is shared with the calls of the configuration before, which go on telling what becomes of them.
  for (const [name, one] of earlier?.upstreams ?? [])
    if (one.shared === shared)
      all.set(
        name,
        isSame(one.settings, settings)
          ? one
          : { ...one, settings, breaker: createCircuitBreaker(settings, one.state, one.callerRests) },
      )
  const known = (upstreamName: string): UpstreamHealth => {
    let one = all.get(upstreamName)
    if (one === undefined) {
      const state = shared === undefined ? memoryHealthState() : guardedHealthState(shared, logger)
      const callerRests = createCallerCooldowns()
      const breaker = createCircuitBreaker(settings, state, callerRests)
      const keys = createKeyPool(state, callerRests)
      one = { settings, shared, state, callerRests, breaker, keys, budget: createRetryBudget() }
      all.set(upstreamName, one)
    }
    return one
  }
  return {
    latencies,
    upstreamHealth: known,
    availability({ id, upstreamName, upstream, model }, identity = null) {
      const { breaker, keys } = known(upstreamName)
      const caller = callerOf(identity)
      const failing = breaker.waitMs(id, caller)
      if (failing > 0) return { state: 'failing', waitMs: failing }
      const choice = keys.peek(upstreamName, upstream, model, caller)
      if (choice.waitMs > 0) return { state: 'limited', waitMs: choice.waitMs }
      return choice.doubtful ? doubtful : ready
    },
    startAttempt({ id, upstreamName, upstream, model }, affinity, identity = null) {
      const { breaker, keys, budget } = known(upstreamName)
      const caller = callerOf(identity)
      let probe = breaker.startCall(id, caller)
      const { key } = keys.choose(upstreamName, upstream, model, affinity, caller)
      budget.recordCall(caller)
      let told = false
      let begun = false
      return {
        key,
        responseBegan(ms, stream) {
          begun = true
          breaker.recordResponse(id, caller, probe)
          // The target is back. How this one answer ends, perhaps much later, is no more than any other's.
          probe = 'none'
          if (ms !== undefined) latencies.record(id, stream, ms)
        },
        end(error, waitMs) {
          if (told) return
          told = true
          const kind = error?.info.kind
          if (kind === 'rate_limited') keys.coolDown(upstreamName, upstream, model, key, kind, waitMs, caller)
          if (kind === 'quota_exceeded') keys.coolDown(upstreamName, upstream, model, key, kind, waitMs, caller)
          if (kind === 'upstream_auth') {
            // A 403 may be about this model alone: it must not take the key away from the others.
            const about = error?.hints?.status === 403 ? 'model' : 'key'
            keys.coolDown(upstreamName, upstream, model, key, 'refused', waitMs, caller, about)
          }
          // A caller that left, or was answered by another target, has found out nothing. And how long a whole answer takes may be
          // up to how slowly the client reads it.
          const isUnknown =
            kind === 'cancelled' || error?.hints?.ours === true || (kind === 'upstream_total_timeout' && begun)
          if (isUnknown) return breaker.recordEnd(id, caller, probe, 'unknown')
          // One key of several was refused: it rests, and the target has others.
          const keyAlone = kind === 'upstream_auth' && upstream.keys !== undefined
          if (error !== undefined && errorKinds[error.info.kind].blamesTarget === true && !keyAlone)
            return breaker.recordEnd(id, caller, probe, isUpstreamFault(error) ? 'unavailable' : 'failed')
          // It did answer, if only to refuse: it is there.
          breaker.recordResponse(id, caller, probe)
          breaker.recordEnd(id, caller, probe, 'ok')
        },
      }
    },
    spendRetry: ({ upstreamName }, retry, identity = null) =>
      known(upstreamName).budget.spend(retry, callerOf(identity)),
  }
}

/** How a target stands just now. */
export interface Availability {
  /** `doubtful`: it can be called, but one that is `ready` is better. `limited` and `failing`: not before `waitMs` are over. */
  readonly state: 'ready' | 'doubtful' | 'limited' | 'failing'
  readonly waitMs: number
}

/** One call to a target, from its beginning to its end; each of its ends is told once. */
export interface TrackedAttempt {
  readonly key: number | undefined
  /** The first event, or the whole answer, is there; undefined: how long that took says nothing. */
  responseBegan(ms: number | undefined, stream: boolean): void
  /** It is over: undefined for well, or what went wrong. */
  end(error: GatewayError | undefined, waitMs?: number): void
}

/** Whether a target may be called now. */
export const isCallable = ({ state }: Availability): boolean => state === 'ready' || state === 'doubtful'

/** Why none of a model's targets is called just now, and when to come again. */
export function unavailableError(model: string, standings: readonly Availability[]): GatewayError {
  const name = model.length > 100 ? `${model.slice(0, 100)}…` : model
  const soonest = standings.reduce((best, standing) => (standing.waitMs < best.waitMs ? standing : best))
  const retryAfter = Math.max(1, Math.ceil(soonest.waitMs / 1000))
  return soonest.state === 'limited'
    ? new GatewayError('rate_limited', `The upstream of '${name}' takes no more calls for ${retryAfter} s.`, {
        retryAfter,
      })
    : new GatewayError('overloaded', `The upstream of '${name}' keeps failing and is left alone for ${retryAfter} s.`, {
        retryAfter,
      })
}

const slots = 10
const slotMs = 1000

interface Slot {
  second: number
  calls: number
  retries: number
  /** Who has called; `several` once there are two of them. */
  caller: Caller | typeof several
  /** Retries by caller, made with the first retry: most seconds have none. */
  taken: Map<Caller, number> | undefined
}

const several = Symbol('several callers')

/**
 * How many retries an upstream gets: a share of its calls of the last ten seconds, and a few in any case. Where there are several callers,
 * one of them gets half of it at most, so that the others' failures can still be retried.
 */
export interface RetryBudget {
  recordCall(caller?: Caller): void
  /** Takes a retry, if there is one left. */
  spend(settings: Pick<Required<RetryConfig>, 'budgetRatio' | 'budgetFloor'>, caller?: Caller): boolean
}

export function createRetryBudget(): RetryBudget {
  const ring: Slot[] = Array.from({ length: slots }, () => ({
    second: 0,
    calls: 0,
    retries: 0,
    caller: undefined,
    taken: undefined,
  }))
  const slotNow = (): Slot => {
    const second = Math.floor(monotonicNow() / slotMs)
    const slot = ring[second % slots] as Slot
    if (slot.second !== second) {
      slot.second = second
      slot.calls = 0
      slot.retries = 0
      slot.caller = undefined
      slot.taken = undefined
    }
    return slot
  }
  return {
    recordCall(caller) {
      const slot = slotNow()
      if (slot.calls++ === 0) slot.caller = caller
      else if (slot.caller !== caller) slot.caller = several
    },
    spend({ budgetRatio, budgetFloor }, caller) {
      const slot = slotNow()
      let calls = 0
      let retries = 0
      let alone = true
      const taken = new Map<Caller, number>()
      for (const one of ring)
        if (one.second > slot.second - slots) {
          calls += one.calls
          retries += one.retries
          if (one.calls > 0 && one.caller !== caller) alone = false
          for (const [who, count] of one.taken ?? []) taken.set(who, (taken.get(who) ?? 0) + count)
        }
      // Retries are calls too: counted among them they would earn further retries.
      const allowed = Math.max(budgetFloor, (calls - retries) * budgetRatio)
      const most = alone ? allowed : Math.max(1, Math.ceil(allowed / 2))
      // What another caller took while it was alone leaves the share of the others as it is.
      let counted = 0
      for (const count of taken.values()) counted += Math.min(count, most)
      const own = taken.get(caller) ?? 0
      if (own + 1 > most || counted + 1 > allowed) return false
      slot.retries++
      slot.taken ??= new Map()
      slot.taken.set(caller, (slot.taken.get(caller) ?? 0) + 1)
      return true
    },
  }
}

/** How fast targets have been lately: an exponentially weighted mean of the time to the first event, or to a whole answer. */
export interface Latencies {
  record(id: string, stream: boolean, ms: number): void
  /**
   * Milliseconds to be expected. -1 for a target that has not been measured for a minute, once: the one call that is told so
   * is to find it out; others hear of the last known value, or of Infinity.
   */
  claimMeasurement(id: string, stream: boolean): number
  /** As `expect`, without anyone being sent to find out. */
  expectedMs(id: string, stream: boolean): number
}

/** Share of a new sample: about the last ten calls count. */
const share = 0.2
const staleMs = 60_000
const most = 10_000

interface Mean {
  ms: number
  measuredAt: number
  /** When somebody was sent to find it out. */
  askedAt: number
}

export function createLatencies(): Latencies {
  const means = new Map<string, Mean>()
  // Streams and whole answers are apart: a first event comes sooner than an answer's last word.
  const keyOf = (id: string, stream: boolean): string => (stream ? `~${id}` : id)
  const store = (key: string, mean: Mean): void => {
    if (means.size >= most) means.clear()
    means.set(key, mean)
  }
  const isFresh = ({ measuredAt, askedAt }: Mean): boolean => monotonicNow() - Math.max(measuredAt, askedAt) < staleMs
  return {
    record(id, stream, ms) {
      const key = keyOf(id, stream)
      const now = monotonicNow()
      const known = means.get(key)
      if (known === undefined) return store(key, { ms, measuredAt: now, askedAt: now })
      // What was long ago says nothing any more: a bad hour must not be paid off call by call.
      known.ms = now - known.measuredAt < staleMs ? known.ms + share * (ms - known.ms) : ms
      known.measuredAt = now
    },
    expectedMs(id, stream) {
      const known = means.get(keyOf(id, stream))
      return known !== undefined && isFresh(known) ? known.ms : -1
    },
    claimMeasurement(id, stream) {
      const key = keyOf(id, stream)
      const known = means.get(key)
      if (known !== undefined && isFresh(known)) return known.ms
      if (known !== undefined) known.askedAt = monotonicNow()
      else store(key, { ms: Number.POSITIVE_INFINITY, measuredAt: Number.NEGATIVE_INFINITY, askedAt: monotonicNow() })
      return -1
    },
  }
}
