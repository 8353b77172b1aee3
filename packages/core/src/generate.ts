import { GatewayError } from './errors.ts'
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
  /** See CodecContext. */
  readonly kept?: { readonly previous?: string }
  /** The only upstream that knows what the request refers to. */
  readonly onlyUpstream?: string | undefined
  /** Why an upstream of another format cannot answer: it knows nothing of what the request refers to. */
  readonly unknown?: GatewayError | undefined
}

/** Chat generation in any format: plan, then one attempt after another until one answers. Throws GatewayError. */
export async function generate(call: GenerateCall): Promise<Reply> {
  const { shared, ledger, request, codec, kept, onlyUpstream, unknown } = call
  const { prepared, policy, result } = await tryTargets(call, (target, policy) => {
    if (onlyUpstream !== undefined && target.upstreamName !== onlyUpstream) throw keptElsewhere()
    if (unknown !== undefined && target.upstream.formats[codec.format] === undefined) throw unknown
    const lane = chooseLane({ codec, request, target, limits: shared.limits, tellLosses: policy !== 'ignore', kept })
    return { lane, url: urlOf(target, lane, ledger.stream), codec: codecOf(lane.upstreamFormat) }
  })
  return sendAnswer(call, prepared.lane, policy, result)
}

const keptElsewhere = (): GatewayError =>
  new GatewayError('invalid_request', 'The earlier response is kept by another upstream than the one of this model.', {
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  })

/** Where a lane's request goes. */
export function urlOf({ upstream, model }: ResolvedTarget, { upstreamFormat }: Lane, stream: boolean): string {
  const ends = codecOf(upstreamFormat).modelInPath
  const end = stream ? ends?.stream : ends?.whole
  return callUrl(upstream, upstream.formats[upstreamFormat] as string, end, model)
}
