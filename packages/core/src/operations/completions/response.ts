import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import { partName } from '../../formats/chat/media.ts'
import { encodeUsage } from '../../formats/chat/usage.ts'
import type { CodecContext, ExchangeContext } from '../../formats/codec.ts'
import type { Choice, Finish, ModelResponse, Nothing, Part } from '../../formats/ir.ts'
import { setOwn } from '../../formats/shared/json-fields.ts'
import { loss, ownExtra } from '../../formats/shared/report.ts'
import { reportFinish, reportReasoningChecks } from '../../formats/shared/response-losses.ts'

export const completionObject = 'text_completion'

const words: Readonly<Record<Finish['reason'], 'stop' | 'length' | 'content_filter'>> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'context-length': 'length',
  'tool-calls': 'stop', // the request has no tools
  'content-filter': 'content_filter',
  refusal: 'content_filter',
  pause: 'stop',
  error: 'stop', // never written: the client receives an error
  other: 'stop',
}

/**
 * Encodes a chat response as a text completion.
 *
 * @param echo text in front of each choice
 */
export function encodeResponse(response: ModelResponse, context: ExchangeContext, echo: string): JsonObject {
  const { id, model, created, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  reportReasoningChecks(reasoningChecks, 'a completion', context.report)
  const out: JsonObject = {
    ...ownExtra(extra, 'chat', '', context.report),
    id: id || context.newId('cmpl-'),
    object: completionObject,
    created: created || context.now(),
    model: model || context.request.model,
    choices: choices.map((choice, index) => encodeChoice(choice, index, context, echo)),
  }
  if (usage !== undefined) out.usage = encodeUsage(usage)
  put(out, 'service_tier', serviceTier)
  return out
}

function encodeChoice(choice: Choice, index: number, context: ExchangeContext, echo: string): JsonObject {
  const { parts, finish, logprobs, extra, ...rest } = choice
  rest satisfies Nothing
  const at = `/choices/${index}`
  const failed = failureMessage(finish, parts.length > 0)
  if (failed !== undefined) throw new GatewayError('upstream_error', failed)
  ownExtra(extra, 'chat', at, context.report)
  return {
    text: echo + parts.map((part) => partText(part, at, context)).join(''),
    index,
    logprobs: encodeLogprobs(logprobs, echo.length) ?? null,
    finish_reason: encodeFinish(finish, at, context),
  }
}

/** Returns the text of a part. Reasoning and media have no place in a completion and are reported. */
export function partText(part: Part, at: string, { report }: CodecContext): string {
  if (part.type === 'text') {
    if (part.citations !== undefined && part.citations.length > 0)
      report.add(loss(part.at ?? at, 'a completion has no citations'))
    return part.text
  }
  if (part.type === 'refusal') return part.text
  report.add(
    part.type === 'reasoning'
      ? loss(part.at ?? at, 'a completion has no reasoning', 'unsupported', 'note')
      : loss(part.at ?? at, `${partName(part)} left out: a completion contains only text`),
  )
  return ''
}

/** Returns the error message of a choice that failed, or undefined if it succeeded. */
export const failureMessage = ({ reason, explanation }: Finish, hasText: boolean): string | undefined =>
  reason === 'error' || (reason === 'other' && !hasText)
    ? (explanation ?? 'The upstream ended its response with an error.')
    : undefined

export function encodeFinish(finish: Finish, at: string, context: CodecContext): string {
  reportFinish(finish, {}, at, context)
  if (finish.explanation !== undefined)
    context.report.add(
      loss(
        at,
        `completions has no field for the explanation of the finish: ${finish.explanation}`,
        'unsupported',
        'note',
      ),
    )
  return words[finish.reason]
}

/**
 * Converts chat's log probabilities (`{content: [{token, logprob, top_logprobs}]}`) to those of completions, four parallel lists. Returns
 * undefined for an empty value.
 *
 * @param offset number of characters in front of the first token
 */
export function encodeLogprobs(value: Json | undefined, offset: number): JsonObject | undefined {
  if (!isObject(value) || !Array.isArray(value.content) || value.content.length === 0) return undefined
  const tokens: string[] = []
  const offsets: number[] = []
  const chosen: Json[] = []
  const topLists: JsonObject[] = []
  let at = offset
  for (const item of value.content.filter(isObject)) {
    const token = typeof item.token === 'string' ? item.token : ''
    tokens.push(token)
    offsets.push(at)
    chosen.push(item.logprob ?? null)
    topLists.push(encodeTop(item.top_logprobs))
    at += token.length
  }
  return { tokens, token_logprobs: chosen, top_logprobs: topLists, text_offset: offsets }
}

function encodeTop(list: Json | undefined): JsonObject {
  const top: JsonObject = {}
  for (const item of Array.isArray(list) ? list : [])
    if (isObject(item) && typeof item.token === 'string') setOwn(top, item.token, item.logprob ?? null)
  return top
}
