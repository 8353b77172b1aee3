import { monotonicNow } from '../base/async.ts'
import { newId } from '../base/bytes.ts'
import { type ErrorInfo, GatewayError } from '../base/errors.ts'
import { type JsonObject, stringifyExact } from '../base/json/json.ts'
import { plainNumbers } from '../base/json/parse.ts'
import type { UpstreamFormat } from '../base/names.ts'
import type { OnLoss } from '../config/identity.ts'
import { acceptsReference, type ReferencePolicy } from '../config/references.ts'
import type {
  ClientCodec,
  ClientQuirks,
  KeptState,
  ResponseContext,
  TargetTraits,
  UpstreamCodec,
} from '../formats/codec.ts'
import { loadCodec, loadFullCodec } from '../formats/codec-registry.ts'
import type { ModelRequest, ModelResponse, Part, Report } from '../formats/ir.ts'
import { createReport, type RequestReport } from '../formats/loss-report.ts'
import { unknownReferenceError } from '../formats/references/find.ts'
import { isStoredUri } from '../formats/references/places.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { requestedTier } from '../formats/shared/billed.ts'
import { findModelRule, fitToModel } from '../formats/shared/model-rules.ts'
import { isDefaultValue, translateParam } from '../formats/shared/pointers.ts'
import { reportUsage, responseReport } from '../formats/shared/response-losses.ts'
import { hasChanges } from '../formats/shared/settings-changes.ts'
import type { Framing } from '../http/framing/framing.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { type Redactor, redactorOf } from '../upstreams/redaction/redactor.ts'
import { toClientError } from '../upstreams/upstream-error.ts'
import { sealCallIds, unsealCallId } from './call-id-seals.ts'
import type { RequestEdit } from './inline-media.ts'
import { type Generation, type Lane, mayNameMedia, type ResponseStream, type WholeResponse } from './lane.ts'
import { translatedStream } from './translated-stream.ts'
import { type EncodedRequest, exactValue, type Translation, translationLane } from './translation.ts'
import { withoutTurnContents } from './without-turn-contents.ts'

/**
 * Returns the translation with the least loss. Throws the first format's error if the request fits none. Returns a promise only where
 * a codec has to be loaded first.
 *
 * @param formats of the upstream, best first
 */
export function translate(
  generation: Omit<Generation, 'stream'>,
  target: ResolvedTarget,
  policy: OnLoss,
  formats: readonly UpstreamFormat[],
): Lane | Promise<Lane> {
  let best: Lane | undefined
  let bestCodec: UpstreamCodec | undefined
  let failure: unknown
  const client = loadFullCodec(generation.codec)
  // So far only what every request needs has been checked (docs/decisions/0031).
  if (!(client instanceof Promise)) client.validateRequest(generation.request.value)
  for (const format of formats) {
    const upstream = loadCodec(format)
    if (client instanceof Promise || upstream instanceof Promise)
      return Promise.all([client, upstream]).then(() => translate(generation, target, policy, formats))
    let lane: Lane
    try {
      lane = laneTo(upstream, client, generation, target, policy)
    } catch (error) {
      failure ??= error
      continue
    }
    if (best === undefined || weightOf(lane) < weightOf(best)) {
      best = lane
      bestCodec = upstream
    }
    if (weightOf(best) === 0) break
  }
  if (best === undefined || bestCodec === undefined) throw failure ?? noChat()
  const { media, request } = generation
  request.releaseText?.()
  if (media === undefined || client instanceof Promise || !mayNameMedia(request)) return best
  const upstream = bestCodec
  return import('./inline-media.ts').then(({ translateWithMedia: withMedia }) =>
    withMedia(request, media, (edit) => laneTo(upstream, client, generation, target, policy, edit)),
  )
}

const noChat = (): GatewayError =>
  new GatewayError(
    'invalid_request',
    'The requested model does not support chat: its upstream offers only other operations.',
    {
      param: 'model',
    },
  )

/** One fatal loss outweighs a restricted format, which outweighs any number of warnings. Notes weigh nothing. */
function weightOf({ report, restricted }: Lane): number {
  let weight = restricted === true ? 1e6 : 0
  for (const { severity } of report.losses) weight += severity === 'fatal' ? 1e9 : severity === 'warn' ? 1 : 0
  return weight
}

function laneTo(
  upstreamCodec: UpstreamCodec,
  client: ClientCodec,
  { request, client: clientQuirks, limits, kept, references, framing }: Omit<Generation, 'stream'>,
  { upstream, model }: ResolvedTarget,
  policy: OnLoss,
  edit?: RequestEdit,
): Lane {
  const { modelRules } = upstream
  return translateLane({
    client,
    upstream: upstreamCodec,
    request,
    target: { model, quirks: upstream.quirks, modelRule: modelRules && findModelRule(modelRules, model) },
    newId,
    now: () => Math.floor(Date.now() / 1000),
    elapsedMs: createStopwatch(),
    maxEventChars: limits.answerBytes,
    maxDepth: 1000,
    toClientErrorInfo: (error) => toClientError(error, error.status, upstream).info,
    redactor: redactorOf(upstream),
    reportsLateLosses: policy !== 'ignore',
    edit(model) {
      edit?.(model)
      checkMedia(model, references)
    },
    ...(kept === undefined ? {} : { kept }),
    framing,
    clientQuirks,
  })
}

/**
 * Checks the URLs of media in a decoded request. A client's URL may become a reference to a stored file in the upstream's format:
 * `gs://…` in Gemini's, `s3://…` in Bedrock's.
 *
 * @throws GatewayError `invalid_request` for a stored file that the configuration doesn't accept
 */
function checkMedia({ turns }: ModelRequest, policy: ReferencePolicy): void {
  if (policy.files === 'pass') return
  for (const { parts } of turns) checkParts(parts, policy)
}

function checkParts(parts: readonly Part[], policy: ReferencePolicy): void {
  for (const part of parts)
    if (part.type === 'tool-result') checkParts(part.parts, policy)
    else if (part.type === 'media' && part.source.type === 'url') {
      const { url } = part.source
      if (isStoredUri(url) && !acceptsReference(policy, 'files', url))
        throw unknownReferenceError('files', url, part.at ?? '')
    }
}

/** A translation between two formats, by their codecs and the IR. */
export interface GenerationTranslation {
  readonly client: ClientCodec
  readonly upstream: UpstreamCodec
  /** See Generation. */
  readonly framing?: Framing | undefined
  readonly clientQuirks?: ClientQuirks | undefined
  readonly request: RequestBody
  readonly target: TargetTraits
  readonly newId: (prefix: string) => string
  readonly now: () => number
  /** See ExchangeContext. */
  readonly elapsedMs?: (() => number) | undefined
  readonly maxEventChars: number
  /** Responses nest no deeper than this; deeper ones would break the encoder. */
  readonly maxDepth: number
  /** Makes an upstream's error event safe to show. */
  readonly toClientErrorInfo: (error: ErrorInfo) => ErrorInfo
  readonly redactor: Redactor
  /** Losses found after the headers were sent are reported in a comment before the stream's end. */
  readonly reportsLateLosses: boolean
  /** See CodecContext. */
  readonly kept?: KeptState
  /** Edits the decoded request before it is encoded for the upstream. */
  readonly edit?: RequestEdit | undefined
}

export function translateLane(translation: GenerationTranslation): Lane {
  const { client, request, redactor } = translation
  const value = exactValue(request)
  const report = createReport(value, (path) => isDefaultValue(path, value, client.defaults))
  return translationLane(new FormatTranslation(translation, report), value, report, redactor)
}

/** A format may have further codecs for its clients, such as that of completions. */
const isSame = (client: object, upstream: object): boolean => client === upstream

class FormatTranslation implements Translation<ModelRequest, ModelResponse, ResponseContext> {
  readonly upstreamFormat: UpstreamFormat
  readonly responseCheck: UpstreamCodec
  readonly exactDepth: number
  readonly #options: GenerationTranslation
  readonly #report: RequestReport
  /** Written out: copies of objects cost as much as decoding a short request. */
  readonly #context

  constructor(options: GenerationTranslation, report: RequestReport) {
    const { upstream, target, newId, now, kept, maxDepth } = options
    this.upstreamFormat = upstream.format
    this.responseCheck = upstream
    this.exactDepth = maxDepth
    this.#options = options
    this.#report = report
    const context = { report, newId, now, upstream: upstream.format, target }
    this.#context = kept === undefined ? context : { ...context, kept }
  }

  decodeRequest(body: JsonObject): ModelRequest {
    const { client, edit } = this.#options
    const model = client.decodeRequest(body, this.#context)
    unsealCallIds(model)
    edit?.(model)
    // Encoders name a lost field by its place in the client's body: the format's own table, and the decoder's additions.
    model.at = placesOf(model, client)
    return model
  }

  encodeRequest(request: ModelRequest): EncodedRequest {
    const { client, upstream, target } = this.#options
    // A request in the upstream's own format is between its client and the provider.
    const rule = client.format === upstream.format ? undefined : target.modelRule
    // A client whose format has no changes cannot have written any.
    const changes = 'acceptedChanges' in client && hasChanges(request)
    const accepted = changes ? upstream.acceptedChanges?.(target) : undefined
    const fitted = rule === undefined ? undefined : fitToModel(request, rule, upstream.format, this.#report, accepted)
    const body = upstream.encodeRequest(fitted?.request ?? request, this.#context)
    const flags = changes && !isSame(client, upstream) ? upstream.requestFlags?.(body) : undefined
    return { body, flags, restricted: fitted?.restricted, tier: requestedTier(body, upstream.tierFields) }
  }

  openContext(request: ModelRequest): ResponseContext {
    return openContext(this.#options, request, this.#report)
  }

  decodeResponse(body: JsonObject, context: ResponseContext): ModelResponse {
    const { client, upstream } = this.#options
    const decoded = upstream.decodeResponse(body, context)
    return client.sealsInCallIds ? sealCallIds(decoded, client.format) : decoded
  }

  encodeResponse(response: ModelResponse, context: ResponseContext): WholeResponse {
    const { client, upstream } = this.#options
    const { usage } = response
    const finish = response.choices[0]?.finish.reason
    const body = stringifyExact(client.encodeResponse(response, context))
    reportUsage(usage, upstream, client, context.report)
    return {
      body,
      ...(usage === undefined ? {} : { usage: plainNumbers(usage) }),
      ...(finish === undefined ? {} : { finish }),
    }
  }

  openStream(request: ModelRequest, isLarge: boolean): ResponseStream {
    // The stream must not hold the translation or its report, which hold the client's body in all its forms.
    const { client, upstream, framing, maxEventChars, maxDepth, redactor, reportsLateLosses, toClientErrorInfo } =
      this.#options
    const options = {
      client,
      upstream,
      framing,
      maxEventChars,
      maxDepth,
      redactor,
      reportsLateLosses,
      toClientErrorInfo,
    }
    const report = this.#report.forResponse()
    const heldRequest = isLarge ? withoutTurnContents(request, client.repeatedTurn) : request
    return translatedStream(options, openContext(this.#options, heldRequest, report), report)
  }

  clientParam(param: string, { at }: ModelRequest): string | undefined {
    const { client, upstream } = this.#options
    return isSame(client, upstream) ? param : translateParam(param, upstream.fieldPointers, client.fieldPointers, at)
  }
}

/** Restores the seals that earlier responses put into the ids of calls. */
export function unsealCallIds({ turns }: ModelRequest): void {
  for (const { parts } of turns)
    for (const part of parts) if (part.type === 'tool-call' || part.type === 'tool-result') unsealCallId(part)
}

/** Creates what the codecs need for a response. */
function openContext(
  { upstream, target, newId, now, elapsedMs, kept, maxEventChars, clientQuirks: client }: GenerationTranslation,
  request: ModelRequest,
  requestReport: Report,
): ResponseContext {
  const report = responseReport(requestReport, upstream.responsePointers)
  const context: ResponseContext = {
    report,
    newId,
    now,
    upstream: upstream.format,
    target,
    request,
    maxEventChars,
    client,
  }
  if (elapsedMs !== undefined) Object.assign(context, { elapsedMs })
  return kept === undefined ? context : { ...context, kept }
}

/** Returns a function that returns the milliseconds since now. */
function createStopwatch(): () => number {
  const startedAt = monotonicNow()
  return () => monotonicNow() - startedAt
}

/** Returns the places of fields in the client's body. Most requests have them where the format's own table says. */
function placesOf({ at }: ModelRequest, { fieldPointers }: ClientCodec): NonNullable<ModelRequest['at']> {
  for (const field in at) if (at[field] !== fieldPointers[field]) return { ...fieldPointers, ...at }
  return fieldPointers
}
