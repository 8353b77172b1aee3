import { GatewayError } from '../base/errors.ts'
import type { Prepare, Prepared } from '../calls/call.ts'
import { type AnswerCall, toReply } from '../calls/send-response.ts'
import { tryTargets } from '../calls/try-targets.ts'
import { mostMediaBytes } from '../config/media-policy.ts'
import type { WireCodec } from '../formats/codec.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Reply } from '../http/inbound.ts'
import { chooseLane } from '../lanes/choose.ts'
import type { Lane } from '../lanes/lane.ts'
import type { LaneChoice } from '../lanes/lane-choice.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { callUrl, speaks } from '../upstreams/outgoing-call.ts'

export interface GenerateCall extends AnswerCall {
  readonly codec: WireCodec
  readonly request: RequestBody
  /** See CodecContext. */
  readonly kept?: { readonly previous?: string }
  /** The only upstream that knows what the request refers to. */
  readonly onlyUpstream?: string | undefined
  /** Why an upstream of another format cannot answer: it knows nothing of what the request refers to. */
  readonly unknown?: GatewayError | undefined
  /** Why an upstream of the same format may not be sent the request: it might read an item's id as a reference to another caller's. */
  readonly notOwned?: GatewayError | undefined
}

/** Chat generation in any format: plan, then one attempt after another until one answers. Rejects with GatewayError. */
export function generate(call: GenerateCall): Promise<Reply> {
  const { shared, signal } = call
  const { logger, limits } = shared
  const media = shared.media && {
    policy: shared.media,
    maxTotalBytes: Math.min(limits.bodyBytes, mostMediaBytes),
    signal,
    logger,
    limits,
  }
  return tryTargets(call, preparerOf(call, media)).then((answered) => toReply(call, answered))
}

/** A chat request as its targets are sent it. */
export type PreparedGeneration = Prepared & { readonly lane: Lane }

/**
 * Prepares a chat request for one target after the other.
 *
 * @param media how media that the request names by URL are fetched. Absent: they are not
 */
export function preparerOf(
  call: Omit<GenerateCall, 'transport' | 'signal' | 'end' | 'jsonArray'>,
  media?: LaneChoice['media'],
): Prepare<PreparedGeneration> {
  const { shared, inbound, record, request, codec, kept, onlyUpstream, unknown, notOwned } = call
  const { limits, references } = shared
  const client = codec.clientQuirks?.((name) => inbound.header(name))
  return (target, policy) => {
    if (onlyUpstream !== undefined && target.upstreamName !== onlyUpstream) throw keptElsewhere()
    if (unknown !== undefined && !speaks(target.upstream, codec.format, target.model)) throw unknown
    if (notOwned !== undefined && speaks(target.upstream, codec.format, target.model)) throw notOwned
    const tellLosses = policy !== 'ignore'
    const lane = chooseLane({ codec, request, client, target, limits, tellLosses, kept, media, references })
    return lane instanceof Promise
      ? lane.then((loaded) => generation(loaded, target, record.stream))
      : generation(lane, target, record.stream)
  }
}

const keptElsewhere = (): GatewayError =>
  new GatewayError('invalid_request', 'The earlier response is kept by another upstream than the one of this model.', {
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  })

/** A lane's request made ready for a target. */
export const generation = (lane: Lane, target: ResolvedTarget, stream: boolean): PreparedGeneration => ({
  lane,
  url: urlOf(target, lane, stream),
  codec: wireCodecOf(lane.upstreamFormat),
  hosting: target.upstream.hosting?.[lane.upstreamFormat],
})

/** Where a lane's request goes. */
function urlOf({ upstream, model }: ResolvedTarget, { upstreamFormat }: Lane, stream: boolean): string {
  const ends = upstream.hosting?.[upstreamFormat]?.modelInPath ?? wireCodecOf(upstreamFormat).modelInPath
  const end = stream ? ends?.stream : ends?.whole
  return callUrl(upstream, upstream.formats[upstreamFormat] as string, end, model)
}
