import { rendezvous } from './affinity.ts'
import type { Latencies } from './health/health.ts'
import type { Plan, ResolvedTarget } from './router.ts'

/** Properties of a call that its order of targets depends on. */
export interface OrderInput {
  readonly latencies: Pick<Latencies, 'expectedMs' | 'claimMeasurement'>
  readonly stream: boolean
  /** The text that calls to the same target have in common; see `callAffinity`. */
  readonly affinity: string | undefined
}

/** Groups a plan's targets by priority, lowest number first, and orders each group by the strategy. */
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
    .map(([, group]) => (group.length === 1 ? group : orderGroup(group, strategy, by)))
}

function orderGroup(group: ResolvedTarget[], strategy: Plan['strategy'], by: OrderInput): ResolvedTarget[] {
  switch (strategy) {
    case 'order':
      return group
    case 'weighted':
      return shuffleByWeight(group)
    case 'fastest':
      return byLatency(group, by)
    case 'sticky':
      return by.affinity === undefined
        ? shuffleByWeight(group)
        : rendezvous(
            group,
            by.affinity,
            ({ id }) => id,
            ({ weight }) => weight,
          )
  }
}

/** Draws the targets one after another, each with a probability in proportion to its weight. */
function shuffleByWeight(group: ResolvedTarget[]): ResolvedTarget[] {
  const drawn = group.map((target) => ({ target, score: -Math.log(1 - Math.random()) / target.weight }))
  return drawn.sort((a, b) => a.score - b.score).map(({ target }) => target)
}

function byLatency(group: ResolvedTarget[], { latencies, stream }: OrderInput): ResolvedTarget[] {
  const timed = group
    .map((target) => ({ target, ms: latencies.expectedMs(target.id, stream) }))
    .sort((a, b) => (a.ms === b.ms ? 0 : a.ms - b.ms))
  const [first] = timed
  // Only the first target is called. Other unmeasured targets are left for the next call to measure.
  if (first !== undefined && first.ms < 0) latencies.claimMeasurement(first.target.id, stream)
  return timed.map(({ target }) => target)
}
