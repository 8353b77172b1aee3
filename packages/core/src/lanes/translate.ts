import { GatewayError } from '../errors.ts'
import type { Codec, CodecContext, TargetTraits, UpstreamCodec } from '../formats/codec.ts'
import type { ErrorInfo, ModelEvent, ModelRequest, Report, Usage } from '../formats/ir.ts'
import { translateParam } from '../formats/shared/param.ts'
import { reportUsage } from '../formats/shared/usage-report.ts'
import { scanJson } from '../json/scan.ts'
import { answerSide, createReport, lossHeader } from '../losses.ts'
import { createSaid } from '../said.ts'
import { createSseDecoder } from '../sse/decode.ts'
import { encodeAllSse } from '../sse/encode.ts'
import type { AnswerStream, Lane, StreamState } from './lane.ts'
import { parseAnswer, type RequestBody } from './wire.ts'

export interface Translation {
  readonly client: Codec
  readonly upstream: UpstreamCodec
  readonly request: RequestBody
  readonly target: TargetTraits
  readonly newId: (prefix: string) => string
  readonly now: () => number
  readonly maxEventChars: number
  /** Answers nest no deeper than this; deeper ones would break the encoder. */
  readonly maxDepth: number
  /** Makes an upstream's error event fit to be shown. */
  readonly clean: (error: ErrorInfo) => ErrorInfo
  /** Losses found after the headers left are told in a comment before the stream's end. */
  readonly tellLosses: boolean
  /** See CodecContext. */
  readonly kept?: { readonly previous?: string }
}

const encoder = new TextEncoder()

/** Decodes the client's request to the IR and encodes it for the upstream, and the answer the other way round. */
export function translateLane(translation: Translation): Lane {
  const { client, upstream, request, target, newId, now } = translation
  const report = createReport(request.value)
  const { kept } = translation
  const context: CodecContext = {
    report,
    newId,
    now,
    upstream: upstream.format,
    ...(kept === undefined ? {} : { kept }),
  }
  const decoded = client.decodeRequest(request.value, context)
  // Encoders name a lost field by where it stood in the client's body: its own table, and what the decoder noted beyond.
  const model: ModelRequest = { ...decoded, at: { ...client.fieldPointers, ...decoded.at } }
  const body = JSON.stringify(upstream.encodeRequest(model, { ...context, target }))
  return {
    kind: 'translate',
    upstreamFormat: upstream.format,
    body,
    report,
    answer(bytes) {
      const text = new TextDecoder().decode(bytes)
      if (scanJson(text, translation.maxDepth).tooDeep)
        throw new GatewayError('upstream_bad_response', 'The upstream answered with JSON that nests too deep.')
      const exchange = { ...context, report: answerSide(report, upstream.answerPointers), request: model, target }
      const response = upstream.decodeResponse(parseAnswer(bytes), exchange)
      const finish = response.choices[0]?.finish.reason
      const body = JSON.stringify(client.encodeResponse(response, exchange))
      reportUsage(response.usage, upstream, client, exchange.report)
      return {
        body,
        ...(response.usage === undefined ? {} : { usage: response.usage }),
        ...(finish === undefined ? {} : { finish }),
      }
    },
    ...(client === upstream
      ? {}
      : { paramOf: (param: string) => translateParam(param, upstream.fieldPointers, client.fieldPointers, model.at) }),
    openStream: () => translatedStream(translation, model, context, report),
  }
}

function translatedStream(
  translation: Translation,
  request: ModelRequest,
  context: CodecContext,
  report: Report,
): AnswerStream {
  const { client, upstream, target } = translation
  const exchange = { ...context, report: answerSide(report, upstream.answerPointers), request, target }
  const decoder = createSseDecoder(translation.maxEventChars)
  const said = createSaid(upstream.says)
  const decode = upstream.decodeStream(exchange)
  const encode = client.encodeStream(exchange)
  const state: { -readonly [K in keyof StreamState]: StreamState[K] } = {
    started: false,
    ended: false,
    error: undefined,
    usage: undefined,
    finish: undefined,
  }
  const told = report.losses.length
  const tellLosses = translation.tellLosses && client.noComments !== true
  let ready = ''

  const note = (event: ModelEvent): void => {
    switch (event.type) {
      case 'error':
        state.error = event.error
        break
      case 'response-end':
        state.ended = true
        break
      case 'usage':
        state.usage = event.usage as Usage
        break
      case 'choice-end':
        state.finish = event.finish.reason
        break
      default:
    }
    // The first word of an answer says nothing yet; an error in its place can still become a status.
    if (event.type !== 'response-start' && event.type !== 'usage' && event.type !== 'error') state.started = true
  }
  const pass = (events: readonly ModelEvent[]): void => {
    for (const raw of events) {
      if (state.ended || state.error !== undefined) return
      const event: ModelEvent = raw.type === 'error' ? { type: 'error', error: translation.clean(raw.error) } : raw
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
      for (const event of decoder.push(chunk)) {
        said.add(event.data)
        pass(decode.push(event))
      }
    },
    end() {
      for (const event of decoder.end()) pass(decode.push(event))
      pass(decode.end())
      ready += encodeAllSse(encode.end())
    },
    take() {
      if (ready === '') return undefined
      const bytes = encoder.encode(ready)
      ready = ''
      return bytes
    },
    said: said.tokens,
    heartbeat: () => encoder.encode(encodeAllSse(encode.heartbeat())),
    fail(error: ErrorInfo) {
      state.error = error
      return encoder.encode(encodeAllSse([...encode.push({ type: 'error', error }), ...encode.end()]))
    },
  }
}

function lossComment(report: Report, from: number): string {
  const late = lossHeader(report.losses.slice(from))
  return late === undefined ? '' : `: modelgate-loss ${late}\n\n`
}
