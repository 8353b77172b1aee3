import { type AttemptFailure, type AttemptOptions, type AttemptResult, attempt } from './attempt.ts'
import type { GatewayConfig, Limits, Logger } from './config.ts'
import { GatewayError } from './errors.ts'
import type { Codec } from './formats/codec.ts'
import { codecOf } from './formats/index.ts'
import type { Format, Loss } from './formats/ir.ts'
import { mayHoldSeals } from './formats/shared/seals.ts'
import { newId } from './ids.ts'
import type { Inbound, Reply } from './inbound.ts'
import type { Lane } from './lanes/lane.ts'
import { translateLane } from './lanes/translate.ts'
import { type RequestBody, wireLane } from './lanes/wire.ts'
import { lossHeader } from './losses.ts'
import { relay } from './relay.ts'
import { idHeaders, json, streamHeaders } from './reply.ts'
import type { ResolvedTarget, Router } from './router.ts'
import { type Ledger, settle } from './settle.ts'
import type { Signal } from './signal.ts'
import type { Transport } from './transport.ts'
import { redact, toClientError, worthAnotherTarget } from './upstream-error.ts'

/** What one gateway's calls share. */
export interface Shared {
  readonly router: Router
  readonly onLoss: NonNullable<GatewayConfig['onLoss']>
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
}

/** Chat generation in any format: plan, then one attempt after another until one answers. Throws GatewayError. */
export async function generate(call: GenerateCall): Promise<Reply> {
  const { shared, ledger, request } = call
  const targets = shared.router.plan(ledger.model, ledger.identity)
  // One hold for all targets: the client's patience does not begin anew with each.
  const holdUntil = Date.now() + shared.limits.holdMs
  let failure: GatewayError | undefined
  for (const target of targets) {
    let lane: Lane
    try {
      lane = chooseLane(call, target)
    } catch (error) {
      // A codec that cannot write this request for this target; another target's may.
      failure ??=
        error instanceof GatewayError
          ? error
          : new GatewayError('internal', 'The request could not be translated.', { cause: error })
      continue
    }
    ledger.upstream = target.upstreamName
    ledger.upstreamModel = target.model
    ledger.upstreamFormat = lane.upstreamFormat
    ledger.lane = lane.kind
    ledger.losses = lane.report.losses
    const refused = refusal(lane.report.losses, shared.onLoss)
    if (refused !== undefined) {
      failure ??= refused
      continue
    }
    const result = await attempt(attemptOptions(call, target, lane, holdUntil))
    ledger.attempts.push(result.log)
    if (!('error' in result)) return succeed(call, lane, result)
    failure = (result as AttemptFailure).error
    if (!worthAnotherTarget(failure)) break
  }
  throw failure ?? new GatewayError('model_not_found', `The model '${String(request.value.model)}' has no upstream.`)
}

function attemptOptions(call: GenerateCall, target: ResolvedTarget, lane: Lane, holdUntil: number): AttemptOptions {
  const { limits } = call.shared
  return {
    target,
    lane,
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

/**
 * Same format: the wire. But a body that holds another vendor's seals is rewritten even then: its issuer must not be
 * impersonated, and the upstream would refuse it.
 */
function chooseLane({ codec, request, shared }: GenerateCall, { upstream, model }: ResolvedTarget): Lane {
  const traits = { model, quirks: upstream.quirks }
  const { answerBytes } = shared.limits
  if (upstream.formats[codec.format] !== undefined && !mayHoldSeals(request.text))
    return wireLane(codec, request, traits, answerBytes, (text) => redact(text, upstream))
  const format =
    upstream.formats[codec.format] === undefined ? (Object.keys(upstream.formats)[0] as Format) : codec.format
  return translateLane({
    client: codec,
    upstream: codecOf(format),
    request,
    target: traits,
    newId,
    now: () => Math.floor(Date.now() / 1000),
    maxEventChars: answerBytes,
    maxDepth: 1000,
    clean: (error) => toClientError(error, error.status, undefined, upstream).info,
    tellLosses: shared.onLoss !== 'ignore',
  })
}

/** The 400 that a loss calls for: always for a fatal one, for a warning where the configuration says so. */
function refusal(losses: readonly Loss[], onLoss: Shared['onLoss']): GatewayError | undefined {
  const worst =
    losses.find(({ severity }) => severity === 'fatal') ??
    (onLoss === 'reject' ? losses.find(({ severity }) => severity === 'warn') : undefined)
  if (worst === undefined) return undefined
  const param = worst.path.slice(1).replaceAll('/', '.')
  return new GatewayError(
    'invalid_request',
    `${param}: ${worst.detail}. The model asked for cannot be given this part of the request.`,
    {
      param,
      code: 'unsupported_parameter',
    },
  )
}

function succeed(call: GenerateCall, lane: Lane, result: AttemptResult): Reply {
  const { shared, ledger } = call
  const losses = shared.onLoss === 'ignore' ? undefined : lossHeader(lane.report.losses)
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
  const { stream, pump, abort, begun } = result
  const { heartbeatMs, idleMs } = shared.limits
  const body = relay(pump, stream, { heartbeatMs, idleMs, begun }, call.signal, ({ outcome, error }) => {
    call.release()
    if (outcome !== 'finished') abort()
    if (stream.state.usage !== undefined) ledger.usage = stream.state.usage
    end({ status: 200, outcome, ...(error === undefined ? {} : { error }) })
  })
  return { status: 200, headers: { ...streamHeaders, ...headers }, body }
}
