import { errorKinds } from '../../base/error-kinds.ts'
import type { ErrorInfo } from '../../base/errors.ts'
import { type JsonObject, put } from '../../base/json/json.ts'
import { comment, doneEvent, errorEvent, truncated } from '../../formats/chat/chunk.ts'
import { encodeUsage } from '../../formats/chat/usage.ts'
import type { ExchangeContext } from '../../formats/codec.ts'
import type { Delta, ModelEvent, Usage } from '../../formats/ir.ts'
import { loss, ownExtra } from '../../formats/shared/report.ts'
import { reportReasoningChecks } from '../../formats/shared/response-losses.ts'
import type { StreamEncoder } from '../../formats/stream-codec.ts'
import type { SseEvent } from '../../http/sse/sse.ts'
import { completionObject, encodeFinish, encodeLogprobs, failureMessage, partText } from './response.ts'

/**
 * Encodes stream events as chunks of text. Only `response-end` writes `[DONE]`; a stream that breaks ends in an error.
 *
 * @param echo text in front of each choice
 */
export function encodeStream(context: ExchangeContext, echo: string): StreamEncoder {
  const { request, report } = context
  const withUsage = request.output?.includeUsage === true
  /** Number of characters written, by choice. */
  const written = new Map<number, number>()
  const choicesWithParts = new Set<number>()
  let frame: JsonObject | undefined
  let usage: Usage | undefined
  let over = false

  const start = (id = '', model = '', created = 0, common: JsonObject = {}): JsonObject => {
    frame = {
      ...common,
      id: id || context.newId('cmpl-'),
      object: completionObject,
      created: created || context.now(),
      model: model || request.model,
    }
    return frame
  }
  const chunk = (choices: JsonObject[], usageJson?: JsonObject): SseEvent => ({
    data: JSON.stringify({ ...(frame ?? start()), choices, ...(withUsage ? { usage: usageJson ?? null } : {}) }),
  })

  /** Returns the chunk for a piece of a choice's text. The first one repeats the prompt if the request has `echo`. */
  function writeText(
    choice: number,
    text: string,
    logprobs?: Delta & object,
    finish: string | null = null,
  ): SseEvent[] {
    const opening = written.has(choice) ? '' : echo
    const value = logprobs !== undefined && 'logprobs' in logprobs ? logprobs.logprobs : undefined
    const from = (written.get(choice) ?? 0) + opening.length
    const encoded = encodeLogprobs(value, from)
    written.set(choice, from + text.length)
    if (opening + text === '' && encoded === undefined && finish === null) return []
    return [chunk([{ text: opening + text, index: choice, logprobs: encoded ?? null, finish_reason: finish }])]
  }

  function fail(error: ErrorInfo): SseEvent[] {
    over = true
    return [errorEvent(error)]
  }

  function read(event: ModelEvent): SseEvent[] {
    switch (event.type) {
      case 'response-start': {
        reportReasoningChecks(event.reasoningChecks, 'a completion', report)
        const common: JsonObject = { ...ownExtra(event.extra, 'chat', '', report) }
        put(common, 'service_tier', event.serviceTier)
        start(event.id, event.model, event.created, common)
        return []
      }
      case 'part-start':
        choicesWithParts.add(event.choice)
        return writeText(event.choice, partText(event.value, `/choices/${event.choice}`, context))
      case 'part-delta': {
        const { choice, delta } = event
        if (delta.type === 'text' || delta.type === 'refusal') return writeText(choice, delta.text, delta)
        if (delta.type === 'citation') report.add(loss(`/choices/${choice}`, 'a completion has no citations'))
        return []
      }
      case 'part-end':
        return []
      case 'choice-end': {
        const { choice, finish, logprobs, extra } = event
        const failed = failureMessage(finish, choicesWithParts.has(choice))
        if (failed !== undefined)
          return fail({ kind: 'upstream_error', status: errorKinds.upstream_error.status, message: failed })
        reportReasoningChecks(event.reasoningChecks, 'a completion', report)
        ownExtra(extra, 'chat', `/choices/${choice}`, report)
        const word = encodeFinish(finish, `/choices/${choice}`, context)
        return writeText(choice, '', { type: 'text', text: '', ...(logprobs === undefined ? {} : { logprobs }) }, word)
      }
      case 'usage':
        usage = event.usage
        return []
      case 'native':
        if (event.format !== 'chat' || Object.keys(event.value).length > 0)
          report.add(
            loss('', 'additional content of the upstream cannot be sent in a completion', 'unsupported', 'note'),
          )
        return []
      case 'error':
        return fail(event.error)
      case 'response-end':
        over = true
        return [...(withUsage ? [chunk([], usage === undefined ? undefined : encodeUsage(usage))] : []), doneEvent]
    }
  }

  return {
    push: (event) => (over ? [] : read(event)),
    end() {
      if (over) return []
      over = true
      return [errorEvent(truncated)]
    },
    // Sends a comment, because some clients treat an empty chunk as text.
    heartbeat: () => (over ? [] : [comment]),
  }
}
