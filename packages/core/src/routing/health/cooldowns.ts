import { monotonicNow } from '../../base/async.ts'
import type { ErrorKind } from '../../base/error-kinds.ts'
import type { CooldownStarted } from '../../config/notices.ts'
import type { Cooldown, CooldownReason, HealthState } from '../../config/stores.ts'
import type { Upstream } from '../../upstreams/upstream.ts'
import { rendezvous } from '../affinity.ts'

// Cooldowns: times during which the gateway does not use a target or a key, because of an upstream's response.
//
//   HealthState        "openai#1/gpt-5"  until 12:00:05, rate_limited       for all callers; can be shared between processes
//   CallerCooldowns    "openai#1" + caller "a"  30 s, refused               for one caller, in this process
//   OverloadMemory     caller "a" + model "gpt-5"  overloaded, 3 calls      the last overload response that a client received
//
// A response may be caused by the requests of one caller, so most cooldowns first hold for that caller alone. They hold for all callers
// once a second caller is affected, or if the upstream stated a limit. The key pool chooses the keys that have no cooldown.
//
// HealthState stores times of day. The implementations in this process convert them to durations, so that a correction of the
// system's time neither ends nor prolongs a cooldown.

/** Identifies a caller; undefined if callers cannot be distinguished (`auth: 'none'`). */
export type Caller = string | undefined

/** A cooldown of this process. */
interface TimedCooldown {
  /** Its end by `monotonicNow`. */
  readonly deadline: number
  readonly reason: CooldownReason
}

/**
 * Creates a HealthState in the memory of this process: the default of `health`. It stores at most 10,000 cooldowns; expired ones are
 * removed first. A correction of the system's time neither ends nor prolongs a cooldown.
 */
export function memoryHealthState(): HealthState {
  const cooldowns = new Map<string, TimedCooldown>()
  return {
    read(id) {
      const cooldown = cooldowns.get(id)
      if (cooldown === undefined) return undefined
      return { until: Date.now() + cooldown.deadline - monotonicNow(), reason: cooldown.reason }
    },
    write(id, cooldown) {
      if (cooldown === undefined) cooldowns.delete(id)
      else {
        if (cooldowns.size >= maxEntries) evict(cooldowns)
        cooldowns.set(id, { deadline: monotonicNow() + cooldown.until - Date.now(), reason: cooldown.reason })
      }
    },
  }
}

/** Bounds the memory: identities and, with `prefix*` routes, model names come from clients. */
const maxEntries = 10_000

function evict(cooldowns: Map<string, TimedCooldown>): void {
  const now = monotonicNow()
  for (const [id, { deadline }] of cooldowns) if (deadline <= now) cooldowns.delete(id)
  for (const id of cooldowns.keys()) {
    if (cooldowns.size < maxEntries) break
    cooldowns.delete(id)
  }
}

/** A cooldown for one caller, whose requests may have caused it. */
export interface CallerCooldown {
  /** Milliseconds until its end; 0: it has ended. */
  readonly waitMs: number
  readonly reason: CooldownReason
}

/** Cooldowns by the id of the target or key and by caller. They are not shared with other processes. */
export interface CallerCooldowns {
  read(id: string, caller: string): CallerCooldown | undefined
  write(id: string, caller: string, forMs: number, reason: CooldownReason): void
  forget(id: string, caller: string): void
  /** Whether the target or key has a cooldown for another caller now. */
  hasOther(id: string, caller: string): boolean
}

export function createCallerCooldowns(): CallerCooldowns {
  const cooldowns = new Map<string, Map<string, TimedCooldown>>()
  let size = 0
  return {
    read(id, caller) {
      // The common case: no caller has a cooldown.
      if (size === 0) return undefined
      const cooldown = cooldowns.get(id)?.get(caller)
      return cooldown && { waitMs: Math.max(0, cooldown.deadline - monotonicNow()), reason: cooldown.reason }
    },
    write(id, caller, forMs, reason) {
      if (size >= maxEntries) {
        cooldowns.clear()
        size = 0
      }
      let byCaller = cooldowns.get(id)
      if (byCaller === undefined) {
        byCaller = new Map()
        cooldowns.set(id, byCaller)
      }
      if (!byCaller.has(caller)) size++
      byCaller.set(caller, { deadline: monotonicNow() + forMs, reason })
    },
    forget(id, caller) {
      const byCaller = cooldowns.get(id)
      if (byCaller?.delete(caller) !== true) return
      size--
      if (byCaller.size === 0) cooldowns.delete(id)
    },
    hasOther(id, caller) {
      for (const [other, { deadline }] of cooldowns.get(id) ?? [])
        if (other !== caller && deadline > monotonicNow()) return true
      return false
    },
  }
}

/** A key to use, or the time until one can be used. */
export interface KeyChoice {
  /** Its place in the upstream's list; undefined if the upstream has one credential. */
  readonly key: number | undefined
  /** Milliseconds until it can be used; 0: now. */
  readonly waitMs: number
  /** It was refused, or its quota was exhausted, recently: other keys are preferred. */
  readonly doubtful: boolean
}

/** Chooses among the keys of upstreams. */
export interface KeyPool {
  /**
   * Chooses a key, by weight or by affinity.
   *
   * @param affinity calls with the same text get the same key, unless it has a cooldown
   */
  choose(
    upstreamName: string,
    upstream: Upstream,
    model: string,
    affinity: string | undefined,
    caller?: Caller,
  ): KeyChoice
  /** Returns the best choice without using up the key's turn. */
  peek(upstreamName: string, upstream: Upstream, model: string, caller?: Caller): KeyChoice
  /**
   * Starts a cooldown after a key was rate limited or refused, or its quota was exhausted.
   *
   * A limit or quota with a time stated by the upstream holds for all callers, who share it. Other cooldowns may be caused by one
   * caller's requests and hold for that caller. They hold for all callers once a second one is affected, except for a refusal of the
   * model, which may be caused by the requests of either.
   *
   * @param forMs milliseconds stated by the upstream; undefined: none
   * @param about the key itself, or its use with this model. Default: limits concern the model, everything else the key.
   * @returns the milliseconds of the cooldown; undefined if none starts
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
  ): number | undefined
}

/** Cooldowns without a stated time. A quota is rarely renewed within a minute, a refusal rarely fixed. */
const defaultMs = { rate_limited: 1000, quota_exceeded: 60_000, refused: 60_000 } as const
/** Longest cooldown that an upstream can request. */
const maxCooldownMs = 3_600_000

const soleKey: KeyChoice = { key: undefined, waitMs: 0, doubtful: false }

/** The error behind each reason of a cooldown. */
const errorOf = {
  rate_limited: 'rate_limited',
  quota_exceeded: 'quota_exceeded',
  refused: 'upstream_auth',
} as const satisfies { readonly [R in keyof typeof defaultMs]: ErrorKind }

/**
 * Creates a key pool that uses keys in turn by weight and skips keys with a cooldown.
 *
 * @param notify called for each cooldown that starts, and not for one that is prolonged
 */
export function createKeyPool(
  state: HealthState,
  callerRests: CallerCooldowns,
  notify?: (notice: CooldownStarted) => void,
): KeyPool {
  /** Smooth weighted round robin: the credit of each key, by upstream. */
  const credits = new Map<string, number[]>()

  const idOf = (upstreamName: string, key: number | undefined): string => `${upstreamName}#${key ?? 0}`
  /** Most providers limit rates per model; a refusal or quota concerns the key itself. */
  const cooldownOf = (
    upstreamName: string,
    model: string,
    key: number | undefined,
    caller: Caller,
  ): Cooldown | undefined => {
    const id = idOf(upstreamName, key)
    return cooldownAt(`${id}/${model}`, caller) ?? cooldownAt(id, caller)
  }
  const cooldownAt = (place: string, caller: Caller): Cooldown | undefined => {
    const shared = state.read(place)
    if (shared !== undefined && shared.until > Date.now()) return shared
    const forCaller = caller === undefined ? undefined : callerRests.read(place, caller)
    return forCaller !== undefined && forCaller.waitMs > 0
      ? { until: Date.now() + forCaller.waitMs, reason: forCaller.reason }
      : undefined
  }
  const choiceOf = (key: number | undefined, cooldown: Cooldown | undefined): KeyChoice =>
    cooldown === undefined
      ? key === undefined
        ? soleKey
        : { key, waitMs: 0, doubtful: false }
      : cooldown.reason === 'rate_limited'
        ? { key, waitMs: Math.max(0, cooldown.until - Date.now()), doubtful: false }
        : { key, waitMs: 0, doubtful: true }

  const sole = (upstreamName: string, model: string, caller: Caller): KeyChoice =>
    choiceOf(undefined, cooldownOf(upstreamName, model, undefined, caller))
  const best = (
    upstreamName: string,
    keys: NonNullable<Upstream['keys']>,
    model: string,
    caller: Caller,
  ): readonly KeyChoice[] => {
    const choices = keys.map((_, key) => choiceOf(key, cooldownOf(upstreamName, model, key, caller)))
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
      const credit = credits.get(upstreamName) ?? keys.map(() => 0)
      credits.set(upstreamName, credit)
      let total = 0
      let chosen = usable[0] as KeyChoice
      for (const choice of usable) {
        const at = choice.key as number
        total += weightOf(choice)
        credit[at] = (credit[at] ?? 0) + weightOf(choice)
        if ((credit[at] ?? 0) > (credit[chosen.key as number] ?? 0)) chosen = choice
      }
      credit[chosen.key as number] = (credit[chosen.key as number] ?? 0) - total
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
      // An only credential gets no guessed cooldown: that would turn one failure into many.
      if (forMs === undefined && upstream.keys === undefined) return undefined
      const id = idOf(upstreamName, key)
      const place = about === 'model' ? `${id}/${model}` : id
      const waitMs = Math.min(maxCooldownMs, forMs ?? defaultMs[reason])
      const isStatedLimit = forMs !== undefined && reason !== 'refused'
      const isAboutRequest = reason === 'refused' && about === 'model'
      const oneCaller =
        caller !== undefined && !isStatedLimit && (isAboutRequest || !callerRests.hasOther(place, caller))
      const isNew = notify !== undefined && cooldownAt(place, oneCaller ? caller : undefined) === undefined
      if (oneCaller) callerRests.write(place, caller, waitMs, reason)
      else {
        const until = Date.now() + waitMs
        // A guess does not shorten a cooldown that the upstream stated for another call.
        if (forMs === undefined && (state.read(place)?.until ?? 0) > until) return undefined
        state.write(place, { until, reason })
      }
      if (!isNew) return waitMs
      notify({
        kind: 'cooldown-started',
        upstream: upstreamName,
        ...(about === 'model' ? { model } : {}),
        ...(key === undefined ? {} : { key }),
        forMs: waitMs,
        error: errorOf[reason],
        ...(oneCaller ? { oneCaller } : {}),
      })
      return waitMs
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
  /** Another call of the identity to the model has succeeded since, or the overload is too long ago to expect another one. */
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

/** How long an entry is kept after the time at which the client was asked to retry. */
const lifetimeMs = 30_000

/** Bounds the wait that prolongs the lifetime: an upstream may request a day. */
const maxWaitMs = 3_600_000

/** Bounds the time for which another overload is expected. Anthropic's SDK waits up to an hour if asked to; other calls continue. */
const maxExpectedMs = 60_000

/** Bounds an entry: the number of the retry comes from a header of the client. */
const maxRetries = 10

interface Entry {
  readonly deadline: number
  /** End of the time for which another overload is expected, by `monotonicNow`. */
  expectedUntil: number
  readonly kind: ErrorKind
  readonly calls: (number | undefined)[]
}

export function createOverloadMemory(): OverloadMemory {
  // In order of age: an entry that is recorded again moves to the end.
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
    // Called for every call; most gateways have no entry most of the time.
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
      // The entry stays: clients of other failed calls are about to retry.
      const entry = findByKey(keyOf(identityId, model))
      if (entry !== undefined) entry.expectedUntil = 0
    },
  }
}
