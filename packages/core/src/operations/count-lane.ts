import { errorOf, GatewayError } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { stringifyExact } from '../base/json/exact-number.ts'
import { scanJson } from '../base/json/scan.ts'
import type { JsonObject } from '../base/json/types.ts'
import type { Format } from '../base/names.ts'
import type { Prepared } from '../calls/call.ts'
import type { Codec, CodecContext, CountCodec } from '../formats/codec.ts'
import { loadCodec } from '../formats/codec-registry.ts'
import type { ModelRequest, Report } from '../formats/ir.ts'
import { createReport } from '../formats/loss-report.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { findModelRule, fitToModel } from '../formats/shared/model-rules.ts'
import { hasSealPrefix } from '../formats/shared/seals.ts'
import { hasChanges } from '../formats/shared/settings-changes.ts'
import { readAnswer } from '../lanes/answer-body.ts'
import { unsealCallIds } from '../lanes/call-id-seals.ts'
import { exactValue } from '../lanes/exact-body.ts'
import type { Lane } from '../lanes/lane.ts'
import { setModel } from '../lanes/wire.ts'
import type { ResolvedTarget } from '../routing/router.ts'
import { callUrl } from '../upstreams/outgoing-call.ts'
import { type Redactor, redactorOf } from '../upstreams/redaction/redactor.ts'
import { editRequestBody } from '../upstreams/request-body-edits.ts'

/** A client's count: its format, and that format's way to count. */
export interface CountRequest {
  readonly codec: Codec
  readonly count: CountCodec
  readonly request: RequestBody
}

/**
 * A count made ready for a target; undefined where its upstream does not count. As in generation: the client's own bytes to an
 * upstream of its format, unless they hold another vendor's seals; a translation to any other. A promise only where a codec
 * has to be loaded first.
 */
export function prepareCount(
  asked: CountRequest,
  target: ResolvedTarget,
): Prepared | undefined | Promise<Prepared | undefined> {
  const { codec } = asked
  const { upstream, model } = target
  const endpoints = upstream.countTokens ?? {}
  const formats = (Object.keys(endpoints) as Format[]).filter((format) => upstream.serves?.(format, model) !== false)
  const own = formats.includes(codec.format)
  const format = own ? codec.format : formats[0]
  if (format === undefined) return undefined
  const reader = loadCodec(format)
  return reader instanceof Promise
    ? reader.then((loaded) => preparedFor(asked, target, loaded))
    : preparedFor(asked, target, reader)
}

function preparedFor(asked: CountRequest, target: ResolvedTarget, reader: Codec): Prepared | undefined {
  const { codec, request } = asked
  const { upstream, model } = target
  const { format } = reader
  if (reader.count === undefined) return undefined
  const onWire = format === codec.format && !hasSealPrefix(request.text)
  return {
    lane: hosted(onWire ? wire(asked, target) : translation(asked, reader, reader.count, target), format, target),
    asIs: true,
    url: callUrl(upstream, upstream.countTokens?.[format] as string, reader.count.pathEnding, model),
    codec: reader,
  }
}

/** With what the upstream's host wants of the body. */
function hosted(lane: Lane, format: Format, { upstream, model }: ResolvedTarget): Lane {
  const edit = upstream.hosting?.[format]?.editCount
  const { body } = lane
  if (edit === undefined || !(typeof body === 'string' || body instanceof Uint8Array)) return lane
  const call = { model, stream: false, header: () => undefined, replaced: () => undefined }
  return { ...lane, body: editRequestBody(body, {}, { edit }, call) }
}

/** The answer's bytes pass untouched, if they are a count. */
function wire({ codec, count, request }: CountRequest, { model, upstream }: ResolvedTarget): Lane {
  return {
    kind: 'wire',
    upstreamFormat: codec.format,
    body: setModel(renamed(count, request, model), model, {}),
    report: createReport(),
    answer(bytes) {
      return { body: readCount(codec, count, bytes, redactorOf(upstream)).body }
    },
    openStream,
  }
}

function renamed(count: CountCodec, request: RequestBody, model: string): RequestBody {
  const text = count.rename?.(request.text, request.members, String(request.value.model), model) ?? request.text
  if (text === request.text) return request
  const { members } = scanJson(text, Number.POSITIVE_INFINITY)
  return { ...request, text, members, bytes: new TextEncoder().encode(text) }
}

function translation(asked: CountRequest, upstream: Codec, theirs: CountCodec, target: ResolvedTarget): Lane {
  const { model, upstream: place } = target
  const { input, report, context } = decodeInput(asked, upstream.format)
  const modelRule = asked.codec.format === upstream.format ? undefined : findModelRule(place.modelRules, model)
  const traits = { model, quirks: place.quirks, modelRule }
  const { request } = fitToModel(
    input,
    modelRule,
    upstream.format,
    report,
    hasChanges(input) ? upstream.acceptedChanges?.(traits) : undefined,
  )
  const body = upstream.encodeRequest(request, { ...context, target: traits })
  const flags = asked.codec === upstream ? undefined : upstream.requestFlags?.(body)
  return {
    kind: 'translate',
    upstreamFormat: upstream.format,
    ...(flags === undefined ? {} : { flags }),
    body: stringifyExact(theirs.fromGeneration(body, model)),
    report,
    answer: (bytes) => ({
      body: JSON.stringify(asked.count.write(readCount(upstream, theirs, bytes, redactorOf(place)).count)),
    }),
    openStream,
  }
}

/** What is to be counted, without what only says how to answer: nobody should be told of losses there. */
export function decodeInput({ codec, count, request }: CountRequest, upstream?: Format) {
  // Until here only what every request needs has been checked (docs/decisions/0031).
  count.validateRequest(request.value)
  const value = exactValue(request)
  const { body, at } = count.toGeneration(value)
  const bound = codec.fieldPointers['sampling.maxTokens']
  const report = reportWithin(at, value, bound)
  const context: CodecContext = {
    report,
    newId,
    now: () => Math.floor(Date.now() / 1000),
    ...(upstream === undefined ? {} : { upstream }),
  }
  const decoded = codec.decodeRequest(body, context)
  unsealCallIds(decoded.turns)
  const { model, turns, tools, reasoning, output, extra } = decoded
  const input: ModelRequest = {
    model,
    turns,
    stream: false,
    ...(tools === undefined ? {} : { tools }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(output?.format === undefined ? {} : { output: { format: output.format } }),
    ...(extra === undefined ? {} : { extra }),
    at: { ...codec.fieldPointers, ...decoded.at, ...(bound === undefined ? {} : { 'sampling.maxTokens': bound }) },
  }
  return { body, input, report, context }
}

/** Names what is lost from the top of the client's body. That an encoder makes up a bound for an answer loses nothing. */
function reportWithin(at: string, body: JsonObject, bound: string | undefined): Report {
  const report = createReport(body)
  return {
    losses: report.losses,
    add(loss) {
      if (loss.path !== bound) report.add({ ...loss, path: at + loss.path })
    },
  }
}

function readCount(codec: Codec, count: CountCodec, bytes: Uint8Array, redactor: Redactor) {
  const { value, body } = readAnswer(bytes, redactor)
  const found = count.read(value)
  if (found !== undefined) return { count: found, body }
  const error = errorIn(codec, value)
  if (error !== undefined) throw errorOf(error)
  throw new GatewayError(
    'upstream_bad_response',
    "The upstream's response to the token count request contains no number of tokens.",
  )
}

/** An error that came under a good status. */
function errorIn(codec: Codec, body: JsonObject) {
  try {
    return codec.tapResponse(body).error
  } catch {
    return undefined
  }
}

function openStream(): never {
  throw new GatewayError('internal', 'A count has no stream.')
}
