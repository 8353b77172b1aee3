import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { type Json, type JsonObject, put, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Citation, Delta, ModelEvent, Nothing, Part, Usage } from '../ir.ts'
import { append } from '../shared/json-fields.ts'
import { ownExtra, reportNativeEvent } from '../shared/report.ts'
import { reportReasoningChecks } from '../shared/response-losses.ts'
import { GrowingText, joinText } from '../shared/stream-parts.ts'
import type { StreamEncoder } from '../stream-codec.ts'
import { errorEvent, truncated } from './error.ts'
import { encodeFinish } from './finish.ts'
import { encodeLogprobs } from './logprobs.ts'
import { encodeMetrics } from './metrics.ts'
import {
  encodeCall,
  encodeImage,
  reportCitations,
  reportHints,
  reportLeftOut,
  reportLostSeal,
  reportReasoning,
  reportRefusal,
} from './parts-encode.ts'
import { reportOtherChoice, reportTier } from './response-encode.ts'
import { frameText, type Message, type ResponseShape } from './shapes.ts'

/** A part that has started and not ended. */
interface OpenPart {
  readonly value: Part
  /** The input of a call, or the data of media: sent as a whole. */
  readonly text: GrowingText
  /** Place of a call among the calls. */
  readonly index: number
  readonly citations: Citation[]
  isSealed: boolean
}

type ChoiceEnd = Extract<ModelEvent, { type: 'choice-end' }>

/**
 * Encodes a stream as lines: each piece of text or reasoning as it arrives, calls and images as a whole. Only `response-end` writes the line
 * that is `done`: a broken stream ends with an error.
 */
export function encodeStream(context: ExchangeContext, shape: ResponseShape): StreamEncoder {
  const { report } = context
  const open = new Map<number, OpenPart>()
  /** The text of a line before the fields of its message. */
  let head = ''
  let tier: string | undefined
  let usage: Usage | undefined
  let ending: ChoiceEnd | undefined
  let firstMs: number | undefined
  let calls = 0
  let hasParts = false
  /** Reasoning has been sent: a blank line separates the next part of it. */
  let hasReasoned = false
  let over = false
  let out: SseEvent[] = []

  function start(model: string, created: number): void {
    head = joinText(frameText({ model: model || context.request.model, created: created || context.now() }))
  }

  /** Sends a line. `fields`: JSON members. */
  function send(fields: string, logprobs: Json | undefined): void {
    if (head === '') start('', 0)
    const tokens = logprobs === undefined ? undefined : encodeLogprobs(logprobs, report)
    const more = tokens === undefined ? '' : `,"logprobs":${stringifyExact(tokens)}`
    out.push({ data: `${head}${fields},"done":false${more}}` })
  }

  const sendMessage = (message: Message): void => send(stringifyExact(shape.fields(message)).slice(1, -1), undefined)

  function startPart(number: number, value: Part): void {
    hasParts = true
    firstMs ??= context.elapsedMs?.()
    reportHints(value, context)
    const index = value.type === 'tool-call' ? calls++ : 0
    const part: OpenPart = { value, text: new GrowingText(), index, citations: [], isSealed: false }
    open.set(number, part)
    if (value.type === 'text') append(part.citations, value.citations ?? [])
    if (value.type === 'refusal') reportRefusal(value.at ?? '', context)
    if (value.type === 'tool-call') part.text.add(value.input)
    else if ('text' in value) writeText(part, value.text, undefined)
  }

  function writeText(part: OpenPart, text: string, logprobs: Json | undefined): void {
    if (text === '' && logprobs === undefined) return
    if (part.value.type !== 'reasoning') {
      send(shape.textPiece(text), logprobs)
      return
    }
    send(shape.thinkingPiece(part.text.length === 0 && hasReasoned ? `\n\n${text}` : text), logprobs)
    // Only whether there is any.
    if (part.text.length === 0) part.text.add(text.slice(0, 1))
    hasReasoned = true
  }

  function writeDelta(part: OpenPart, delta: Delta): void {
    switch (delta.type) {
      case 'text':
      case 'reasoning':
      case 'refusal':
        writeText(part, delta.text, delta.logprobs)
        return
      case 'input':
        part.text.add(delta.text)
        return
      case 'seal':
        part.isSealed = true
        return
      case 'citation':
        part.citations.push(delta.citation)
        return
      case 'media':
        part.text.add(delta.data)
        ownExtra(delta.extra, 'ollama', part.value.at ?? '', report)
        return
      default:
        delta satisfies never
    }
  }

  function endPart(number: number): void {
    const part = open.get(number)
    if (part === undefined) return
    open.delete(number)
    const { value, text } = part
    const { at = '' } = value
    if (part.isSealed) reportLostSeal(at, report)
    switch (value.type) {
      case 'text':
        reportCitations(part.citations, at, context)
        return
      case 'refusal':
        return
      case 'reasoning':
        reportReasoning(value, context)
        return
      case 'tool-call':
        sendMessage({
          content: '',
          tool_calls: [encodeCall({ ...value, input: text.toString() }, part.index, context)],
        })
        return
      case 'media': {
        const { source } = value
        const whole = source.type === 'base64' ? { ...source, data: source.data + text.toString() } : source
        const image = encodeImage({ ...value, source: whole }, context)
        if (image !== undefined) sendMessage({ content: '', images: [image] })
        return
      }
      case 'native':
      case 'tool-result':
        reportLeftOut(value, context)
        return
      default:
        value satisfies never
    }
  }

  function endChoice(event: ChoiceEnd): void {
    for (const number of [...open.keys()]) endPart(number)
    ending = event
  }

  function fail(error: ErrorInfo): void {
    over = true
    out.push(errorEvent(error))
  }

  function finish(): void {
    const { finish, logprobs, reasoningChecks, extra } = ending ?? noEnding
    let reason: string
    try {
      reason = encodeFinish(finish, hasParts, context)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      fail(error.info)
      return
    }
    over = true
    ownExtra(extra, 'ollama', '/choices/0', report)
    reportReasoningChecks(reasoningChecks, 'Ollama', report)
    reportTier(tier, context)
    if (head === '') start('', 0)
    const last: JsonObject = {
      ...shape.fields({ content: '' }),
      done: true,
      done_reason: reason,
      ...encodeMetrics(usage, { first: firstMs, total: context.elapsedMs?.() ?? 0 }),
    }
    put(last, 'logprobs', encodeLogprobs(logprobs, report))
    out.push({ data: head + stringifyExact(last).slice(1) })
  }

  function read(event: ModelEvent): void {
    switch (event.type) {
      case 'response-start': {
        const { type: _, id: _id, model, created, serviceTier, reasoningChecks, extra, ...rest } = event
        rest satisfies Nothing
        ownExtra(extra, 'ollama', '', report)
        reportReasoningChecks(reasoningChecks, 'Ollama', report)
        tier = serviceTier
        start(model, created)
        return
      }
      case 'usage':
        usage = event.usage
        tier = event.serviceTier ?? tier
        return
      case 'native':
        reportNativeEvent(event.value, 'ollama', report)
        return
      case 'error':
        fail(event.error)
        return
      case 'response-end':
        finish()
        return
      default:
    }
    if (event.choice !== 0) {
      reportOtherChoice(event.choice, context)
      return
    }
    switch (event.type) {
      case 'part-start':
        startPart(event.part, event.value)
        return
      case 'part-delta': {
        const part = open.get(event.part)
        if (part !== undefined) writeDelta(part, event.delta)
        return
      }
      case 'part-end':
        endPart(event.part)
        return
      case 'choice-end':
        endChoice(event)
        return
      default:
        event satisfies never
    }
  }

  const drain = (): SseEvent[] => {
    const events = out
    out = []
    return events
  }

  return {
    push(event) {
      if (over) return []
      read(event)
      return drain()
    },
    end() {
      if (over) return []
      over = true
      return [errorEvent(truncated)]
    },
    heartbeat() {
      if (over) return []
      send(shape.textPiece(''), undefined)
      return drain()
    },
  }
}

const noEnding: Pick<ChoiceEnd, 'finish' | 'logprobs' | 'reasoningChecks' | 'extra'> = { finish: { reason: 'other' } }
