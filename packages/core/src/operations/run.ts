import { errorOf, GatewayError } from '../errors.ts'
import type { OnLoss } from '../config.ts'
import type { Codec, StreamTap } from '../formats/codec.ts'
import { codecOf } from '../formats/index.ts'
import type { JsonObject } from '../formats/ir.ts'
import { urlOf } from '../generate.ts'
import { newId } from '../ids.ts'
import type { Reply } from '../inbound.ts'
import { leastLoss } from '../lanes/choose.ts'
import type { Lane } from '../lanes/lane.ts'
import { parseAnswer, passingStream, type RequestBody, setModel } from '../lanes/wire.ts'
import { answerSide, createReport } from '../losses.ts'
import type { ResolvedTarget } from '../router.ts'
import { type AnswerCall, sendAnswer } from '../send-answer.ts'
import { type Prepared, tryTargets } from '../targets.ts'
import { redact } from '../upstream-error.ts'
import { callUrl } from '../upstreams/call-url.ts'
import type { Dialect, Operation } from './operation.ts'

export interface OperationCall extends AnswerCall {
  readonly operation: Operation<unknown, unknown>
  /** The client's. */
  readonly dialect: Dialect<unknown, unknown>
  readonly request: RequestBody
}

type OperationLane = Prepared['lane']

/** An operation with a JSON body: the same dialect passes as it came, another is written anew. Throws GatewayError. */
export async function runOperation(call: OperationCall): Promise<Reply> {
  const { prepared, policy, result } = await tryTargets(call, (target, policy) => prepare(call, target, policy))
  return sendAnswer(call, prepared.lane, policy, result)
}

function prepare(call: OperationCall, target: ResolvedTarget, policy: OnLoss): Prepared {
  const { operation, dialect } = call
  const { upstream, model } = target
  const spoken = upstream.operations?.[operation.name] ?? {}
  const writer =
    spoken[dialect.name] === undefined
      ? operation.dialects.find(({ name, encodeRequest }) => spoken[name] !== undefined && encodeRequest !== undefined)
      : dialect
  if (writer === undefined && operation.viaChat !== undefined && Object.keys(upstream.formats).length > 0)
    return chat(call, operation.viaChat, target, policy)
  if (writer === undefined || (writer !== dialect && dialect.decodeRequest === undefined))
    throw new GatewayError(
      'invalid_request',
      `The model '${call.ledger.model}' does not do this (${operation.name}): its upstream offers no such endpoint.`,
      { param: 'model' },
    )
  return {
    lane: writer === dialect ? wire(call, target) : translation(call, writer, target),
    url: callUrl(upstream, spoken[writer.name] as string, writer.modelInPath, model),
    codec: codecOf(writer.errors),
  }
}

function wire({ dialect, request, shared }: OperationCall, { upstream, model }: ResolvedTarget): OperationLane {
  const target = { model, quirks: upstream.quirks }
  const unnamed = request.value.model === undefined && model !== dialect.defaultModel ? { model } : undefined
  return {
    kind: 'wire',
    body: setModel(request, model, { ...unnamed, ...dialect.wireEdit?.(request.value, target) }),
    report: createReport(),
    answer(bytes) {
      const { error, ...tapped } = quietly(dialect, parseAnswer(bytes))
      if (error !== undefined) throw errorOf(error)
      return { body: bytes, ...tapped }
    },
    openStream: () =>
      passingStream(
        () => tapOf(dialect),
        shared.limits.answerBytes,
        (text) => redact(text, upstream),
      ),
  }
}

/** Nobody there speaks the operation: it is asked of the upstream as chat generation. */
function chat({ request, shared, ledger }: OperationCall, codec: Codec, target: ResolvedTarget, policy: OnLoss): Prepared {
  const lane = leastLoss({ codec, request, target, limits: shared.limits, tellLosses: policy !== 'ignore' })
  return { lane, url: urlOf(target, lane, ledger.stream), codec: codecOf(lane.upstreamFormat) }
}

function tapOf({ name, tapStream }: Dialect<unknown, unknown>): StreamTap {
  if (tapStream === undefined) throw new GatewayError('internal', `The dialect '${name}' has no streams.`)
  return tapStream()
}

/** Accounting must never break an answer that the client could read. */
function quietly(dialect: Dialect<unknown, unknown>, body: JsonObject): ReturnType<typeof dialect.tapAnswer> {
  try {
    return dialect.tapAnswer(body)
  } catch {
    return {}
  }
}

function translation(
  { operation, dialect, request }: OperationCall,
  writer: Dialect<unknown, unknown>,
  { upstream, model }: ResolvedTarget,
): OperationLane {
  const report = createReport(request.value)
  const context = { report, newId, now: () => Math.floor(Date.now() / 1000) }
  const asked = dialect.decodeRequest?.(request.value, context)
  const sent = writer.encodeRequest?.(asked, { ...context, target: { model, quirks: upstream.quirks } })
  return {
    kind: 'translate',
    body: JSON.stringify(sent),
    report,
    // Another dialect's field of another name would lead the client astray in its own body.
    paramOf: (param) => (Object.hasOwn(request.value, param.split(/[.[]/, 1)[0] ?? '') ? param : undefined),
    answer(bytes) {
      const exchange = { ...context, report: answerSide(report), request: asked }
      const body = parseAnswer(bytes)
      const { error } = quietly(writer, body)
      if (error !== undefined) throw errorOf(error)
      const answer = writer.decodeAnswer?.(body, exchange)
      const usage = operation.usageOf?.(answer)
      return {
        body: JSON.stringify(dialect.encodeAnswer?.(answer, exchange)),
        ...(usage === undefined ? {} : { usage }),
      }
    },
    openStream: (): ReturnType<Lane['openStream']> => {
      throw new GatewayError('invalid_request', 'stream: the model asked for cannot stream this.', { param: 'stream' })
    },
  }
}
