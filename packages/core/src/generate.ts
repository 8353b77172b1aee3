import type { Codec } from './formats/codec.ts'
import { codecOf } from './formats/index.ts'
import type { Reply } from './inbound.ts'
import { chooseLane } from './lanes/choose.ts'
import type { Lane } from './lanes/lane.ts'
import type { RequestBody } from './lanes/wire.ts'
import type { ResolvedTarget } from './router.ts'
import { type AnswerCall, sendAnswer } from './send-answer.ts'
import { tryTargets } from './targets.ts'
import { callUrl } from './upstreams/call-url.ts'

export interface GenerateCall extends AnswerCall {
  readonly codec: Codec
  readonly request: RequestBody
}

/** Chat generation in any format: plan, then one attempt after another until one answers. Throws GatewayError. */
export async function generate(call: GenerateCall): Promise<Reply> {
  const { shared, ledger, request, codec } = call
  const { prepared, policy, result } = await tryTargets(call, (target, policy) => {
    const lane = chooseLane({ codec, request, target, limits: shared.limits, tellLosses: policy !== 'ignore' })
    return { lane, url: urlOf(target, lane, ledger.stream), codec: codecOf(lane.upstreamFormat) }
  })
  return sendAnswer(call, prepared.lane, policy, result)
}

/** Where a lane's request goes. */
export function urlOf({ upstream, model }: ResolvedTarget, { upstreamFormat }: Lane, stream: boolean): string {
  const ends = codecOf(upstreamFormat).modelInPath
  const end = stream ? ends?.stream : ends?.whole
  return callUrl(upstream, upstream.formats[upstreamFormat] as string, end, model)
}
