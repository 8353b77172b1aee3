import { errorOf, GatewayError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { stringifyExact } from '../base/json/exact-number.ts'
import type { JsonObject } from '../base/json/types.ts'
import type { GatewayContext, Prepared } from '../calls/call.ts'
import { type AnswerCall, toReply } from '../calls/send-response.ts'
import { tryTargets } from '../calls/try-targets.ts'
import type { OnLoss } from '../config/identity.ts'
import { checkResponse, type ResponseCheck } from '../formats/check-response.ts'
import type { Codec, StreamTap, TextFields } from '../formats/codec.ts'
import { wireCodecOf } from '../formats/codec-registry.ts'
import { createReport, responseReport } from '../formats/loss-report.ts'
import type { RequestBody } from '../formats/request-body.ts'
import type { Reply } from '../http/inbound.ts'
import { encodeAllSse } from '../http/sse/encode.ts'
import { readAnswer } from '../lanes/answer-body.ts'
import { exactValue } from '../lanes/exact-body.ts'
import type { AnswerStream } from '../lanes/lane.ts'
import { leastLoss } from '../lanes/least-loss.ts'
import { passingStream } from '../lanes/passing-stream.ts'
import { setModel } from '../lanes/wire.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { callUrl, formatsFor } from '../upstreams/outgoing-call.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import type { Upstream } from '../upstreams/upstream.ts'
import { generation } from './generate.ts'
import { encodeForm, type Form } from './multipart/form.ts'
import { inlineFiles } from './multipart/read-form.ts'
import type { Dialect, Operation } from './operation.ts'

export interface OperationCall extends AnswerCall {
  readonly operation: Operation<unknown, unknown>
  /** The client's. */
  readonly dialect: Dialect<unknown, unknown>
  readonly request: RequestBody
  /** The request as it was uploaded; `request` then holds only what its fields say. */
  readonly form?: Form
}

type OperationLane = Prepared['lane']

/** An operation beside chat: the same dialect passes as it came, another is written anew. Throws GatewayError. */
export async function runOperation(call: OperationCall): Promise<Reply> {
  if (call.operation.counted !== undefined) call.record.counted = call.operation.counted
  call.record.expected = call.dialect.expects?.(call.request.value)
  const answered = await tryTargets(call, (target, policy) => prepare(call, target, policy))
  const units = call.dialect.unitsOf?.(call.request.value)
  if (units !== undefined) call.record.units = units
  return toReply(call, answered)
}

function prepare(call: OperationCall, target: ResolvedTarget, policy: OnLoss): Prepared | Promise<Prepared> {
  const { operation, dialect, request, form } = call
  const { upstream, model } = target
  const spoken = upstream.operations?.[operation.name] ?? {}
  const writer =
    spoken[dialect.name] === undefined
      ? operation.dialects.find(
          ({ name, encodeRequest, serves }) =>
            spoken[name] !== undefined && encodeRequest !== undefined && serves?.(model) !== false,
        )
      : dialect
  if (writer === undefined && operation.viaChat !== undefined && Object.keys(upstream.formats).length > 0)
    return chat(call, operation.viaChat(call.request.value), target, policy)
  if (writer === undefined || (writer !== dialect && dialect.decodeRequest === undefined))
    throw new GatewayError(
      'invalid_request',
      `The model '${call.record.model}' does not do this (${operation.name}): its upstream offers no such endpoint.`,
      { param: 'model' },
    )
  const url = callUrl(upstream, spoken[writer.name] as string, writer.modelInPath, model)
  const codec = wireCodecOf(writer.errors)
  if (form === undefined) {
    const lane =
      writer === dialect
        ? wire(call, target, { body: jsonBody(call, target) })
        : translation(call, exactValue(request), writer, target)
    return { lane, url, codec }
  }
  const lane =
    writer === dialect
      ? encodeForm(form, model, newId('modelgate-')).then((sent) => wire(call, target, sent))
      : inlineFiles(form).then((value) => translation(call, value, writer, target))
  return lane.then((lane) => ({ lane, url, codec }))
}

function jsonBody({ dialect, request }: OperationCall, { upstream, model }: ResolvedTarget): string | Uint8Array {
  const target = { model, quirks: upstream.quirks }
  const unnamed = request.value.model === undefined && model !== dialect.defaultModel ? { model } : undefined
  return setModel(request, model, { ...unnamed, ...dialect.wireEdit?.(request.value, target) })
}

function wire(
  { operation, dialect, request, shared }: OperationCall,
  { upstream }: ResolvedTarget,
  sent: Pick<OperationLane, 'body' | 'headers'>,
): OperationLane {
  const read = (bytes: Uint8Array) => {
    const { value, ...answer } = readAnswer(bytes, redactorOf(upstream))
    checkResponse(value, checkOf(dialect))
    const { error, ...tapped } = quietly(dialect, value)
    if (error !== undefined) throw errorOf(error)
    return { value, answer: { ...answer, ...tapped } }
  }
  const { asEvents } = dialect
  return {
    kind: 'wire',
    ...sent,
    report: createReport(),
    answer: (bytes) => read(bytes).answer,
    openStream: () => passing(dialect, request.value, shared, upstream, operation.counted?.textFields),
    ...(dialect.passes === undefined ? {} : { passes: dialect.passes }),
    ...(asEvents === undefined
      ? {}
      : { asEvents: (bytes) => encoder.encode(encodeAllSse(asEvents(read(bytes).value, request.value))) }),
  }
}

const encoder = new TextEncoder()

/** A stream in the client's own dialect. */
const passing = (
  dialect: Dialect<unknown, unknown>,
  asked: JsonObject,
  { limits }: GatewayContext,
  upstream: Upstream,
  says: TextFields | undefined,
): AnswerStream =>
  passingStream({
    tap: tapOf(dialect, asked),
    maxEventChars: limits.answerBytes,
    redactor: redactorOf(upstream),
    textFields: says,
  })

/** Nobody there speaks the operation: it is asked of the upstream as chat generation. */
function chat(
  { request, shared, record }: OperationCall,
  codec: Codec,
  target: ResolvedTarget,
  policy: OnLoss,
): Prepared | Promise<Prepared> {
  const formats = formatsFor(target.upstream, target.model)
  const { limits, references } = shared
  const lane = leastLoss({ codec, request, target, limits, references, tellLosses: policy !== 'ignore' }, formats)
  return lane instanceof Promise
    ? lane.then((loaded) => generation(loaded, target, record.stream))
    : generation(lane, target, record.stream)
}

function tapOf({ name, tapStream }: Dialect<unknown, unknown>, asked: JsonObject): StreamTap {
  if (tapStream === undefined) throw new GatewayError('internal', `The dialect '${name}' has no streams.`)
  return tapStream(asked)
}

const checkOf = ({ errors, isResponse: isAnswer, errorWithin }: Dialect<unknown, unknown>): ResponseCheck => ({
  decodeError: wireCodecOf(errors).decodeError,
  isAnswer,
  errorWithin,
})

/** Accounting must never break an answer that the client could read. */
function quietly(dialect: Dialect<unknown, unknown>, body: JsonObject): ReturnType<typeof dialect.tapResponse> {
  try {
    return dialect.tapResponse(body)
  } catch {
    return {}
  }
}

/** @param value what the client wrote, with the files of an upload */
function translation(
  { operation, dialect, shared }: OperationCall,
  value: JsonObject,
  writer: Dialect<unknown, unknown>,
  { upstream, model }: ResolvedTarget,
): OperationLane {
  const report = createReport(value)
  const context = { report, newId, now: () => Math.floor(Date.now() / 1000) }
  const asked = dialect.decodeRequest?.(value, context)
  const sent = writer.encodeRequest?.(asked, { ...context, target: { model, quirks: upstream.quirks } })
  const exchange = { ...context, report: responseReport(report), request: asked }
  const read = (bytes: Uint8Array): unknown => {
    const { value: body } = readAnswer(bytes, redactorOf(upstream))
    checkResponse(body, checkOf(writer))
    const { error } = quietly(writer, body)
    if (error !== undefined) throw errorOf(error)
    return writer.decodeResponse?.(body, exchange)
  }
  const { asEvents, tapStream } = dialect
  const streams = asEvents !== undefined && tapStream !== undefined
  return {
    kind: 'translate',
    body: stringifyExact(sent),
    report,
    // Another dialect's field of another name would lead the client astray in its own body.
    paramOf: (param) => (Object.hasOwn(value, param.split(/[.[]/, 1)[0] ?? '') ? param : undefined),
    answer(bytes) {
      const answer = read(bytes)
      const usage = operation.usageOf?.(answer)
      const units = operation.unitsOf?.(answer)
      return {
        ...(dialect.encodeBody?.(answer, exchange) ?? {
          body: stringifyExact(dialect.encodeResponse?.(answer, exchange)),
        }),
        ...(usage === undefined ? {} : { usage }),
        ...(units === undefined ? {} : { units }),
      }
    },
    ...(streams
      ? {
          asEvents: (bytes) =>
            encoder.encode(encodeAllSse(asEvents(dialect.encodeResponse?.(read(bytes), exchange) ?? {}, value))),
        }
      : {}),
    openStream() {
      if (streams) return passing(dialect, value, shared, upstream, operation.counted?.textFields)
      throw new GatewayError('invalid_request', 'stream: the model asked for cannot stream this.', { param: 'stream' })
    },
  }
}
