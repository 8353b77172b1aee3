import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { type JsonObject, stringifyExact } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Finish, ModelEvent, Nothing, Usage } from '../ir.ts'
import { loss, ownExtra, reportNativeEvent } from '../shared/report.ts'
import { reportFinish } from '../shared/response-losses.ts'
import { joinText } from '../shared/stream-parts.ts'
import type { StreamEncoder } from '../stream-codec.ts'
import { errorEvents, truncated } from './error.ts'
import { encodeFinish, type FinalStatus } from './finish.ts'
import { encodeChecks } from './reasoning.ts'
import {
  assignSettings,
  encodeEnvelope,
  failureMessage,
  reportExplanation,
  reportSequence,
  responseId,
  usageOrZeros,
} from './response-encode.ts'
import { createOutput } from './stream-encode-output.ts'
import { doneEvent, keepAliveComment } from './tap.ts'
import { encodeUsage } from './usage.ts'

/**
 * Encodes a stream, with events numbered from 0. Only `response-end` writes the terminal event of the response; a broken
 * stream ends with `error` and `response.failed`.
 */
export function encodeStream(context: ExchangeContext): StreamEncoder {
  const sequence = { next: 0 }
  let response: JsonObject | undefined
  let own: JsonObject = {}
  let finish: Finish | undefined
  let usage: Usage | undefined
  let tier: string | undefined
  let over = false
  let out: SseEvent[] = []

  const heads = new Map<string, string>()

  /** @param fields the event's fields as JSON text without its first brace */
  const sendText = (type: string, fields: string): void => {
    let head = heads.get(type)
    if (head === undefined) {
      head = joinText('{"type":"', type, '","sequence_number":')
      heads.set(type, head)
    }
    out.push({ event: type, data: `${head}${sequence.next++},${fields}` })
  }
  const send = (type: string, fields: JsonObject): void => sendText(type, stringifyExact(fields).slice(1))
  const output = createOutput(context, { send, sendText })

  function start(id: string, model: string, created: number, settings?: JsonObject): JsonObject {
    if (response !== undefined) return response
    const frame = {
      id: responseId(id, context),
      model: model || context.request.model,
      createdAt: created || context.now(),
    }
    response = encodeEnvelope(frame, settings, context)
    const fields = stringifyExact({ response }).slice(1)
    sendText('response.created', fields)
    sendText('response.in_progress', fields)
    return response
  }

  function fail(error: ErrorInfo): void {
    over = true
    const frame = response ?? {
      id: context.newId('resp_'),
      object: 'response',
      created_at: context.now(),
      model: context.request.model,
    }
    out.push(...errorEvents(error, { ...frame, output: output.items() }, sequence.next))
  }

  function endChoice(event: Extract<ModelEvent, { type: 'choice-end' }>): void {
    const { type: _, choice, finish: ending, logprobs, reasoningChecks, extra, ...rest } = event
    rest satisfies Nothing
    if (choice !== 0) return
    const { explanation, reason, sequence, extra: finishExtra } = ending
    finish = ending
    own = {
      ...encodeChecks(reasoningChecks, context),
      ...ownExtra(extra, 'responses', '/choices/0', context.report),
      ...ownExtra(finishExtra, 'responses', '/choices/0', context.report),
    }
    if (logprobs !== undefined)
      context.report.add(
        loss(
          '/choices/0/logprobs',
          'log probabilities that arrive after their text cannot be sent in a stream of responses',
        ),
      )
    if (sequence !== undefined) reportSequence(context)
    const failure = failureMessage(ending, output.contentFlags.hasContent)
    if (failure !== undefined) {
      fail({ kind: 'upstream_error', status: errorKinds.upstream_error.status, message: failure })
      return
    }
    reportFinish(ending, { words: 'responses' }, '/choices/0', context)
    if (explanation !== undefined && !output.contentFlags.hasRefusal) {
      if (reason === 'refusal' || reason === 'content-filter') output.addRefusal(explanation)
      else reportExplanation(explanation, context)
    }
    output.finish(endingOf(ending).status)
  }

  const endingOf = (ending: Finish): FinalStatus => encodeFinish(ending, output.contentFlags)

  function end(): void {
    const frame = start('', '', 0)
    const ending = endingOf(finish ?? { reason: 'stop' })
    if (finish?.raw?.format !== 'responses') output.ensureMessage()
    output.finish(ending.status)
    const { status, incompleteDetails } = ending
    const final = assignSettings(frame, own)
    if (tier !== undefined) final.service_tier = tier
    final.status = status
    final.incomplete_details = incompleteDetails
    final.output = output.items()
    final.usage = encodeUsage(usageOrZeros(usage, context))
    if (status === 'completed') final.completed_at = own.completed_at ?? context.now()
    over = true
    send(status === 'incomplete' ? 'response.incomplete' : 'response.completed', { response: final })
    out.push(doneEvent)
  }

  function read(event: ModelEvent): void {
    switch (event.type) {
      case 'response-start': {
        const { type: _, id, model, created, serviceTier, reasoningChecks, extra, ...rest } = event
        rest satisfies Nothing
        const checks = encodeChecks(reasoningChecks, context)
        const settings: JsonObject = { ...checks, ...ownExtra(extra, 'responses', '', context.report) }
        if (serviceTier !== undefined) settings.service_tier = serviceTier
        start(id, model, created, settings)
        return
      }
      case 'part-start':
      case 'part-delta':
      case 'part-end':
        if (event.choice !== 0) {
          context.report.add(loss('/choices/1', 'responses carries one choice; the others are left out'))
          return
        }
        start('', '', 0)
        if (event.type === 'part-start') output.start(event.part, event.value)
        else if (event.type === 'part-delta') output.delta(event.part, event.delta)
        else output.end(event.part)
        return
      case 'choice-end':
        start('', '', 0)
        endChoice(event)
        return
      case 'usage':
        usage = event.usage
        tier = event.serviceTier
        return
      case 'native':
        if (event.format === 'responses') {
          start('', '', 0)
          output.forwardEvent(event.value)
        } else reportNativeEvent(event.value, 'responses', context.report)
        return
      case 'error':
        fail(event.error)
        return
      case 'response-end':
        end()
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
    sequence,
    push(event) {
      if (over) return []
      read(event)
      return drain()
    },
    end() {
      if (over) return []
      fail(truncated)
      return drain()
    },
    heartbeat() {
      if (over) return []
      // Some idle timers count events only, and every client accepts the first events of a response.
      if (response === undefined) start('', '', 0)
      else out.push(keepAliveComment)
      return drain()
    },
  }
}
