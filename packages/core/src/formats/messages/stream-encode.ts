import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ModelEvent, Part, Usage } from '../ir.ts'
import { loss, ownExtra, reportNativeEvent } from '../shared/report.ts'
import { reportFinish } from '../shared/response-losses.ts'
import { PartQueue } from '../shared/stream-parts.ts'
import type { StreamEncoder } from '../stream-codec.ts'
import { errorEvent } from './error.ts'
import { encodeFinish, type PartKinds } from './finish.ts'
import { encodeChecks } from './input-transformations.ts'
import { checkFinish, isSealOnly } from './response-encode.ts'
import { createBlockWriter, openPart, type PartEncoder, sse } from './stream-encode-blocks.ts'
import { ping } from './tap.ts'
import { encodeUsage, reportTier } from './usage.ts'

type Start = Extract<ModelEvent, { type: 'response-start' }>

/** Encodes a stream: one message with its blocks one after another. It writes an end only if the upstream's stream ended. */
export function encodeStream(context: ExchangeContext): StreamEncoder {
  let out: SseEvent[] = []
  let start: Start | undefined
  let hasStarted = false
  let hasEnded = false
  let hasParts = false
  let usage: Usage | undefined
  let serviceTier: string | undefined
  let ending: Pick<Extract<ModelEvent, { type: 'choice-end' }>, 'finish' | 'extra' | 'reasoningChecks'> | undefined
  let currentPart: { part: number; encoder: PartEncoder } | undefined
  /** Parts that wait for the current one to end, since blocks never overlap in this format. */
  const waiting = new PartQueue()
  /** Seals after a text. They wait until it is known whether another part follows. */
  const trailingSeals: { part: number; value: Part }[] = []
  let lastPartType = ''
  const kinds: PartKinds = { hasCall: false, hasRefusal: false }
  const writer = createBlockWriter((event) => out.push(event))

  /** Writes `message_start` at the next event, so that usage known by then is part of it. */
  function begin(): void {
    if (hasStarted || start === undefined) return
    hasStarted = true
    const { type: _, id, model, created: _created, serviceTier, reasoningChecks, extra } = start
    const message: JsonObject = {
      ...encodeChecks(reasoningChecks, context),
      ...ownExtra(extra, 'messages', '', context.report),
      id: id || context.newId('msg_'),
      type: 'message',
      role: 'assistant',
      model: model || context.request.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: encodeUsage(usage, serviceTier),
    }
    out.push(sse({ type: 'message_start', message }))
  }

  function open(part: number, value: Part): void {
    currentPart = { part, encoder: openPart(value, writer, context) }
  }

  /** Another part follows, so the seals go in front of it. */
  function flushTrailingSeals(): void {
    for (const { part, value } of trailingSeals.splice(0)) waiting.add(part, value, true)
  }

  function startPart(part: number, value: Part): void {
    hasParts = true
    if (lastPartType === 'text' && isSealOnly(value)) {
      trailingSeals.push({ part, value })
      return
    }
    flushTrailingSeals()
    lastPartType = value.type
    if (value.type === 'tool-call') kinds.hasCall = true
    if (value.type === 'refusal') kinds.hasRefusal = true
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
      open(next.part, next.value)
      for (const delta of next.deltas) currentEncoder()?.delta(delta)
      if (!next.ended) return
      currentEncoder()?.end()
      currentPart = undefined
    }
  }
  const currentEncoder = (): PartEncoder | undefined => currentPart?.encoder

  function closeAll(): void {
    waiting.endAll()
    if (currentPart !== undefined) close(currentPart.part)
  }

  function fail(error: ErrorInfo): void {
    hasEnded = true
    out.push(errorEvent(error))
  }

  function finish(): void {
    begin()
    closeAll()
    hasEnded = true
    const {
      finish: ended,
      extra,
      reasoningChecks,
    }: NonNullable<typeof ending> = ending ?? { finish: { reason: 'other' } }
    try {
      checkFinish(ended, hasParts)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      fail(error.info)
      return
    }
    reportFinish(ended, { pause: true }, '/choices/0', context)
    ownExtra(ended.extra, 'messages', '/choices/0', context.report)
    const finalTier = serviceTier ?? start?.serviceTier
    reportTier(finalTier, usage, context.report)
    const { container, delta: more, ...extraFields } = ownExtra(extra, 'messages', '/choices/0', context.report) ?? {}
    const delta: JsonObject = {
      ...encodeFinish(ended, kinds),
      ...(container === undefined ? {} : { container }),
      ...(isObject(more) ? more : {}),
    }
    out.push(
      sse({
        type: 'message_delta',
        delta,
        usage: encodeUsage(usage, finalTier),
        ...encodeChecks(reasoningChecks, context),
        ...extraFields,
      }),
    )
    out.push(sse({ type: 'message_stop' }))
  }

  function isOtherChoice(choice: number): boolean {
    if (choice === 0) return false
    context.report.add(loss(`/choices/${choice}`, 'messages carries one choice; the others are left out'))
    return true
  }

  function encodeEvent(event: ModelEvent): void {
    switch (event.type) {
      case 'response-start':
        start ??= event
        return
      case 'usage':
        usage = event.usage
        serviceTier = event.serviceTier ?? serviceTier
        return
      case 'error':
        fail(event.error)
        return
      case 'response-end':
        finish()
        return
      case 'native':
        if (event.format === 'messages' && typeof event.value.type === 'string') {
          begin()
          out.push(sse({ ...event.value, type: event.value.type }))
        } else reportNativeEvent(event.value, 'messages', context.report)
        return
      default:
    }
    if (isOtherChoice(event.choice)) return
    begin()
    switch (event.type) {
      case 'part-start':
        startPart(event.part, event.value)
        return
      case 'part-delta':
        if (currentPart?.part === event.part) currentPart.encoder.delta(event.delta)
        else waiting.find(event.part)?.deltas.push(event.delta)
        return
      case 'part-end':
        close(event.part)
        return
      case 'choice-end':
        closeAll()
        for (const { value } of trailingSeals.splice(0))
          context.report.add(
            loss(
              value.at ?? '',
              'the seal of a text that was already streamed cannot follow it',
              'unsupported',
              'note',
            ),
          )
        if (event.logprobs !== undefined)
          context.report.add(loss('/choices/0/logprobs', 'messages has no log probabilities'))
        ending = event
        return
      default:
        event satisfies never
    }
  }

  return {
    push(event) {
      if (hasEnded) return []
      out = []
      encodeEvent(event)
      return out
    },
    // A stream that neither ended nor failed is failed by the pipeline.
    end: () => [],
    heartbeat() {
      out = []
      if (!hasEnded) begin()
      return [...out, ping]
    },
  }
}
