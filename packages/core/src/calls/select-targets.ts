import { affinityFor, continuesState, strategyFor } from '../affinity.ts'
import { arrange } from '../arrange.ts'
import type { Codec, WireCodec } from '../formats/codec.ts'
import type { Latencies } from '../health/latency.ts'
import { fieldsOf } from '../lanes/wire.ts'
import { checkNamedModels, type NamingCall } from '../named-models.ts'
import type { Plan, ResolvedTarget } from '../router.ts'
import type { Shared } from '../targets.ts'
import { type Asked, isMeant, traitsOf } from '../traits.ts'

/** A call whose targets are selected: to be called, or only to be explained. */
export interface SelectingCall extends Omit<Asked, 'codec'>, NamingCall {
  /** The client's format, for chat generation. */
  readonly codec?: WireCodec | undefined
  readonly shared: Pick<Shared, 'router' | 'logger'>
}

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
  const { shared, ledger } = call
  const plan = shared.router.plan(ledger.model, ledger.identity)
  checkNamedModels(call, shared.router, ledger.identity)
  return plan
}

/** @param codec of a chat request, for the features that a target's `when` may ask for. Needed where the plan is conditional */
export function selectTargets(call: SelectingCall, plan: Plan, codec: Codec | undefined): TargetSelection {
  const { request, ledger, inbound } = call
  const fields = fieldsOf(request)
  const continues = continuesState(call.codec, fields)
  const strategy = strategyFor(plan.strategy, continues)
  const affinity = affinityFor(call.codec, strategy, continues, fields, ledger.identity, inbound)
  const targets = plan.conditional ? targetsMeantFor(call, codec, plan.targets) : plan.targets
  return { targets, strategy, affinity }
}

/** The selected targets in the order in which they are tried, those of the same priority together. */
export const orderTargets = (
  { targets, strategy, affinity }: TargetSelection,
  latencies: Pick<Latencies, 'expect' | 'look'>,
  stream: boolean,
): readonly (readonly ResolvedTarget[])[] => arrange(targets, strategy, { latencies, stream, affinity })

function targetsMeantFor(
  { request, inbound, ledger, shared }: SelectingCall,
  codec: Codec | undefined,
  targets: readonly ResolvedTarget[],
): readonly ResolvedTarget[] {
  let traits: ReturnType<typeof traitsOf> | undefined
  const traitsOfCall = (): ReturnType<typeof traitsOf> => {
    traits ??= traitsOf({ codec, request, inbound, ledger })
    return traits
  }
  return targets.filter((target) => isMeant(target, traitsOfCall, shared.logger))
}
