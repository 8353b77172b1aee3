import { newId } from '../base/bytes.ts'
import { errorFromInfo, GatewayError } from '../base/errors.ts'
import { type JsonObject, stringifyExact } from '../base/json/json.ts'
import type { OnLoss } from '../config/identity.ts'
import type { Limits } from '../config/limits.ts'
import type { ReferencePolicy } from '../config/references.ts'
import type { ResponseCheck } from '../formats/check-response.ts'
import type { ResponseTap } from '../formats/codec.ts'
import { wireCodecs } from '../formats/codec-registry.ts'
import type { Report } from '../formats/ir.ts'
import { createReport } from '../formats/loss-report.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { responseReport } from '../formats/shared/response-losses.ts'
import type { SseEvent } from '../http/sse/sse.ts'
import { generationRequest } from '../lanes/generation.ts'
import { translate } from '../lanes/generation-translation.ts'
import type { Lane, RequestWriter, ResponseStream, TargetRequest, WholeResponse } from '../lanes/lane.ts'
import { type PassThroughDialect, passThroughLane } from '../lanes/pass-through.ts'
import { passThroughStream } from '../lanes/pass-through-stream.ts'
import { type EncodedRequest, exactValue, type Translation, translationLane } from '../lanes/translation.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { callUrl, formatsFor } from '../upstreams/outgoing-call.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import { encodeForm, type Form } from './multipart/form.ts'
import { inlineFiles } from './multipart/read-form.ts'
import {
  type AnyClientDialect,
  type AnyDialect,
  type AnyOperation,
  type ResponseContext,
  unsupportedOperation,
} from './operation.ts'

/** The request of a model operation, and what its lanes depend on. */
export interface OperationRequest {
  readonly operation: AnyOperation
  /** The client's. */
  readonly dialect: AnyClientDialect
  readonly request: RequestBody
  /** The upload. `request` then holds only what its fields say. */
  readonly form: Form | undefined
  /** The model as the client names it. */
  readonly model: string
  readonly stream: boolean
  readonly limits: Required<Limits>
  readonly references: ReferencePolicy
}

/** Writes the requests of model operations: passed through in the client's dialect, or translated to one that the upstream speaks. */
export class ModelOperationWriter implements RequestWriter {
  readonly #request: OperationRequest

  constructor(request: OperationRequest) {
    this.#request = request
  }

  write(target: ResolvedTarget, policy: OnLoss): TargetRequest | Promise<TargetRequest> {
    const { operation, dialect, request } = this.#request
    const { upstream, model } = target
    const endpoints = upstream.operations?.[operation.name] ?? {}
    const own = endpoints[dialect.name] === undefined ? undefined : operation.dialects.find((one) => one === dialect)
    const spoken =
      own ??
      operation.dialects.find(
        ({ name, encodeRequest, serves }) =>
          endpoints[name] !== undefined && encodeRequest !== undefined && serves?.(model) !== false,
      )
    if (spoken === undefined && operation.viaChat !== undefined && Object.keys(upstream.formats).length > 0)
      return this.#asGeneration(operation.viaChat(request.value), target, policy)
    if (spoken === undefined || (own === undefined && dialect.decodeRequest === undefined))
      throw unsupportedOperation(this.#request.model, operation.name)
    const url = callUrl(upstream, endpoints[spoken.name] as string, spoken.modelInPath, model)
    const codec = wireCodecs[spoken.errors]
    const lane = own === undefined ? this.#translation(spoken, target) : this.#passThrough(own, target)
    return lane instanceof Promise ? lane.then((lane) => ({ lane, url, codec })) : { lane, url, codec }
  }

  #passThrough(dialect: AnyDialect, { upstream, model }: ResolvedTarget): Lane | Promise<Lane> {
    const { operation, request, form, limits } = this.#request
    const shared = passThroughDialect(operation, dialect)
    const traits = { model, quirks: upstream.quirks }
    const redactor = redactorOf(upstream)
    if (form === undefined) return passThroughLane(shared, request, traits, limits.answerBytes, redactor)
    return encodeForm(form, model, newId('modelgate-')).then((upload) =>
      passThroughLane(shared, request, traits, limits.answerBytes, redactor, undefined, {
        ...upload,
        form: { ...form.value, model },
      }),
    )
  }

  #translation(spoken: AnyDialect, target: ResolvedTarget): Lane | Promise<Lane> {
    const { request, form } = this.#request
    const laneFor = (body: JsonObject): Lane => {
      const report = createReport(body)
      const translation = new DialectTranslation(this.#request, body, spoken, target, report)
      return translationLane(translation, body, report, redactorOf(target.upstream))
    }
    return form === undefined ? laneFor(exactValue(request)) : inlineFiles(form).then(laneFor)
  }

  /** For upstreams without any of the operation's dialects: the request is sent as chat generation. */
  #asGeneration(
    codec: ReturnType<NonNullable<AnyOperation['viaChat']>>,
    target: ResolvedTarget,
    policy: OnLoss,
  ): TargetRequest | Promise<TargetRequest> {
    const { request, limits, references, stream } = this.#request
    const formats = formatsFor(target.upstream, target.model)
    const lane = translate({ codec, request, limits, references }, target, policy, formats)
    return lane instanceof Promise
      ? lane.then((loaded) => generationRequest(loaded, target, stream))
      : generationRequest(lane, target, stream)
  }
}

/** A dialect of an operation, as the pass-through lane sees it. */
function passThroughDialect({ counted }: AnyOperation, dialect: AnyDialect): PassThroughDialect {
  const { errors, tapStream, toEvents: asEvents, passes, defaultModel, isResponse, errorWithin } = dialect
  return {
    decodeError: wireCodecs[errors].decodeError,
    isResponse,
    errorWithin,
    tapResponse: (body) => dialect.tapResponse(body),
    wireEdit(body, target) {
      const set = dialect.passThroughEdit?.(body, target)
      // A body without a model gets the upstream's, unless that is the upstream's own default.
      if (body.model !== undefined || target.model === defaultModel) return set === undefined ? undefined : { set }
      return { set: { model: target.model, ...set } }
    },
    tapStream: tapStream === undefined ? undefined : ({ request = {} }) => tapStream(request),
    textFields: counted?.textFields,
    passes,
    asEvents,
  }
}

const checkOf = ({ errors, isResponse, errorWithin }: AnyDialect): ResponseCheck => ({
  decodeError: wireCodecs[errors].decodeError,
  isResponse,
  errorWithin,
})

/** Translates between two dialects of an operation, by the operation's own intermediate representation. */
class DialectTranslation implements Translation<unknown, unknown, ResponseContext<unknown>> {
  readonly responseCheck: ResponseCheck
  readonly encodeEvents: ((response: unknown, context: ResponseContext<unknown>) => readonly SseEvent[]) | undefined
  readonly #call: OperationRequest
  /** The client's. */
  readonly #body: JsonObject
  /** The upstream's dialect. */
  readonly #spoken: AnyDialect
  readonly #target: ResolvedTarget
  readonly #context: { readonly report: Report; newId(prefix: string): string; now(): number }

  constructor(call: OperationRequest, body: JsonObject, spoken: AnyDialect, target: ResolvedTarget, report: Report) {
    this.#call = call
    this.#body = body
    this.#spoken = spoken
    this.#target = target
    this.#context = { report, newId, now: () => Math.floor(Date.now() / 1000) }
    this.responseCheck = checkOf(spoken)
    const { dialect } = call
    const { toEvents: asEvents, tapStream } = dialect
    this.encodeEvents =
      asEvents === undefined || tapStream === undefined
        ? undefined
        : (response, context) => asEvents(dialect.encodeResponse?.(response, context) ?? {}, body)
  }

  decodeRequest(body: JsonObject): unknown {
    return this.#call.dialect.decodeRequest?.(body, this.#context)
  }

  encodeRequest(request: unknown): EncodedRequest {
    const { upstream, model } = this.#target
    const target = { model, quirks: upstream.quirks }
    return { body: this.#spoken.encodeRequest?.(request, { ...this.#context, target }) ?? {} }
  }

  openContext(request: unknown): ResponseContext<unknown> {
    return { ...this.#context, report: responseReport(this.#context.report), request }
  }

  decodeResponse(body: JsonObject, context: ResponseContext<unknown>): unknown {
    const { error } = tapQuietly(this.#spoken, body)
    if (error !== undefined) throw errorFromInfo(error)
    return this.#spoken.decodeResponse?.(body, context)
  }

  encodeResponse(response: unknown, context: ResponseContext<unknown>): WholeResponse {
    const { operation, dialect } = this.#call
    const usage = operation.usageOf?.(response)
    const units = operation.unitsOf?.(response)
    return {
      ...(dialect.encodeBody?.(response, context) ?? {
        body: stringifyExact(dialect.encodeResponse?.(response, context)),
      }),
      ...(usage === undefined ? {} : { usage }),
      ...(units === undefined ? {} : { units }),
    }
  }

  openStream(): ResponseStream {
    const { operation, dialect, limits } = this.#call
    const { toEvents: asEvents, tapStream } = dialect
    // The upstream's whole response is split into events of the client's dialect.
    if (asEvents === undefined || tapStream === undefined)
      throw new GatewayError('invalid_request', 'stream: the requested model cannot stream this response.', {
        param: 'stream',
      })
    return passThroughStream({
      tap: tapStream(this.#body),
      maxEventChars: limits.answerBytes,
      redactor: redactorOf(this.#target.upstream),
      textFields: operation.counted?.textFields,
    })
  }

  /** A field of the upstream's dialect that the client's body lacks would mislead the client. */
  clientParam(param: string): string | undefined {
    return Object.hasOwn(this.#body, param.split(/[.[]/, 1)[0] ?? '') ? param : undefined
  }
}

/** Accounting must never break a response that the client can read. */
function tapQuietly(dialect: AnyDialect, body: JsonObject): ResponseTap {
  try {
    return dialect.tapResponse(body)
  } catch {
    return {}
  }
}
