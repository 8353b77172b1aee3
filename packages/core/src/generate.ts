import { type AttemptFailure, type AttemptOptions, type AttemptResult, attempt } from './attempt.ts'
import type { GatewayConfig, Limits, Logger, OnLoss } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Codec } from './formats/codec.ts'
import { codecOf } from './formats/index.ts'
import type { Inbound, Reply } from './inbound.ts'
import { chooseLane } from './lanes/choose.ts'
import { asJsonArray } from './lanes/json-array.ts'
import type { Lane } from './lanes/lane.ts'
import type { RequestBody } from './lanes/wire.ts'
import { askedPolicy, policyFor, refusal } from './loss-policy.ts'
import { lossHeader } from './losses.ts'
import { relay } from './relay.ts'
import { idHeaders, json, streamHeaders } from './reply.ts'
import type { ResolvedTarget, Router } from './router.ts'
import { type Ledger, settle } from './settle.ts'
import type { Signal } from './signal.ts'
import type { Transport } from './transport.ts'
import { worthAnotherTarget } from './upstream-error.ts'
import { callUrl } from './upstreams/call-url.ts'

/** What one gateway's calls share. */
export interface Shared {
  readonly router: Router
  readonly onLoss: OnLoss
  readonly plugins: NonNullable<GatewayConfig['plugins']>
  readonly limits: Required<Limits>
  readonly logger: Logger
}

export interface GenerateCall {
  readonly shared: Shared
  readonly inbound: Inbound
  readonly codec: Codec
  readonly request: RequestBody
  readonly ledger: Ledger
  readonly transport: Transport
  readonly signal: Signal
  /** Called when a streamed answer is over. */
  readonly release: () => void
  /** A streamed answer is framed as one JSON array instead of events. */
  readonly jsonArray: boolean
}

/** Chat generation in any format: plan, then one attempt after another until one answers. Throws GatewayError. */
export async function generate(call: GenerateCall): Promise<Reply> {
  const { shared, ledger, request, codec } = call
  const asked = askedPolicy(call.inbound)
  const targets = shared.router.plan(ledger.model, ledger.identity)
  // One hold for all targets: the client's patience does not begin anew with each.
  const holdUntil = Date.now() + shared.limits.holdMs
  let failure: GatewayError | undefined
  for (const target of targets) {
    const policy = policyFor(asked, target.onLoss ?? shared.onLoss, ledger.identity)
    let lane: Lane
    let url: string
    try {
      lane = chooseLane({ codec, request, target, limits: shared.limits, tellLosses: policy !== 'ignore' })
      url = urlOf(target, lane, ledger.stream)
    } catch (error) {
      // A codec that cannot write this request for this target; another target's may.
      failure ??= untranslatable(error)
      continue
    }
    ledger.upstream = target.upstreamName
    ledger.upstreamModel = target.model
    ledger.upstreamFormat = lane.upstreamFormat
    ledger.lane = lane.kind
    ledger.losses = lane.report.losses
    const refused = refusal(lane.report.losses, policy)
    if (refused !== undefined) {
      failure ??= refused
      continue
    }
    const result = await attempt(attemptOptions(call, target, lane, url, holdUntil))
    ledger.attempts.push(result.log)
    if (!('error' in result)) return succeed(call, lane, policy, result)
    failure = (result as AttemptFailure).error
    if (!worthAnotherTarget(failure)) break
  }
  throw failure ?? new GatewayError('model_not_found', `The model '${ledger.model}' has no upstream.`)
}

/** Where a lane's request goes. */
export function urlOf({ upstream, model }: ResolvedTarget, { upstreamFormat }: Lane, stream: boolean): string {
  const ends = codecOf(upstreamFormat).modelInPath
  const end = stream ? ends?.stream : ends?.whole
  return callUrl(upstream, upstream.formats[upstreamFormat] as string, end, model)
}

export const untranslatable = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new GatewayError('internal', 'The request could not be translated.', { cause: error })

function attemptOptions(
  call: GenerateCall,
  target: ResolvedTarget,
  lane: Lane,
  url: string,
  holdUntil: number,
): AttemptOptions {
  const { limits } = call.shared
  return {
    target,
    lane,
    url,
    codec: codecOf(lane.upstreamFormat),
    stream: call.ledger.stream,
    header: (name) => call.inbound.header(name),
    transport: call.transport,
    signal: call.signal,
    firstByteMs: limits.firstByteMs,
    holdMs: Math.max(0, holdUntil - Date.now()),
    idleMs: limits.idleMs,
    answerBytes: limits.answerBytes,
  }
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
