import { errorKinds } from '../../base/error-kinds.ts'
import type { BreakerConfig, GatewayConfig, Logger, RetryConfig } from '../../config/config.ts'
import type { HealthState } from '../../config/health-state.ts'
import type { Identity } from '../../config/identity.ts'
import type { ResolvedTarget } from '../router.ts'
import { type Breaker, type Caller, createBreaker } from './breaker.ts'
import { createBudget, type RetryBudget } from './budget.ts'
import { type CallerRests, createCallerRests } from './caller-rests.ts'
import { guardedHealthState } from './guarded-state.ts'
import { createKeyPool, type KeyPool } from './keys.ts'
import { createLatencies, type Latencies } from './latency.ts'
import { memoryHealthState } from './memory-state.ts'
import type { Standing, Ticket } from './standing.ts'
import { isUpstreamFault } from './upstream-fault.ts'

/** What is known of all targets: who fails, who is limited, who is fast, and how many retries are left. */
export interface Health {
  readonly latencies: Latencies
  /** @param identity whose call it is for; null, the default: callers cannot be told apart */
  standing(target: ResolvedTarget, identity?: Identity | null): Standing
  enter(target: ResolvedTarget, affinity: string | undefined, identity?: Identity | null): Ticket
  /** Takes one retry off an upstream's budget, if there is one left. */
  takeRetry(target: ResolvedTarget, settings: Required<RetryConfig>, identity?: Identity | null): boolean
  /** What is known of an upstream. */
  known(upstreamName: string): Known
}

/** What is known of one upstream, and what that was told under. */
interface Known {
  readonly settings: BreakerConfig | false | undefined
  readonly shared: HealthState | undefined
  readonly state: HealthState
  readonly callerRests: CallerRests
  readonly breaker: Breaker
  readonly keys: KeyPool
  readonly budget: RetryBudget
}

/** What another configuration may go on with. */
export interface EarlierHealth extends Pick<Health, 'latencies'> {
  /** By the upstreams' names. */
  readonly known: ReadonlyMap<string, Known>
}

/** Identities without an id cannot be told apart: together they are one caller. */
const callerOf = (identity: Identity | null): Caller =>
  identity === null ? undefined : typeof identity.id === 'string' ? identity.id : ''

const ready: Standing = { state: 'ready', waitMs: 0 }
const doubtful: Standing = { state: 'doubtful', waitMs: 0 }

/** What is known of the upstreams that another configuration has, too: of the same name, at the same address, with the same keys. */
export function stillThere(
  { latencies, known }: Health,
  upstreams: GatewayConfig['upstreams'],
  others: GatewayConfig['upstreams'],
): EarlierHealth {
  const same = Object.keys(upstreams).filter((name) => {
    const one = upstreams[name]
    const other = others[name]
    // Whose tokens they are cannot be seen: a function that was made anew may be another account's.
    return one?.authorize === other?.authorize && isSame(one, other)
  })
  return { latencies, known: new Map(same.map((name) => [name, known(name)])) }
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

export function createHealth(
  settings: BreakerConfig | false | undefined,
  shared?: HealthState,
  earlier?: EarlierHealth,
  logger: Logger = console,
): Health {
  const latencies = earlier?.latencies ?? createLatencies()
  // Each upstream has its own: what one that was replaced still has to tell must not fall on another of the same name.
  const all = new Map<string, Known>()
  // What stays the same is shared with the calls of the configuration before, which go on telling what becomes of them.
  for (const [name, one] of earlier?.known ?? [])
    if (one.shared === shared)
      all.set(
        name,
        isSame(one.settings, settings)
          ? one
          : { ...one, settings, breaker: createBreaker(settings, one.state, one.callerRests) },
      )
  const known = (upstreamName: string): Known => {
    let one = all.get(upstreamName)
    if (one === undefined) {
      const state = shared === undefined ? memoryHealthState() : guardedHealthState(shared, logger)
      const callerRests = createCallerRests()
      const breaker = createBreaker(settings, state, callerRests)
      const keys = createKeyPool(state, callerRests)
      one = { settings, shared, state, callerRests, breaker, keys, budget: createBudget() }
      all.set(upstreamName, one)
    }
    return one
  }
  return {
    latencies,
    known,
    standing({ id, upstreamName, upstream, model }, identity = null) {
      const { breaker, keys } = known(upstreamName)
      const caller = callerOf(identity)
      const failing = breaker.waitMs(id, caller)
      if (failing > 0) return { state: 'failing', waitMs: failing }
      const choice = keys.look(upstreamName, upstream, model, caller)
      if (choice.waitMs > 0) return { state: 'limited', waitMs: choice.waitMs }
      return choice.doubtful ? doubtful : ready
    },
    enter({ id, upstreamName, upstream, model }, affinity, identity = null) {
      const { breaker, keys, budget } = known(upstreamName)
      const caller = callerOf(identity)
      let probe = breaker.enter(id, caller)
      const { key } = keys.choose(upstreamName, upstream, model, affinity, caller)
      budget.call(caller)
      let told = false
      let begun = false
      return {
        key,
        answered(ms, stream) {
          begun = true
          breaker.answered(id, caller, probe)
          // The target is back. How this one answer ends, perhaps much later, is no more than any other's.
          probe = 'none'
          if (ms !== undefined) latencies.note(id, stream, ms)
        },
        over(error, waitMs) {
          if (told) return
          told = true
          const kind = error?.info.kind
          if (kind === 'rate_limited') keys.rest(upstreamName, upstream, model, key, kind, waitMs, caller)
          if (kind === 'quota_exceeded') keys.rest(upstreamName, upstream, model, key, kind, waitMs, caller)
          if (kind === 'upstream_auth') {
            // A 403 may be about this model alone: it must not take the key away from the others.
            const about = error?.hints?.status === 403 ? 'model' : 'key'
            keys.rest(upstreamName, upstream, model, key, 'refused', waitMs, caller, about)
          }
          // A caller that left, or was answered by another target, has found out nothing. And how long a whole answer takes may be
          // up to how slowly the client reads it.
          const isUnknown =
            kind === 'cancelled' || error?.hints?.ours === true || (kind === 'upstream_total_timeout' && begun)
          if (isUnknown) return breaker.over(id, caller, probe, 'unknown')
          // One key of several was refused: it rests, and the target has others.
          const keyAlone = kind === 'upstream_auth' && upstream.keys !== undefined
          if (error !== undefined && errorKinds[error.info.kind].blamesTarget === true && !keyAlone)
            return breaker.over(id, caller, probe, isUpstreamFault(error) ? 'unavailable' : 'failed')
          // It did answer, if only to refuse: it is there.
          breaker.answered(id, caller, probe)
          breaker.over(id, caller, probe, 'ok')
        },
      }
    },
    takeRetry: ({ upstreamName }, retry, identity = null) => known(upstreamName).budget.take(retry, callerOf(identity)),
  }
}
