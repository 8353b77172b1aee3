import { rendezvous } from './affinity.ts'
import type { Latencies } from './health/health.ts'
import type { Plan, ResolvedTarget } from './router.ts'

/** What an order may depend on. */
export interface OrderInput {
  readonly latencies: Pick<Latencies, 'expectedMs' | 'claimMeasurement'>
  readonly stream: boolean
  /** What the call has in common with others that should go to the same place. */
  readonly affinity: string | undefined
}

/** A plan's targets in the order of its strategy, those of each priority together, the lowest number first. */
export function orderByStrategy(
  targets: readonly ResolvedTarget[],
  strategy: Plan['strategy'],
  by: OrderInput,
): readonly (readonly ResolvedTarget[])[] {
  if (targets.length === 1) return [targets]
  const groups = new Map<number, ResolvedTarget[]>()
  for (const target of targets) {
    const group = groups.get(target.priority)
    if (group === undefined) groups.set(target.priority, [target])
    else group.push(target)
  }
  return [...groups]
    .sort(([a], [b]) => a - b)
    .map(([, group]) => (group.length === 1 ? group : ordered(group, strategy, by)))
}

function ordered(group: ResolvedTarget[], strategy: Plan['strategy'], by: OrderInput): ResolvedTarget[] {
  switch (strategy) {
    case 'order':
      return group
    case 'weighted':
      return atRandom(group)
    case 'fastest':
      return byLatency(group, by)
    case 'sticky':
      return by.affinity === undefined
        ? atRandom(group)
        : rendezvous(
            group,
            by.affinity,
            ({ id }) => id,
            ({ weight }) => weight,
          )
  }
}

/** Each in front with a chance of its share, then each of the rest likewise. */
function atRandom(group: ResolvedTarget[]): ResolvedTarget[] {
  const drawn = group.map((target) => ({ target, score: -Math.log(1 - Math.random()) / target.weight }))
  return drawn.sort((a, b) => a.score - b.score).map(({ target }) => target)
}

function byLatency(group: ResolvedTarget[], { latencies, stream }: OrderInput): ResolvedTarget[] {
  const timed = group
    .map((target) => ({ target, ms: latencies.expectedMs(target.id, stream) }))
    .sort((a, b) => (a.ms === b.ms ? 0 : a.ms - b.ms))
  const [first] = timed
  // Only the first is going to be called: another that nobody knows is left for the next call to find out.
  if (first !== undefined && first.ms < 0) latencies.claimMeasurement(first.target.id, stream)
  return timed.map(({ target }) => target)
}
