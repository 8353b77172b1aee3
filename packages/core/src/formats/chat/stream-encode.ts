import { errorKinds } from '../../base/error-kinds.ts'
import { type JsonObject, put, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ModelEvent, Nothing, Usage } from '../ir.ts'
import { ownExtra, reportNativeEvent } from '../shared/report.ts'
import { reportReasoningChecks } from '../shared/response-losses.ts'
import { joinText } from '../shared/stream-parts.ts'
import type { StreamEncoder } from '../stream-codec.ts'
import { comment, doneEvent, errorEvent, type Frame, heartbeatEvent, truncated } from './chunk.ts'
import { type ChoiceEncoder, createChoiceEncoder } from './stream-encode-choice.ts'
import { encodeUsage } from './usage.ts'

/** Encodes IR events as chunks. Only `response-end` writes `[DONE]`: a broken stream ends with an error. */
export function encodeStream(context: ExchangeContext): StreamEncoder {
  const choices = new Map<number, ChoiceEncoder>()
  const withUsage = context.request.output?.includeUsage === true
  let frame: Frame | undefined
  /** The text of a chunk before and after its `choices`. */
  let head = ''
  let tail = ''
  /** Providers' fields for the next chunk. */
  let beside: JsonObject | undefined
  let usage: Usage | undefined
  let reasoned = false
  let over = false
  let out: SseEvent[] = []

  function start(id: string, model: string, created: number, common: JsonObject): Frame {
    const made: Frame = {
      id: id || context.newId('chatcmpl-'),
      model: model || context.request.model,
      created: created || context.now(),
    }
    const fields = {
      system_fingerprint: null,
      ...common,
      id: made.id,
      object: 'chat.completion.chunk',
      created: made.created,
      model: made.model,
    }
    head = joinText(stringifyExact(fields).slice(0, -1), ',"choices":[')
    tail = withUsage ? '],"usage":null}' : ']}'
    frame = made
    return made
  }

  /** The choice is given as JSON. */
  function send(choice: string): void {
    if (frame === undefined) start('', '', 0, {})
    let end = tail
    if (beside !== undefined) {
      end = `],${stringifyExact(beside).slice(1, -1)}${tail.slice(1)}`
      beside = undefined
    }
    out.push({ data: head + choice + end })
  }

  function choiceOf(index: number): ChoiceEncoder {
    let choice = choices.get(index)
    if (choice === undefined) {
      choice = createChoiceEncoder(index, context, send)
      choices.set(index, choice)
    }
    return choice
  }

  function fail(event: Extract<ModelEvent, { type: 'error' }>): void {
    over = true
    out.push(errorEvent(event.error))
  }

  function read(event: ModelEvent): void {
    switch (event.type) {
      case 'response-start': {
        const { type: _, id, model, created, serviceTier, reasoningChecks, extra, ...rest } = event
        rest satisfies Nothing
        reportReasoningChecks(reasoningChecks, 'chat', context.report)
        const common: JsonObject = { ...ownExtra(extra, 'chat', '', context.report) }
        put(common, 'service_tier', serviceTier)
        start(id, model, created, common)
        return
      }
      case 'part-start':
        reasoned ||= event.value.type === 'reasoning'
        choiceOf(event.choice).start(event.part, event.value)
        return
      case 'part-delta':
        choiceOf(event.choice).delta(event.part, event.delta)
        return
      case 'part-end':
        choiceOf(event.choice).end(event.part)
        return
      case 'choice-end': {
        const { type: _, choice, finish, logprobs, reasoningChecks, extra, ...rest } = event
        rest satisfies Nothing
        reportReasoningChecks(reasoningChecks, 'chat', context.report)
        const message = choiceOf(choice).finish(finish, logprobs, extra)
        if (message !== undefined)
          fail({
            type: 'error',
            error: { kind: 'upstream_error', status: errorKinds.upstream_error.status, message },
          })
        return
      }
      case 'usage':
        usage = event.usage
        if (event.serviceTier !== undefined) beside = { ...beside, service_tier: event.serviceTier }
        return
      case 'native':
        if (event.format === 'chat') {
          if (Object.keys(event.value).length > 0) beside = { ...beside, ...event.value }
        } else reportNativeEvent(event.value, 'chat', context.report)
        return
      case 'error':
        fail(event)
        return
      case 'response-end':
        finish()
        return
      default:
        event satisfies never
    }
  }

  function finish(): void {
    over = true
    if (frame === undefined) start('', '', 0, {})
    const counted = withUsage && usage !== undefined ? encodeUsage(usage, reasoned) : undefined
    if (counted !== undefined || beside !== undefined) {
      // Also sends provider fields that arrived after the last choice.
      const fields = { ...beside, ...(withUsage ? { usage: counted ?? null } : {}) }
      out.push({ data: `${head}],${stringifyExact(fields).slice(1)}` })
    }
    out.push(doneEvent)
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
      return [frame === undefined ? comment : heartbeatEvent(frame)]
    },
  }
}
