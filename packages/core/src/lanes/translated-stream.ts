import { createOutputEstimator } from '../accounting/estimate-output.ts'
import type { ErrorInfo } from '../base/errors.ts'
import { nestsDeeper } from '../base/json/json.ts'
import { plainNumbers } from '../base/json/parse.ts'
import type { ClientCodec, ResponseContext, UpstreamCodec } from '../formats/codec.ts'
import type { ModelEvent, Report, Usage } from '../formats/ir.ts'
import { lossHeader } from '../formats/loss-header.ts'
import { boundFrame, reportUsage } from '../formats/shared/response-losses.ts'
import type { EventWriter, Framing } from '../http/framing/framing.ts'
import { SseWriter } from '../http/framing/sse-writer.ts'
import { blockEnd, createBlockCutter } from '../http/sse/blocks.ts'
import { viewOf } from '../http/sse/event-template.ts'
import { createSseDecoder, eventTooLarge, type SseEvent } from '../http/sse/sse.ts'
import type { Redactor } from '../upstreams/redaction/redactor.ts'
import { sealInId } from './call-id-seals.ts'
import type { ResponseStream, StreamState } from './lane.ts'
import { TextRuns } from './text-runs.ts'
import { tooDeep } from './translation.ts'

/** What a translated stream needs. It must not hold the translation, which holds the client's body in all its forms. */
export interface TranslatedStreamOptions {
  readonly client: ClientCodec
  readonly upstream: UpstreamCodec
  /** See Generation. */
  readonly framing?: Framing | undefined
  readonly maxEventChars: number
  /** Events nest no deeper than this. */
  readonly maxDepth: number
  readonly redactor: Redactor
  /** Losses found after the headers were sent are reported in a comment before the stream's end. */
  readonly reportsLateLosses: boolean
  /** Makes an upstream's error event safe to show. */
  readonly toClientErrorInfo: (error: ErrorInfo) => ErrorInfo
}

class TranslatedState implements StreamState {
  started = false
  ended = false
  error: ErrorInfo | undefined
  finish: string | undefined
  /** The newest usage. Gemini reports it in every event, but it is converted only when it is read. */
  lastUsage: Usage | undefined

  get usage(): Usage | undefined {
    return this.lastUsage === undefined ? undefined : plainNumbers(this.lastUsage)
  }
}

/**
 * Creates the stream of a translated response.
 *
 * @param report of the request, whose losses the response's headers report
 */
export function translatedStream(
  { client, upstream, framing, maxEventChars, maxDepth, redactor, ...options }: TranslatedStreamOptions,
  context: ResponseContext,
  report: Report,
): ResponseStream {
  const { toClientErrorInfo: clean } = options
  const cutter = createBlockCutter()
  const decoder = createSseDecoder(maxEventChars)
  const estimator = createOutputEstimator(upstream.textFields)
  const decode = upstream.decodeStream(context)
  const encode = client.encodeStream(context)
  const sse = new SseWriter()
  const writer: EventWriter = framing === undefined ? sse : framing.open()
  const runs =
    framing === undefined && decode.repeat !== undefined
      ? new TextRuns({ decode, encode, estimator, redactor, mark: upstream.textFields?.mark })
      : undefined
  const state = new TranslatedState()
  /** The losses that the response's headers report. */
  const sentLosses = report.losses.length
  const reportsLateLosses = options.reportsLateLosses && client.refusesComments !== true
  /** The IR events of the last event, and what the encoder wrote for the last one of them. */
  let decoded: readonly ModelEvent[] = []
  let written: readonly SseEvent[] = []
  /** True if the current events may hold a secret of the upstream. */
  let mayHoldSecrets = true

  const recordEvent = (event: ModelEvent): void => {
    switch (event.type) {
      case 'error':
        state.error = event.error
        break
      case 'response-end':
        state.ended = true
        break
      case 'usage':
        state.lastUsage = event.usage as Usage
        break
      case 'choice-end':
        state.finish = event.finish.reason
        break
      default:
    }
    // The first event of a response holds no content yet: an error behind it can still become a status.
    if (event.type !== 'response-start' && event.type !== 'usage' && event.type !== 'error') state.started = true
  }
  const decodeEvent = (event: SseEvent): void => {
    if (nestsDeeper(event.data, maxDepth)) throw tooDeep()
    decoded = decode.push(withoutSecrets(event))
    encodeEvents(decoded)
  }
  const withoutSecrets = (event: SseEvent): SseEvent => {
    const holds = redactor.hasCredential(event.data, mayHoldSecrets)
    // Decoders take the name of an event for its type where the data has none, and report unknown types.
    const isNamed = mayHoldSecrets && event.event !== undefined && redactor.hasCredential(event.event)
    if (!holds && !isNamed) return event
    return {
      ...event,
      data: holds ? redactor.redactJson(event.data) : event.data,
      ...(isNamed ? { event: redactor.redactText(event.event ?? '') } : {}),
    }
  }
  const encodeEvents = (events: readonly ModelEvent[]): void => {
    for (const raw of events) {
      if (state.ended || state.error !== undefined) return
      const event: ModelEvent =
        raw.type === 'error'
          ? { type: 'error', error: clean(raw.error) }
          : raw.type === 'response-start'
            ? boundFrame(raw, context.report)
            : raw.type === 'part-start' && raw.value.type === 'tool-call' && client.sealsInCallIds
              ? { ...raw, value: sealInId(raw.value, client.format) }
              : raw
      recordEvent(event)
      written = encode.push(event)
      if (event.type === 'response-end') reportUsage(state.usage, upstream, client, context.report)
      // The comment precedes the terminal event: clients stop reading after it.
      if (event.type === 'response-end' && reportsLateLosses) writer.write(lossComment(report, sentLosses))
      writer.write(written)
    }
  }

  /** Decodes whole events. Returns the event if it is the only one. */
  const decodeBytes = (bytes: Uint8Array): SseEvent | undefined => {
    // Secrets hold no line ends: whole lines can be searched at once.
    mayHoldSecrets = redactor.mayHaveCredential(bytes)
    const events = decoder.push(bytes)
    for (const event of events) {
      estimator.add(event.data)
      decodeEvent(event)
    }
    return events.length === 1 ? events[0] : undefined
  }
  const readEvents = (bytes: Uint8Array): void => {
    if (runs?.beginChunk(bytes.length) !== true) {
      decodeBytes(bytes)
      return
    }
    const view = viewOf(bytes)
    let at = 0
    while (at < bytes.length) {
      at = runs.run(bytes, view, at, sse.writeBytes)
      if (at === bytes.length) return
      if (!runs.canLearn) {
        decodeBytes(bytes.subarray(at))
        return
      }
      const end = blockEnd(bytes, at)
      const block = bytes.subarray(at, end)
      at = end
      const event = decodeBytes(block)
      if (event !== undefined) runs.learn(block, event, decoded.length === 1 ? decoded[0] : undefined, written)
    }
  }

  return {
    state,
    push(chunk) {
      const whole = cutter.push(chunk)
      if (whole !== undefined) readEvents(whole)
      if (cutter.heldBytes > maxEventChars) throw eventTooLarge()
    },
    end(complete) {
      mayHoldSecrets = true
      const rest = cutter.flush()
      for (const event of rest === undefined ? [] : decoder.push(rest)) decodeEvent(event)
      for (const event of decoder.end()) decodeEvent(event)
      encodeEvents(decode.end(complete))
      writer.write(encode.end())
    },
    take() {
      if (state.ended || state.error !== undefined) writer.end()
      return writer.take()
    },
    estimatedTokens: estimator.tokens,
    heartbeat: () => writer.heartbeat(() => encode.heartbeat()),
    fail(failure: ErrorInfo) {
      // Its message may quote the upstream.
      const error = clean(failure)
      state.error = error
      writer.write(encode.push({ type: 'error', error }))
      writer.write(encode.end())
      writer.end()
      return writer.take() ?? nothing
    },
  }
}

const nothing = new Uint8Array(0)

function lossComment(report: Report, from: number): SseEvent[] {
  const losses = lossHeader(report.losses.slice(from))
  return losses === undefined ? [] : [{ event: ':', data: `modelgate-loss ${losses}` }]
}
