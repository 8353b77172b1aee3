import { createOutputEstimator } from '../accounting/output-estimate.ts'
import { type ErrorInfo, GatewayError } from '../base/errors.ts'
import { plainNumbers, stringifyExact } from '../base/json/exact-number.ts'
import { nestsDeeper } from '../base/json/scan.ts'
import { checkAnswer } from '../formats/check-response.ts'
import type { ClientQuirks, Codec, ExchangeContext, TargetTraits, UpstreamCodec } from '../formats/codec.ts'
import type { ModelEvent, ModelRequest, Report, Usage } from '../formats/ir.ts'
import { answerSide, createReport, lossHeader } from '../formats/loss-report.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { boundFrame } from '../formats/shared/bounded-frame.ts'
import { fitToModel } from '../formats/shared/model-rules.ts'
import { translateParam } from '../formats/shared/param.ts'
import { hasChanges } from '../formats/shared/settings-changes.ts'
import { reportUsage } from '../formats/shared/usage-report.ts'
import { createSseDecoder } from '../http/sse/decode.ts'
import { encodeAllSse, encodeText } from '../http/sse/encode.ts'
import type { SseEvent } from '../http/sse/event.ts'
import type { Redactor } from '../upstreams/redaction/redactor.ts'
import { readExactAnswer } from './answer-body.ts'
import { sealCallIds, sealInId, unsealCallIds } from './call-id-seals.ts'
import { exactValue } from './exact-body.ts'
import type { Edit } from './inline-media.ts'
import type { AnswerStream, Lane, StreamState } from './lane.ts'

export interface Translation {
  readonly client: Codec
  readonly upstream: UpstreamCodec
  readonly clientQuirks?: ClientQuirks | undefined
  readonly request: RequestBody
  readonly target: TargetTraits
  readonly newId: (prefix: string) => string
  readonly now: () => number
  readonly maxEventChars: number
  /** Answers nest no deeper than this; deeper ones would break the encoder. */
  readonly maxDepth: number
  /** Makes an upstream's error event fit to be shown. */
  readonly clean: (error: ErrorInfo) => ErrorInfo
  readonly redactor: Redactor
  /** Losses found after the headers left are told in a comment before the stream's end. */
  readonly tellLosses: boolean
  /** See CodecContext. */
  readonly kept?: { readonly previous?: string }
  /** Of the decoded request, before it is encoded for the upstream. */
  readonly edit?: Edit | undefined
}

const tooDeep = (): GatewayError =>
  new GatewayError('upstream_bad_response', 'The upstream answered with JSON that nests too deep.')

const decoder = new TextDecoder()
const LF = 10

/** Decodes the client's request to the IR and encodes it for the upstream, and the answer the other way round. */
export function translateLane(translation: Translation): Lane {
  const { client, upstream, request } = translation
  const value = exactValue(request)
  const report = createReport(value, client.defaults)
  const context = openContext(translation, report)
  const model = client.decodeRequest(value, context)
  unsealCallIds(model.turns)
  translation.edit?.(model)
  // Encoders name a lost field by where it stood in the client's body: its own table, and what the decoder noted beyond.
  model.at = placesOf(model, client)
  // A request in the upstream's own format is between its client and the provider.
  const rule = client.format === upstream.format ? undefined : translation.target.modelRule
  const fitted = fitToModel(
    model,
    rule,
    upstream.format,
    report,
    hasChanges(model) ? upstream.acceptedChanges?.(translation.target) : undefined,
  )
  const encoded = upstream.encodeRequest(fitted.request, context)
  const body = stringifyExact(encoded)
  const flags = client !== upstream && hasChanges(model) ? upstream.requestFlags?.(encoded) : undefined
  return {
    kind: 'translate',
    upstreamFormat: upstream.format,
    body,
    flags,
    restricted: fitted.restricted,
    report,
    answer(bytes) {
      if (nestsDeeper(decoder.decode(bytes), translation.maxDepth)) throw tooDeep()
      const exchange = openExchange(translation, model, report)
      const value = readExactAnswer(bytes, translation.redactor)
      checkAnswer(value, upstream)
      const decoded = upstream.decodeResponse(value, exchange)
      const response = client.sealsInCallIds ? sealCallIds(decoded, client.format) : decoded
      const finish = response.choices[0]?.finish.reason
      const body = stringifyExact(client.encodeResponse(response, exchange))
      reportUsage(response.usage, upstream, client, exchange.report)
      return {
        body,
        ...(response.usage === undefined ? {} : { usage: plainNumbers(response.usage) }),
        ...(finish === undefined ? {} : { finish }),
      }
    },
    ...(client === upstream
      ? {}
      : { paramOf: (param: string) => translateParam(param, upstream.fieldPointers, client.fieldPointers, model.at) }),
    openStream: () => translatedStream(translation, model, report),
  }
}

/** What the codecs are given for a request. Written out: copies of objects cost as much as the decoding of a short request. */
function openContext({ upstream, target, newId, now, kept }: Translation, report: Report) {
  const context = { report, newId, now, upstream: upstream.format, target }
  return kept === undefined ? context : { ...context, kept }
}

/** The same for its answer. */
function openExchange(
  { upstream, target, newId, now, kept, maxEventChars, clientQuirks: client }: Translation,
  request: ModelRequest,
  asked: Report,
): ExchangeContext & { readonly target: TargetTraits } {
  const report = answerSide(asked, upstream.answerPointers)
  const context = { report, newId, now, upstream: upstream.format, target, request, maxEventChars, client }
  return kept === undefined ? context : { ...context, kept }
}

/** Most requests have their fields where the format's own table says. */
function placesOf({ at }: ModelRequest, { fieldPointers }: Codec): NonNullable<ModelRequest['at']> {
  for (const field in at) if (at[field] !== fieldPointers[field]) return { ...fieldPointers, ...at }
  return fieldPointers
}

function translatedStream(translation: Translation, request: ModelRequest, report: Report): AnswerStream {
  // The translation itself holds the client's body in all its forms: the stream must not hold it in turn.
  const { client, upstream, maxEventChars, maxDepth, clean, redactor } = translation
  const exchange = openExchange(translation, request, report)
  const decoder = createSseDecoder(maxEventChars)
  const said = createOutputEstimator(upstream.textFields)
  const decode = upstream.decodeStream(exchange)
  const encode = client.encodeStream(exchange)
  /** The newest usage: Gemini reports it in every event, and it is read once. */
  let reported: Usage | undefined
  const state: { -readonly [K in keyof Omit<StreamState, 'usage'>]: StreamState[K] } & Pick<StreamState, 'usage'> = {
    started: false,
    ended: false,
    error: undefined,
    get usage() {
      return reported === undefined ? undefined : plainNumbers(reported)
    },
    finish: undefined,
  }
  const told = report.losses.length
  const tellLosses = translation.tellLosses && client.noComments !== true
  let ready = ''
  /** Whether the last chunk ended within a line. */
  let midLine = false
  /** Whether the events at hand may hold a secret of the upstream. */
  let mayHold = true

  const note = (event: ModelEvent): void => {
    switch (event.type) {
      case 'error':
        state.error = event.error
        break
      case 'response-end':
        state.ended = true
        break
      case 'usage':
        reported = event.usage as Usage
        break
      case 'choice-end':
        state.finish = event.finish.reason
        break
      default:
    }
    // The first word of an answer says nothing yet; an error in its place can still become a status.
    if (event.type !== 'response-start' && event.type !== 'usage' && event.type !== 'error') state.started = true
  }
  const read = (event: SseEvent): void => {
    if (nestsDeeper(event.data, maxDepth)) throw tooDeep()
    pass(decode.push(withoutSecrets(event)))
  }
  const withoutSecrets = (event: SseEvent): SseEvent => {
    const holds = redactor.hasCredential(event.data, mayHold)
    // Decoders take the name of an event for its type where the data has none, and report unknown types.
    const isNamed = mayHold && event.event !== undefined && redactor.hasCredential(event.event)
    if (!holds && !isNamed) return event
    return {
      ...event,
      data: holds ? redactor.redactJson(event.data) : event.data,
      ...(isNamed ? { event: redactor.redactText(event.event ?? '') } : {}),
    }
  }
  const pass = (events: readonly ModelEvent[]): void => {
    for (const raw of events) {
      if (state.ended || state.error !== undefined) return
      const event: ModelEvent =
        raw.type === 'error'
          ? { type: 'error', error: clean(raw.error) }
          : raw.type === 'response-start'
            ? boundFrame(raw, exchange.report)
            : raw.type === 'part-start' && raw.value.type === 'tool-call' && client.sealsInCallIds
              ? { ...raw, value: sealInId(raw.value, client.format) }
              : raw
      note(event)
      const out = encodeAllSse(encode.push(event))
      if (event.type === 'response-end') reportUsage(state.usage, upstream, client, exchange.report)
      // The comment goes in front of the terminal event: after it nobody reads.
      if (event.type === 'response-end' && tellLosses) ready += lossComment(report, told)
      ready += out
    }
  }

  return {
    state,
    push(chunk) {
      // Secrets hold no line ends: whole lines can be searched all at once.
      const inLine = midLine
      midLine = chunk[chunk.length - 1] !== LF
      mayHold = inLine || midLine || redactor.mayHaveCredential(chunk)
      for (const event of decoder.push(chunk)) {
        said.add(event.data)
        read(event)
      }
    },
    end(complete) {
      mayHold = true
      for (const event of decoder.end()) read(event)
      pass(decode.end(complete))
      ready += encodeAllSse(encode.end())
    },
    take() {
      if (ready === '') return undefined
      const bytes = encodeText(ready)
      ready = ''
      return bytes
    },
    said: said.tokens,
    heartbeat: () => encodeText(encodeAllSse(encode.heartbeat())),
    fail(given: ErrorInfo) {
      // It may repeat what the upstream said.
      const error = clean(given)
      state.error = error
      return encodeText(encodeAllSse([...encode.push({ type: 'error', error }), ...encode.end()]))
    },
  }
}

function lossComment(report: Report, from: number): string {
  const late = lossHeader(report.losses.slice(from))
  return late === undefined ? '' : `: modelgate-loss ${late}\n\n`
}
