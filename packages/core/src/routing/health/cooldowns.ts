import { monotonicNow } from '../../base/async.ts'
import type { ErrorKind } from '../../base/error-kinds.ts'
import type { Cooldown, CooldownReason, HealthState } from '../../config/stores.ts'
import type { Upstream } from '../../upstreams/upstream.ts'
import { rendezvous } from '../affinity.ts'

/** Identifies a caller; undefined where callers cannot be told apart (`auth: 'none'`). */
export type Caller = string | undefined

/** A rest with its end by `monotonicNow`. */
interface TimedCooldown {
  readonly deadline: number
  readonly reason: CooldownReason
}

/**
 * The default: what this process knows. What is over is forgotten, at the latest when there is much of it.
 *
 * It keeps how long a rest lasts, not the time of day of its end: a step of the system's time neither ends nor prolongs it. `read`
 * returns the end by the present time of day.
 */
export function memoryHealthState(): HealthState {
  const rests = new Map<string, TimedCooldown>()
  return {
    read(id) {
      const rest = rests.get(id)
      if (rest === undefined) return undefined
      return { until: Date.now() + rest.deadline - monotonicNow(), reason: rest.reason }
    },
    write(id, rest) {
      if (rest === undefined) rests.delete(id)
      else {
        if (rests.size >= maxEntries) forget(rests)
        rests.set(id, { deadline: monotonicNow() + rest.until - Date.now(), reason: rest.reason })
      }
    },
  }
}

/** Models named by clients (`prefix*` routes) must not fill the memory. */
const maxEntries = 10_000

function forget(rests: Map<string, TimedCooldown>): void {
  const now = monotonicNow()
  for (const [id, { deadline }] of rests) if (deadline <= now) rests.delete(id)
  for (const id of rests.keys()) {
    if (rests.size < maxEntries) break
    rests.delete(id)
  }
}

/** A rest that holds for one caller: what made it may have been caused by that caller's requests. */
export interface CallerCooldown {
  /** Milliseconds until its end; 0: it is over. */
  readonly waitMs: number
  readonly reason: CooldownReason
}

/** Rests of targets and keys, by the id of the target or key and by caller. They stay in this process. */
export interface CallerCooldowns {
  read(id: string, caller: string): CallerCooldown | undefined
  write(id: string, caller: string, forMs: number, reason: CooldownReason): void
  forget(id: string, caller: string): void
  /** Whether another caller rests now, too. */
  hasOther(id: string, caller: string): boolean
}

interface TimedCooldown {
  /** By `monotonicNow`: a step of the system's time neither ends nor prolongs a rest. */
  readonly deadline: number
  readonly reason: CooldownReason
}

export function createCallerCooldowns(): CallerCooldowns {
  const rests = new Map<string, Map<string, TimedCooldown>>()
  let size = 0
  return {
    read(id, caller) {
      // Most gateways never have any.
      if (size === 0) return undefined
      const rest = rests.get(id)?.get(caller)
      return rest && { waitMs: Math.max(0, rest.deadline - monotonicNow()), reason: rest.reason }
    },
    write(id, caller, forMs, reason) {
      if (size >= maxEntries) {
        rests.clear()
        size = 0
      }
      let own = rests.get(id)
      if (own === undefined) {
        own = new Map()
        rests.set(id, own)
      }
      if (!own.has(caller)) size++
      own.set(caller, { deadline: monotonicNow() + forMs, reason })
    },
    forget(id, caller) {
      const own = rests.get(id)
      if (own?.delete(caller) !== true) return
      size--
      if (own.size === 0) rests.delete(id)
    },
    hasOther(id, caller) {
      for (const [other, { deadline }] of rests.get(id) ?? [])
        if (other !== caller && deadline > monotonicNow()) return true
      return false
    },
  }
}

/** A key to call with, or how long until there is one. */
export interface KeyChoice {
  /** Its place in the upstream's list; undefined where the upstream has but one credential. */
  readonly key: number | undefined
  /** 0: it may be used now. */
  readonly waitMs: number
  /** It was refused or its quota was used up not long ago: others are better. */
  readonly doubtful: boolean
}

export interface KeyPool {
  /** @param affinity the same text gets the same key, as long as it does not rest */
  choose(
    upstreamName: string,
    upstream: Upstream,
    model: string,
    affinity: string | undefined,
    caller?: Caller,
  ): KeyChoice
  /** As `choose`, without anything being counted: to look at. */
  peek(upstreamName: string, upstream: Upstream, model: string, caller?: Caller): KeyChoice
  /**
   * A key was limited, refused or has used up its quota. Undefined `forMs`: nobody said for how long.
   *
   * A limit or quota with a time that the upstream stated holds for all callers: they share it. The rest may be about one caller's
   * requests, and holds for that caller. It holds for all callers once a second one has met it, except for a refusal of the model: that
   * may be about what either of them asked for.
   *
   * @param about what it is about: the key as such, or what it may do with this model. Default: limits are about the model.
   */
  coolDown(
    upstreamName: string,
    upstream: Upstream,
    model: string,
    key: number | undefined,
    reason: Exclude<Cooldown['reason'], 'failing'>,
    forMs: number | undefined,
    caller?: Caller,
    about?: 'key' | 'model',
  ): void
}

/** Where nobody says how long. A quota is seldom filled up within the minute, a refusal seldom mended. */
const restMs = { rate_limited: 1000, quota_exceeded: 60_000, refused: 60_000 } as const
/** No upstream's word keeps a key away for longer. */
const longestRestMs = 3_600_000

const soleKey: KeyChoice = { key: undefined, waitMs: 0, doubtful: false }

/** Keys of an upstream in turn by weight; one that rests is passed over. */
export function createKeyPool(state: HealthState, callerRests: CallerCooldowns): KeyPool {
  /** Smooth weighted round robin: what each key is owed. */
  const owed = new Map<string, number[]>()

  const idOf = (upstreamName: string, key: number | undefined): string => `${upstreamName}#${key ?? 0}`
  /** Limits are per model at most providers; a refusal and a quota are about the key itself. */
  const restOf = (
    upstreamName: string,
    model: string,
    key: number | undefined,
    caller: Caller,
  ): Cooldown | undefined => {
    const id = idOf(upstreamName, key)
    return restAt(`${id}/${model}`, caller) ?? restAt(id, caller)
  }
  const restAt = (place: string, caller: Caller): Cooldown | undefined => {
    const shared = state.read(place)
    if (shared !== undefined && shared.until > Date.now()) return shared
    const own = caller === undefined ? undefined : callerRests.read(place, caller)
    return own !== undefined && own.waitMs > 0 ? { until: Date.now() + own.waitMs, reason: own.reason } : undefined
  }
  const choiceOf = (key: number | undefined, rest: Cooldown | undefined): KeyChoice =>
    rest === undefined
      ? key === undefined
        ? soleKey
        : { key, waitMs: 0, doubtful: false }
      : rest.reason === 'rate_limited'
        ? { key, waitMs: Math.max(0, rest.until - Date.now()), doubtful: false }
        : { key, waitMs: 0, doubtful: true }

  const sole = (upstreamName: string, model: string, caller: Caller): KeyChoice =>
    choiceOf(undefined, restOf(upstreamName, model, undefined, caller))
  const best = (
    upstreamName: string,
    keys: NonNullable<Upstream['keys']>,
    model: string,
    caller: Caller,
  ): readonly KeyChoice[] => {
    const choices = keys.map((_, key) => choiceOf(key, restOf(upstreamName, model, key, caller)))
    const ready = choices.filter(({ waitMs, doubtful }) => waitMs === 0 && !doubtful)
    if (ready.length > 0) return ready
    const doubtful = choices.filter(({ waitMs }) => waitMs === 0)
    if (doubtful.length > 0) return doubtful
    return [choices.reduce((soonest, choice) => (choice.waitMs < soonest.waitMs ? choice : soonest))]
  }

  return {
    peek: (upstreamName, { keys }, model, caller) =>
      keys === undefined
        ? sole(upstreamName, model, caller)
        : (best(upstreamName, keys, model, caller)[0] as KeyChoice),
    choose(upstreamName, { keys }, model, affinity, caller) {
      if (keys === undefined) return sole(upstreamName, model, caller)
      const usable = best(upstreamName, keys, model, caller)
      if (usable.length === 1) return usable[0] as KeyChoice
      const weightOf = ({ key }: KeyChoice): number => keys[key as number]?.weight ?? 1
      if (affinity !== undefined)
        return rendezvous(usable, affinity, ({ key }) => idOf(upstreamName, key), weightOf)[0] as KeyChoice
      const debts = owed.get(upstreamName) ?? keys.map(() => 0)
      owed.set(upstreamName, debts)
      let total = 0
      let chosen = usable[0] as KeyChoice
      for (const choice of usable) {
        const at = choice.key as number
        total += weightOf(choice)
        debts[at] = (debts[at] ?? 0) + weightOf(choice)
        if ((debts[at] ?? 0) > (debts[chosen.key as number] ?? 0)) chosen = choice
      }
      debts[chosen.key as number] = (debts[chosen.key as number] ?? 0) - total
      return chosen
    },
    coolDown(
      upstreamName,
      upstream,
      model,
      key,
      reason,
      forMs,
      caller,
      about = reason === 'rate_limited' ? 'model' : 'key',
    ) {
      // A sole credential is all there is: leaving it alone for a guess would only turn one failure into many.
      if (forMs === undefined && upstream.keys === undefined) return
      const id = idOf(upstreamName, key)
      const place = about === 'model' ? `${id}/${model}` : id
      const waitMs = Math.min(longestRestMs, forMs ?? restMs[reason])
      const isStatedLimit = forMs !== undefined && reason !== 'refused'
      const isAboutRequest = reason === 'refused' && about === 'model'
      if (caller !== undefined && !isStatedLimit && (isAboutRequest || !callerRests.hasOther(place, caller)))
        return callerRests.write(place, caller, waitMs, reason)
      const until = Date.now() + waitMs
      // A guess does not shorten what an upstream has said to another call.
      if (forMs === undefined && (state.read(place)?.until ?? 0) > until) return
      state.write(place, { until, reason })
    },
  }
}

/** The last overload response that an identity got for a model. */
export interface RecentOverload {
  readonly kind: ErrorKind
  /**
   * Upstream calls of one SDK call, by how many retries of the SDK they include: `calls[1]` counts those for its request and for its
   * first retry. Sparse.
   */
  readonly calls: readonly (number | undefined)[]
  /** Another call of the identity to the model has succeeded since, or the overload was too long ago to expect another one. */
  readonly recovered: boolean
}

/** An overload response to a client. */
export interface OverloadResponse {
  readonly kind: ErrorKind
  /** Which retry of its SDK call the request was; 0: the call itself. Undefined for a client that does not count retries. */
  readonly retry: number | undefined
  /** Upstream calls of the SDK call so far. */
  readonly calls: number
  /** Milliseconds that the client is asked to wait. */
  readonly waitMs: number
}

/** Remembers overload responses for a short time, so that retries of clients and of the gateway do not multiply. */
export interface OverloadMemory {
  find(identityId: string, model: string): RecentOverload | undefined
  record(identityId: string, model: string, response: OverloadResponse): void
  /** Records that a call succeeded. */
  recover(identityId: string, model: string): void
}

/** How long a retry of the client is waited for, from the moment for which it is asked to come back. */
const lifetimeMs = 30_000

/** Bounds the wait that extends the lifetime: an upstream may ask for a day. */
const maxWaitMs = 3_600_000

/** Bounds the wait after which another overload is expected. Anthropic's SDK sleeps for an hour if asked to; other calls go on. */
const maxExpectedMs = 60_000

/** Bounds an entry: the retry number is a client's header. */
const maxRetries = 10

interface Entry {
  readonly deadline: number
  /** Until when another overload is expected. */
  expectedUntil: number
  readonly kind: ErrorKind
  readonly calls: (number | undefined)[]
}

export function createOverloadMemory(): OverloadMemory {
  // The oldest first: recording an entry again moves it to the end.
  const entries = new Map<string, Entry>()
  const keyOf = (identityId: string, model: string): string => JSON.stringify([identityId, model])
  const findByKey = (key: string): Entry | undefined => {
    const entry = entries.get(key)
    return entry === undefined || entry.deadline <= monotonicNow() ? undefined : entry
  }
  const removeExpired = (now: number): void => {
    for (const [key, { deadline }] of entries) {
      if (deadline > now && entries.size < maxEntries) return
      entries.delete(key)
    }
  }
  return {
    // Most gateways have no entry most of the time, and every call asks.
    find(identityId, model) {
      const entry = entries.size === 0 ? undefined : findByKey(keyOf(identityId, model))
      return entry && { kind: entry.kind, calls: entry.calls, recovered: entry.expectedUntil <= monotonicNow() }
    },
    record(identityId, model, { kind, retry, calls, waitMs }) {
      const key = keyOf(identityId, model)
      const known = findByKey(key)?.calls ?? []
      entries.delete(key)
      const now = monotonicNow()
      removeExpired(now)
      if (retry !== undefined && retry <= maxRetries) known[retry] = calls
      entries.set(key, {
        deadline: now + Math.min(waitMs, maxWaitMs) + lifetimeMs,
        expectedUntil: now + Math.min(waitMs, maxExpectedMs) + lifetimeMs,
        kind,
        calls: known,
      })
    },
    recover(identityId, model) {
      if (entries.size === 0) return
      // Kept: the other calls that failed are about to be retried by their clients.
      const entry = findByKey(keyOf(identityId, model))
      if (entry !== undefined) entry.expectedUntil = 0
    },
  }
}
