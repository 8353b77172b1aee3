import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ModelEvent, Part, Usage } from '../ir.ts'
import { loss, ownExtra, reportNativeEvent } from '../shared/report.ts'
import { reportReasoningChecks } from '../shared/response-losses.ts'
import { PartQueue } from '../shared/stream-parts.ts'
import type { StreamEncoder } from '../stream-codec.ts'
import { exceptionEvent } from './error.ts'
import { checkFinish, encodeEnding, encodeMetadata } from './response-encode.ts'
import { createBlockWriter, event, openPart, type PartEncoder } from './stream-encode-blocks.ts'
import { encodeUsage } from './usage-encode.ts'

type Ending = Extract<ModelEvent, { type: 'choice-end' }>

/**
 * Encodes a stream: one message with its blocks one after another. It writes an end only if the upstream's stream ended. The name of an
 * event is that of its frame.
 */
export function encodeStream(context: ExchangeContext): StreamEncoder {
  let out: SseEvent[] = []
  let hasStarted = false
  let hasEnded = false
  let hasParts = false
  let hasCall = false
  let usage: Usage | undefined
  let serviceTier: string | undefined
  let startFields: JsonObject | undefined
  let ending: Ending | undefined
  let currentPart: { part: number; encoder: PartEncoder } | undefined
  /** Parts that wait for the current one to end, since blocks never overlap in this format. */
  const waiting = new PartQueue()
  const writer = createBlockWriter((written) => out.push(written))

  function begin(): void {
    if (!hasStarted) out.push(event('messageStart', { role: 'assistant' }))
    hasStarted = true
  }

  function startPart(part: number, value: Part): void {
    hasParts = true
    if (value.type === 'tool-call') hasCall = true
    waiting.add(part, value)
    if (currentPart === undefined) openWaiting()
  }

  function close(part: number): void {
    if (currentPart?.part !== part) {
      const later = waiting.find(part)
      if (later !== undefined) later.ended = true
      return
    }
    currentPart.encoder.end()
    currentPart = undefined
    openWaiting()
  }

  function openWaiting(): void {
    while (currentPart === undefined) {
      const next = waiting.shift()
      if (next === undefined) return
      const encoder = openPart(next.value, writer, context)
      for (const delta of next.deltas) encoder.delta(delta)
      if (next.ended) encoder.end()
      else currentPart = { part: next.part, encoder }
    }
  }

  function closeAll(): void {
    waiting.endAll()
    if (currentPart !== undefined) close(currentPart.part)
  }

  function fail(error: ErrorInfo): void {
    hasEnded = true
    out.push(exceptionEvent(error))
  }

  function finish(): void {
    begin()
    closeAll()
    hasEnded = true
    const { finish: ended, extra }: Pick<Ending, 'finish' | 'extra'> = ending ?? { finish: { reason: 'other' } }
    try {
      checkFinish(ended, hasParts)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      fail(error.info)
      return
    }
    const own = ownExtra(extra, 'converse', '/choices/0', context.report)
    out.push(event('messageStop', encodeEnding(ended, hasCall, own, context)))
    out.push(
      event('metadata', { ...startFields, usage: encodeUsage(usage), ...encodeMetadata(serviceTier, own, context) }),
    )
  }

  function isOtherChoice(choice: number): boolean {
    if (choice === 0) return false
    context.report.add(loss(`/choices/${choice}`, 'Converse carries one choice; the others are left out'))
    return true
  }

  function encodeEvent(received: ModelEvent): void {
    switch (received.type) {
      case 'response-start':
        begin()
        serviceTier = received.serviceTier ?? serviceTier
        startFields = ownExtra(received.extra, 'converse', '', context.report)
        reportReasoningChecks(received.reasoningChecks, 'Converse', context.report)
        return
      case 'usage':
        usage = received.usage
        serviceTier = received.serviceTier ?? serviceTier
        return
      case 'error':
        fail(received.error)
        return
      case 'response-end':
        finish()
        return
      case 'native':
        if (received.format !== 'converse') {
          reportNativeEvent(received.value, 'converse', context.report)
          return
        }
        for (const [type, data] of Object.entries(received.value)) if (isObject(data)) out.push(event(type, data))
        return
      default:
    }
    if (isOtherChoice(received.choice)) return
    begin()
    switch (received.type) {
      case 'part-start':
        startPart(received.part, received.value)
        return
      case 'part-delta':
        if (currentPart?.part === received.part) currentPart.encoder.delta(received.delta)
        else waiting.find(received.part)?.deltas.push(received.delta)
        return
      case 'part-end':
        close(received.part)
        return
      case 'choice-end':
        closeAll()
        if (received.logprobs !== undefined)
          context.report.add(loss('/choices/0/logprobs', 'Converse has no log probabilities'))
        reportReasoningChecks(received.reasoningChecks, 'Converse', context.report)
        ending = received
        return
      default:
        received satisfies never
    }
  }

  return {
    push(received) {
      if (hasEnded) return []
      out = []
      encodeEvent(received)
      return out
    },
    // A stream that neither ended nor failed is failed by the pipeline.
    end: () => [],
    heartbeat() {
      if (hasEnded) return []
      out = []
      begin()
      const empty = writer.emptyDelta()
      // Between blocks, the framing writes its own heartbeat.
      return empty === undefined ? out : [...out, empty]
    },
  }
}
