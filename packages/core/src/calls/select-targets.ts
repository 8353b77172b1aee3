import type { Codec } from '../formats/codec.ts'
import { bodyFields } from '../formats/request-body.ts'
import { callAffinity, continuesState, effectiveStrategy } from '../routing/affinity.ts'
import type { Latencies } from '../routing/health/health.ts'
import { orderByStrategy } from '../routing/order-targets.ts'
import { createRequestTraits, matchesWhen } from '../routing/request-traits.ts'
import { checkNamedModels, type Plan, type ResolvedTarget } from '../routing/router.ts'
import type { SelectingCall } from './call.ts'

/** The targets that a request is meant for, and how its call chooses among them. */
export interface TargetSelection {
  /** As configured: not in the order in which they are tried. */
  readonly targets: readonly ResolvedTarget[]
  readonly strategy: Plan['strategy']
  /** The call shares this with others that should reach the same target and key. */
  readonly affinity: string | undefined
}

/** The plan for a call's model. Throws a GatewayError if its caller may not use the model, or another one that the request names. */
export function planFor(call: SelectingCall): Plan {
  const { shared, record } = call
  const plan = shared.router.plan(record.model, record.identity)
  checkNamedModels(call, shared.router, record.identity)
  return plan
}

/** @param codec of a chat request, for the features that a target's `when` may ask for. Needed where the plan is conditional */
export function selectTargets(call: SelectingCall, plan: Plan, codec: Codec | undefined): TargetSelection {
  const { request, record, inbound } = call
  const fields = bodyFields(request)
  const continues = continuesState(call.codec, fields)
  const strategy = effectiveStrategy(plan.strategy, continues)
  const affinity = callAffinity(call.codec, strategy, continues, fields, record.identity, inbound)
  const targets = plan.conditional ? targetsMeantFor(call, codec, plan.targets) : plan.targets
  return { targets, strategy, affinity }
}

/** The selected targets in the order in which they are tried, those of the same priority together. */
export const orderTargets = (
  { targets, strategy, affinity }: TargetSelection,
  latencies: Pick<Latencies, 'expectedMs' | 'claimMeasurement'>,
  stream: boolean,
): readonly (readonly ResolvedTarget[])[] => orderByStrategy(targets, strategy, { latencies, stream, affinity })

function targetsMeantFor(
  { request, inbound, record, shared }: SelectingCall,
  codec: Codec | undefined,
  targets: readonly ResolvedTarget[],
): readonly ResolvedTarget[] {
  let traits: ReturnType<typeof createRequestTraits> | undefined
  const traitsOfCall = (): ReturnType<typeof createRequestTraits> => {
    traits ??= createRequestTraits({ codec, request, inbound, record })
    return traits
  }
  return targets.filter((target) => matchesWhen(target, traitsOfCall, shared.logger))
}
