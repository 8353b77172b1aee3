import { estimateHeader, estimateTokens } from '../accounting/count-tokens.ts'
import { newId } from '../base/bytes.ts'
import { type ErrorInfo, errorFromInfo, GatewayError } from '../base/errors.ts'
import { type JsonObject, scanJson } from '../base/json/json.ts'
import type { SharedFormat } from '../base/names.ts'
import { admitEarly } from '../calls/admit-early.ts'
import { callHeaders, json, toReply } from '../calls/reply.ts'
import { tryTargets } from '../calls/try-targets.ts'
import type { Attempt } from '../config/finish-event.ts'
import type { ResponseCheck } from '../formats/check-response.ts'
import type { ClientCodec, Codec, CodecContext, CountCodec, TargetTraits, TokenCount } from '../formats/codec.ts'
import { loadCodec, loadFullCodec } from '../formats/codec-registry.ts'
import type { ModelRequest, Report } from '../formats/ir.ts'
import { createReport } from '../formats/loss-report.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { findModelRule, fitToModel } from '../formats/shared/model-rules.ts'
import { hasChanges } from '../formats/shared/settings-changes.ts'
import type { Reply } from '../http/inbound.ts'
import { checkStoredState, hasSealPrefix } from '../lanes/generation.ts'
import { unsealCallIds } from '../lanes/generation-translation.ts'
import type { Lane, RequestWriter, StoredState, TargetRequest, WholeResponse } from '../lanes/lane.ts'
import { type PassThroughDialect, passThroughLane } from '../lanes/pass-through.ts'
import { type EncodedRequest, exactValue, type Translation, translationLane } from '../lanes/translation.ts'
import { lossError } from '../routing/loss-policy.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { callUrl } from '../upstreams/outgoing-call.ts'
import { redactorOf } from '../upstreams/redaction/redactor.ts'
import type { Handler, Route, RoutedCall } from './route.ts'

/** A count request: its format, and how that format counts. */
interface CountRequest {
  readonly codec: ClientCodec
  readonly count: CountCodec
  readonly request: RequestBody
  /** Which upstreams may be sent its references to stored state. Absent: all. */
  readonly stored?: StoredState | undefined
}

/**
 * Counts a request's input: at the upstream if it counts, otherwise as an estimate, marked by the header
 * `modelgate-estimate: tokens;by="…"`. Throws GatewayError.
 *
 * The first target that cannot count ends the search: an estimate is as good as another vendor's tokenizer, and no vendor is shown a
 * text that it would not get to answer.
 */
export const handleCountTokens: Handler = async (call) => {
  const { shared, inbound, record, transport, signal, end } = call
  const own = await loadFullCodec(call.codec)
  const { count } = own
  if (count === undefined) throw new GatewayError('not_implemented', 'This format has no endpoint for counting tokens.')
  const received = await call.readBody(count.checkRequest)
  record.model = String(received.value.model)
  const counted = await countedRequest(call, { codec: own, count, request: received })
  const { codec, request } = counted
  const { modelPlaces } = codec
  const writer = new CountWriter(counted, record.attempts, shared.limits.answerBytes)
  const search = { preferLossless: false, repeats: false }
  const target = { shared, inbound, codec, request, modelPlaces, writer, search, record, transport, signal }
  try {
    return await toReply({ ...target, end }, await tryTargets(target))
  } catch (error) {
    if (writer.isCountless || doesNotCount(record.attempts.at(-1))) return await estimate(call, counted)
    throw error
  }
}

/** Returns the request to be counted, with its references resolved. It may be in the body as a text, in another format. */
async function countedRequest(call: RoutedCall, counted: CountRequest): Promise<CountRequest> {
  const { shared, route, record } = call
  const text = counted.count.vendorRequest?.(counted.request.value)
  if (text === undefined) return admitAndResolve(call, route, counted)
  const { readVendorCount } = await import('./invoke/vendor-count.ts')
  const vendor = await readVendorCount(text, record.model, counted.count, shared.limits)
  return admitAndResolve(call, { ...route, format: vendor.codec.format }, vendor)
}

/** Admits the call before its references to stored objects are read. */
async function admitAndResolve(call: RoutedCall, route: Route, counted: CountRequest): Promise<CountRequest> {
  const { request, codec } = counted
  await admitEarly({ ...call, request, modelPlaces: codec.modelPlaces })
  return { ...counted, ...(await call.snapshot.resolveReferences(route, request, call.record.identity)) }
}

const unknownEndpoint: readonly (number | undefined)[] = [404, 405, 501]

/** Returns whether the upstream has no such endpoint. An unknown model is another error. */
const doesNotCount = (last: Attempt | undefined): boolean =>
  unknownEndpoint.includes(last?.status) && last?.error !== undefined && last.error !== 'model_not_found'

async function estimate(call: RoutedCall, counted: CountRequest): Promise<Reply> {
  const { snapshot, shared, record, signal, inbound } = call
  const { codec, count } = counted
  const { body, report } = generationBody(counted)
  const input = decodeInput(codec, body, contextFor(report))
  const refused = lossError(report.losses, 'ignore')
  if (refused !== undefined) throw refused
  const stored = count.storedFields.find((key) => body[key] !== undefined && body[key] !== null)
  if (stored !== undefined)
    throw new GatewayError(
      'invalid_request',
      `${stored}: tokens of content that a provider stores cannot be counted. Send the content in the request.`,
      { param: stored, code: 'unsupported_parameter' },
    )
  const { logger, limits } = shared
  const { tokenizer } = snapshot.config
  const countTexts = inbound.countTokens?.bind(inbound)
  const { callbackMs } = limits
  const estimated = await estimateTokens(input, { tokenizer, countTexts, logger, signal, callbackMs })
  record.estimate = estimated.by
  record.losses = report.losses
  return {
    status: 200,
    headers: { 'content-type': json, ...callHeaders(record), 'modelgate-estimate': estimateHeader(estimated) },
    body: JSON.stringify(count.encode({ tokens: estimated.tokens })),
  }
}

/** Writes count requests. As in generation, an upstream of the client's format gets the client's bytes, unless they hold another vendor's seals. */
class CountWriter implements RequestWriter {
  /** A target that cannot count was found. */
  isCountless = false
  readonly #counted: CountRequest
  readonly #attempts: readonly Attempt[]
  readonly #maxBytes: number

  constructor(counted: CountRequest, attempts: readonly Attempt[], maxBytes: number) {
    this.#counted = counted
    this.#attempts = attempts
    this.#maxBytes = maxBytes
  }

  write(target: ResolvedTarget): TargetRequest | Promise<TargetRequest> {
    const { upstream, model } = target
    const { codec, stored } = this.#counted
    const endpoints = upstream.countTokens ?? {}
    const formats = (Object.keys(endpoints) as SharedFormat[]).filter(
      (format) => upstream.serves?.(format, model) !== false,
    )
    const format = formats.find((spoken) => spoken === codec.format) ?? formats[0]
    if (stored !== undefined) {
      const { onlyUpstream, holder } = stored
      // An estimate has its own error for content that a provider stores.
      checkStoredState(format === undefined ? { onlyUpstream, holder } : stored, target, format === codec.format)
    }
    this.isCountless ||= format === undefined || doesNotCount(this.#attempts.at(-1))
    if (this.isCountless || format === undefined) throw this.#cannotCount()
    const spoken = loadCodec(format)
    return spoken instanceof Promise
      ? spoken.then((loaded) => this.#requestFor(target, loaded))
      : this.#requestFor(target, spoken)
  }

  #cannotCount(): GatewayError {
    this.isCountless = true
    return new GatewayError('not_implemented', 'The upstream has no endpoint for counting tokens.')
  }

  /** @param spoken the codec of the upstream's format */
  #requestFor(target: ResolvedTarget, spoken: Codec): TargetRequest {
    const { count } = spoken
    if (count === undefined) throw this.#cannotCount()
    const { upstream, model } = target
    const { codec, request } = this.#counted
    const { format } = spoken
    // A client that reads the count in another form needs a translation.
    const isOwn = format === codec.format && this.#counted.count === codec.count
    const passes = isOwn && !hasSealPrefix(request.text)
    const edit = upstream.hosting?.[format]?.editCount
    return {
      lane: passes ? this.#passThrough(target, spoken) : this.#translation(target, spoken, count),
      ignoresOverrides: true,
      url: callUrl(upstream, upstream.countTokens?.[format] as string, count.pathEnding, model),
      codec: spoken,
      ...(edit === undefined ? {} : { hosting: { edit } }),
    }
  }

  #passThrough({ upstream, model }: ResolvedTarget, spoken: Codec): Lane {
    const { count, request } = this.#counted
    const dialect: PassThroughDialect = {
      format: spoken.format,
      ...checkOf(spoken),
      tapResponse(body) {
        const error = count.decode(body) === undefined ? missingCount(spoken, body) : undefined
        return error === undefined ? {} : { error }
      },
    }
    const traits = { model, quirks: upstream.quirks }
    return passThroughLane(dialect, renamed(count, request, model), traits, this.#maxBytes, redactorOf(upstream))
  }

  #translation({ upstream, model }: ResolvedTarget, spoken: Codec, count: CountCodec): Lane {
    const { body, report } = generationBody(this.#counted)
    const modelRule =
      this.#counted.codec.format === spoken.format ? undefined : findModelRule(upstream.modelRules, model)
    const traits = { model, quirks: upstream.quirks, modelRule }
    const translation = new CountTranslation(this.#counted, spoken, count, traits, report)
    return translationLane(translation, body, report, redactorOf(upstream))
  }
}

/** Puts the upstream's name of the model into places below the body's top. */
function renamed(count: CountCodec, request: RequestBody, model: string): RequestBody {
  const text = count.rename?.(request.text, request.members, String(request.value.model), model) ?? request.text
  if (text === request.text) return request
  const { members } = scanJson(text, Number.POSITIVE_INFINITY)
  return { ...request, text, members, bytes: new TextEncoder().encode(text) }
}

/** Translates a count: the input is translated as that of a generation, then reduced to what the counting endpoint accepts. */
class CountTranslation implements Translation<ModelRequest, TokenCount, undefined> {
  readonly upstreamFormat: SharedFormat
  readonly responseCheck: ResponseCheck
  readonly #client: CountRequest
  readonly #spoken: Codec
  readonly #count: CountCodec
  readonly #traits: TargetTraits
  readonly #context: CodecContext

  constructor(client: CountRequest, spoken: Codec, count: CountCodec, traits: TargetTraits, report: Report) {
    this.upstreamFormat = spoken.format
    this.responseCheck = checkOf(spoken)
    this.#client = client
    this.#spoken = spoken
    this.#count = count
    this.#traits = traits
    this.#context = contextFor(report, spoken.format)
  }

  decodeRequest(body: JsonObject): ModelRequest {
    return decodeInput(this.#client.codec, body, this.#context)
  }

  encodeRequest(input: ModelRequest): EncodedRequest {
    const spoken = this.#spoken
    const traits = this.#traits
    const { report } = this.#context
    const accepted = hasChanges(input) ? spoken.acceptedChanges?.(traits) : undefined
    const { request } = fitToModel(input, traits.modelRule, spoken.format, report, accepted)
    const body = spoken.encodeRequest(request, { ...this.#context, target: traits })
    const flags = this.#client.codec === spoken ? undefined : spoken.requestFlags?.(body)
    return { body: this.#count.fromGeneration(body, traits.model), flags }
  }

  openContext(): undefined {}

  decodeResponse(body: JsonObject): TokenCount {
    const found = this.#count.decode(body)
    if (found === undefined) throw errorFromInfo(missingCount(this.#spoken, body))
    return found
  }

  encodeResponse(count: TokenCount): WholeResponse {
    return { body: JSON.stringify(this.#client.count.encode(count)) }
  }

  openStream(): never {
    throw new GatewayError('internal', 'Token counts cannot be streamed.')
  }
}

/** Returns the generation request whose input is to be counted. Losses name their place in the client's body. */
function generationBody({ codec, count, request }: CountRequest): { body: JsonObject; report: Report } {
  // So far only what every request needs has been checked (docs/decisions/0031).
  count.validateRequest(request.value)
  const value = exactValue(request)
  const { body, at } = count.toGeneration(value)
  const outputBound = codec.fieldPointers['sampling.maxTokens']
  const report = createReport(value)
  return {
    body,
    report: {
      losses: report.losses,
      add(loss) {
        // The default that an encoder sets for the length of the response loses nothing of the input.
        if (loss.path !== outputBound) report.add({ ...loss, path: at + loss.path })
      },
    },
  }
}

/** Decodes the input only: losses of settings for the response do not matter to a count. */
function decodeInput(codec: ClientCodec, body: JsonObject, context: CodecContext): ModelRequest {
  const decoded = codec.decodeRequest(body, context)
  unsealCallIds(decoded)
  const { model, turns, tools, reasoning, output, extra } = decoded
  const outputBound = codec.fieldPointers['sampling.maxTokens']
  return {
    model,
    turns,
    stream: false,
    ...(tools === undefined ? {} : { tools }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(output?.format === undefined ? {} : { output: { format: output.format } }),
    ...(extra === undefined ? {} : { extra }),
    at: {
      ...codec.fieldPointers,
      ...decoded.at,
      ...(outputBound === undefined ? {} : { 'sampling.maxTokens': outputBound }),
    },
  }
}

const contextFor = (report: Report, upstream?: SharedFormat): CodecContext => ({
  report,
  newId,
  now: () => Math.floor(Date.now() / 1000),
  ...(upstream === undefined ? {} : { upstream }),
})

/** Every body is checked by its count alone: `isResponse` of a codec looks for a generation's response. */
const checkOf = ({ decodeError }: Codec): ResponseCheck => ({ decodeError, isResponse: () => true })

/** The error of a response without a count. */
function missingCount(codec: Codec, body: JsonObject): ErrorInfo {
  try {
    const { error } = codec.tapResponse(body)
    if (error !== undefined) return error
  } catch {
    // The body is none of a generation's either.
  }
  return {
    kind: 'upstream_bad_response',
    status: 502,
    message: "The upstream's response to the token count request contains no number of tokens.",
  }
}
