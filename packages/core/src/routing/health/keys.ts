import type { Cooldown, HealthState } from '../../config/health-state.ts'
import type { Upstream } from '../../upstreams/upstream.ts'
import { rendezvous } from '../affinity.ts'
import type { Caller } from './breaker.ts'
import type { CallerRests } from './caller-rests.ts'

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
  look(upstreamName: string, upstream: Upstream, model: string, caller?: Caller): KeyChoice
  /**
   * A key was limited, refused or has used up its quota. Undefined `forMs`: nobody said for how long.
   *
   * A limit or quota with a time that the upstream stated holds for all callers: they share it. The rest may be about one caller's
   * requests, and holds for that caller. It holds for all callers once a second one has met it, except for a refusal of the model: that
   * may be about what either of them asked for.
   *
   * @param about what it is about: the key as such, or what it may do with this model. Default: limits are about the model.
   */
  rest(
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
export function createKeyPool(state: HealthState, callerRests: CallerRests): KeyPool {
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
    look: (upstreamName, { keys }, model, caller) =>
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
    rest(
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
