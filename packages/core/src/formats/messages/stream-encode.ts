import { type ErrorInfo, GatewayError } from '../../base/errors.ts'
import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { SseEvent } from '../../http/sse/event.ts'
import type { ExchangeContext, StreamEncoder } from '../codec.ts'
import type { ModelEvent, Part, Usage } from '../ir.ts'
import { loss, ownExtra, reportNativeEvent } from '../shared/report.ts'
import { reportEnding } from '../shared/response-losses.ts'
import { PartQueue } from '../shared/stream-parts.ts'
import { errorEvent } from './error.ts'
import { encodeFinish, type Held } from './finish.ts'
import { encodeChecks } from './input-transformations.ts'
import { checkFinish, isBareSeal } from './response-encode.ts'
import { createBlockWriter, openPart, type PartEncoder, sse } from './stream-encode-blocks.ts'
import { ping } from './tap.ts'
import { encodeUsage, reportTier } from './usage.ts'

type Start = Extract<ModelEvent, { type: 'response-start' }>

/** Writes a stream of messages: one message, blocks one after another, an ending only if the upstream had its own. */
export function encodeStream(context: ExchangeContext): StreamEncoder {
  let out: SseEvent[] = []
  let start: Start | undefined
  let begun = false
  let over = false
  let said = false
  let usage: Usage | undefined
  let tier: string | undefined
  let ending: Pick<Extract<ModelEvent, { type: 'choice-end' }>, 'finish' | 'extra' | 'reasoningChecks'> | undefined
  let current: { part: number; encoder: PartEncoder } | undefined
  /** Blocks never overlap here. */
  const waiting = new PartQueue()
  /** Seals behind a text, until it is known whether anything follows them. */
  const trailing: { part: number; value: Part }[] = []
  let lastSaid = ''
  const held: Held = { calls: false, refusal: false }
  const writer = createBlockWriter((event) => out.push(event))

  /** `message_start` waits for the event after it: usage known by then belongs into it. */
  function begin(): void {
    if (begun || start === undefined) return
    begun = true
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
    current = { part, encoder: openPart(value, writer, context) }
  }

  /** Something follows: now they stand in front of it. */
  function sendTrailing(): void {
    for (const { part, value } of trailing.splice(0)) waiting.add(part, value, true)
  }

  function startPart(part: number, value: Part): void {
    said = true
    if (lastSaid === 'text' && isBareSeal(value)) {
      trailing.push({ part, value })
      return
    }
    sendTrailing()
    lastSaid = value.type
    if (value.type === 'tool-call') held.calls = true
    if (value.type === 'refusal') held.refusal = true
    waiting.add(part, value)
    if (current === undefined) openWaiting()
  }

  function close(part: number): void {
    if (current?.part !== part) {
      const later = waiting.find(part)
      if (later !== undefined) later.ended = true
      return
    }
    current.encoder.end()
    current = undefined
    openWaiting()
  }

  function openWaiting(): void {
    while (current === undefined) {
      const next = waiting.shift()
      if (next === undefined) return
      open(next.part, next.value)
      for (const delta of next.deltas) currentEncoder()?.delta(delta)
      if (!next.ended) return
      currentEncoder()?.end()
      current = undefined
    }
  }
  const currentEncoder = (): PartEncoder | undefined => current?.encoder

  function closeAll(): void {
    waiting.endAll()
    if (current !== undefined) close(current.part)
  }

  function fail(error: ErrorInfo): void {
    over = true
    out.push(errorEvent(error))
  }

  function finish(): void {
    begin()
    closeAll()
    over = true
    const {
      finish: ended,
      extra,
      reasoningChecks,
    }: NonNullable<typeof ending> = ending ?? { finish: { reason: 'other' } }
    try {
      checkFinish(ended, said)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      fail(error.info)
      return
    }
    reportEnding(ended, { pause: true }, '/choices/0', context)
    ownExtra(ended.extra, 'messages', '/choices/0', context.report)
    const served = tier ?? start?.serviceTier
    reportTier(served, usage, context.report)
    const { container, delta: more, ...own } = ownExtra(extra, 'messages', '/choices/0', context.report) ?? {}
    const delta: JsonObject = {
      ...encodeFinish(ended, held),
      ...(container === undefined ? {} : { container }),
      ...(isObject(more) ? more : {}),
    }
    out.push(
      sse({
        type: 'message_delta',
        delta,
        usage: encodeUsage(usage, served),
        ...encodeChecks(reasoningChecks, context),
        ...own,
      }),
    )
    out.push(sse({ type: 'message_stop' }))
  }

  function other(choice: number): boolean {
    if (choice === 0) return false
    context.report.add(loss(`/choices/${choice}`, 'messages carries one answer; the others are left out'))
    return true
  }

  function read(event: ModelEvent): void {
    switch (event.type) {
      case 'response-start':
        start ??= event
        return
      case 'usage':
        usage = event.usage
        tier = event.serviceTier ?? tier
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
    if (other(event.choice)) return
    begin()
    switch (event.type) {
      case 'part-start':
        startPart(event.part, event.value)
        return
      case 'part-delta':
        if (current?.part === event.part) current.encoder.delta(event.delta)
        else waiting.find(event.part)?.deltas.push(event.delta)
        return
      case 'part-end':
        close(event.part)
        return
      case 'choice-end':
        closeAll()
        for (const { value } of trailing.splice(0))
          context.report.add(
            loss(
              value.at ?? '',
              'the seal of a text that has been streamed has no place behind it',
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
      if (over) return []
      out = []
      read(event)
      return out
    },
    // A stream that neither ended nor failed is the lane's to fail: nothing is made up here.
    end: () => [],
    heartbeat() {
      out = []
      if (!over) begin()
      return [...out, ping]
    },
  }
}
