import type { AttemptResult } from './attempt.ts'
import type { OnLoss } from './config.ts'
import type { Codec } from './formats/codec.ts'
import { codecOf } from './formats/index.ts'
import type { Reply } from './inbound.ts'
import { chooseLane } from './lanes/choose.ts'
import { asJsonArray } from './lanes/json-array.ts'
import type { Lane } from './lanes/lane.ts'
import type { RequestBody } from './lanes/wire.ts'
import { lossHeader } from './losses.ts'
import { relay } from './relay.ts'
import { idHeaders, json, streamHeaders } from './reply.ts'
import type { ResolvedTarget } from './router.ts'
import { settle } from './settle.ts'
import { type TargetCall, tryTargets } from './targets.ts'
import { callUrl } from './upstreams/call-url.ts'

export interface GenerateCall extends TargetCall {
  readonly codec: Codec
  readonly request: RequestBody
  /** Called when a streamed answer is over. */
  readonly release: () => void
  /** A streamed answer is framed as one JSON array instead of events. */
  readonly jsonArray: boolean
}

/** Chat generation in any format: plan, then one attempt after another until one answers. Throws GatewayError. */
export async function generate(call: GenerateCall): Promise<Reply> {
  const { shared, ledger, request, codec } = call
  const { prepared, policy, result } = await tryTargets(call, (target, policy) => {
    const lane = chooseLane({ codec, request, target, limits: shared.limits, tellLosses: policy !== 'ignore' })
    return { lane, url: urlOf(target, lane, ledger.stream), codec: codecOf(lane.upstreamFormat) }
  })
  return succeed(call, prepared.lane, policy, result)
}

/** Where a lane's request goes. */
export function urlOf({ upstream, model }: ResolvedTarget, { upstreamFormat }: Lane, stream: boolean): string {
  const ends = codecOf(upstreamFormat).modelInPath
  const end = stream ? ends?.stream : ends?.whole
  return callUrl(upstream, upstream.formats[upstreamFormat] as string, end, model)
}

function succeed(call: GenerateCall, lane: Lane, policy: OnLoss, result: AttemptResult): Reply {
  const { shared, ledger } = call
  const losses = policy === 'ignore' ? undefined : lossHeader(lane.report.losses)
  const headers: Record<string, string> = idHeaders(ledger.requestId)
  if (losses !== undefined) headers['modelgate-loss'] = losses
  const end = (ending: Parameters<typeof settle>[1]): void => settle(ledger, ending, shared.plugins, shared.logger)
  ledger.firstEventAt = performance.now()
  if (result.kind === 'whole') {
    if (result.answer.usage !== undefined) ledger.usage = result.answer.usage
    end({ status: 200, outcome: 'finished' })
    headers['content-type'] = json
    return { status: 200, headers, body: result.answer.body }
  }
  const { pump, abort, begun } = result
  const stream = call.jsonArray ? asJsonArray(result.stream) : result.stream
  const { heartbeatMs, idleMs } = shared.limits
  const body = relay(pump, stream, { heartbeatMs, idleMs, begun }, call.signal, ({ outcome, error }) => {
    call.release()
    if (outcome !== 'finished') abort()
    if (stream.state.usage !== undefined) ledger.usage = stream.state.usage
    end({ status: 200, outcome, ...(error === undefined ? {} : { error }) })
  })
  if (call.jsonArray) headers['content-type'] = json
  return { status: 200, headers: { ...streamHeaders, ...headers }, body }
}
