import { GatewayError } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Finish, ModelResponse, Part, ReasoningPart } from '../ir.ts'
import { callSealFields, reportLostSeal } from '../shared/call-seals.ts'
import { reportEnding } from '../shared/ending.ts'
import { reportLogprobs } from '../shared/logprobs-report.ts'
import { loss, ownExtra } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import { logprobsShape, reportCache } from './content.ts'
import { encodeEnvelope, responseId } from './envelope.ts'
import { encodeFinish, heldBy } from './finish.ts'
import { isWords, sameMessage } from './input-decode.ts'
import { encodeChecks } from './input-transformations.ts'
import { callItem, contentPart, messageItem, otherItem, reasoningItem, type Words } from './output-items.ts'
import { carrierOf, expectsReasoning, isLoneSeal, joins } from './reasoning.ts'
import { encodeUsage, noUsage } from './usage.ts'

export function encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject {
  const { id, model, created, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  const [choice] = choices
  if (choices.length > 1) context.report.add(loss('/choices/1', 'responses gives one answer; the others were left out'))
  const { parts, finish, logprobs, extra: choiceExtra, ...choiceRest } = choice ?? nothing
  choiceRest satisfies Nothing
  failIfBroken(finish, parts)
  reportEnding(finish, { words: 'responses' }, '/choices/0', context)
  const frame = {
    id: responseId(id, context),
    model: model || context.request.model,
    createdAt: created || context.now(),
  }
  const own = {
    ...encodeChecks(reasoningChecks, context),
    ...ownExtra(extra, 'responses', '', context.report),
    ...ownExtra(choiceExtra, 'responses', '/choices/0', context.report),
    ...ownExtra(finish.extra, 'responses', '/choices/0', context.report),
  }
  const out = encodeEnvelope(frame, own, context)
  const told = withExplanation(parts, finish, context)
  const ending = encodeFinish(finish, heldBy(told))
  const output = encodeItems(told, context)
  if (output.length === 0 && finish.raw?.format !== 'responses') output.push(emptyMessage(context))
  putLogprobs(output, logprobs, context)
  if (ending.status === 'incomplete') markIncomplete(output)
  out.output = output
  out.status = ending.status
  out.incomplete_details = ending.incompleteDetails
  if (ending.status === 'completed') out.completed_at = own.completed_at ?? context.now()
  put(out, 'service_tier', serviceTier)
  out.usage = encodeUsage(countOrNothing(usage, context))
  return out
}

const nothing: ModelResponse['choices'][number] = { parts: [], finish: { reason: 'other' } }

export const brokenEnding = (finish: Finish, any: boolean): string | undefined => {
  const unfinished = finish.raw?.format === 'responses' && finish.raw.value !== ''
  return finish.reason === 'error' || (finish.reason === 'other' && !any && !unfinished)
    ? (finish.explanation ?? 'The upstream ended its answer with an error.')
    : undefined
}

function failIfBroken(finish: Finish, parts: readonly Part[]): void {
  const told = brokenEnding(finish, parts.length > 0)
  if (told !== undefined) throw new GatewayError('upstream_error', told)
}

export function countOrNothing(usage: ModelResponse['usage'], context: ExchangeContext) {
  if (usage === undefined)
    context.report.add(loss('/usage', 'the upstream did not count; zeros are told', 'approximated', 'note'))
  return usage ?? noUsage
}

/** Why an answer was refused, as the refusal that it is. */
function withExplanation(parts: readonly Part[], finish: Finish, context: ExchangeContext): readonly Part[] {
  const { explanation, sequence, reason } = finish
  if (sequence !== undefined) reportSequence(context)
  if (explanation === undefined || parts.some((part) => part.type === 'refusal')) return parts
  if (reason === 'refusal' || reason === 'content-filter') return [...parts, { type: 'refusal', text: explanation }]
  reportExplanation(explanation, context)
  return parts
}

export const reportSequence = (context: ExchangeContext): void =>
  context.report.add(
    loss('/choices/0/sequence', 'responses does not say which stop sequence was hit', 'unsupported', 'note'),
  )
export const reportExplanation = (explanation: string, context: ExchangeContext): void =>
  context.report.add(
    loss(
      '/choices/0/explanation',
      `why the answer ended is not said in responses: ${explanation}`,
      'unsupported',
      'note',
    ),
  )

export const emptyMessage = (context: ExchangeContext): JsonObject => ({
  ...messageItem(undefined, context),
  content: [{ type: 'output_text', text: '', annotations: [], logprobs: [] }],
})

function encodeItems(parts: readonly Part[], context: ExchangeContext): JsonObject[] {
  const items: JsonObject[] = []
  let words: Words[] = []
  let thoughts: ReasoningPart[] = []
  const flush = (): void => {
    if (words.length > 0)
      items.push({ ...messageItem(words[0], context), content: words.map((part) => contentPart(part, context)) })
    if (thoughts.length > 0) items.push(reasoningItem(thoughts, context))
    words = []
    thoughts = []
  }
  const reasons = expectsReasoning(context.request)
  // An image is drawn on only with the seal behind it.
  const keepsSeals = reasons || parts.some(({ type }) => type === 'media')
  for (const part of parts) {
    reportCache(part, context)
    if (!keepsSeals && isLoneSeal(part)) {
      reportLostSeal(part.at ?? '', context)
      continue
    }
    const lastWord = words.at(-1)
    const lastThought = thoughts.at(-1)
    if (isWords(part)) {
      if (lastWord === undefined || !sameMessage(lastWord, part)) flush()
      words.push(part)
    } else if (part.type === 'reasoning') {
      if (lastThought === undefined || !joins(lastThought, part)) flush()
      thoughts.push(part)
    } else {
      flush()
      if (part.type === 'tool-call') {
        const item = callItem(part, part.input, context)
        if (part.seal !== undefined && reasons)
          items.push(carrierOf({ id: String(item.call_id) }, part.seal, context.newId('rs_')))
        items.push(part.seal === undefined || reasons ? item : { ...item, ...callSealFields(part.seal, 'responses') })
      } else {
        const item = otherItem(part, context)
        if (item !== undefined) items.push(item)
      }
    }
  }
  flush()
  return items
}

/** Log probabilities go to the texts they belong to, token by token. */
function putLogprobs(output: readonly JsonObject[], logprobs: Json | undefined, context: ExchangeContext): void {
  reportLogprobs(logprobs, logprobsShape, 0, context.report)
  const tokens = isObject(logprobs) && Array.isArray(logprobs.content) ? logprobs.content : []
  if (tokens.length === 0) return
  const texts = output.flatMap((item) =>
    item.type === 'message' && Array.isArray(item.content)
      ? item.content.filter(isObject).filter((part) => part.type === 'output_text')
      : [],
  )
  if (texts.length === 0)
    context.report.add(loss('/choices/0/logprobs', 'log probabilities stand on texts here, and there is none'))
  let next = 0
  for (const [index, part] of texts.entries()) {
    const mine: Json[] = []
    let length = 0
    const wanted = index === texts.length - 1 ? Number.POSITIVE_INFINITY : String(part.text).length
    for (; next < tokens.length && length < wanted; next++) {
      const token = tokens[next] as Json
      length += isObject(token) && typeof token.token === 'string' ? token.token.length : 1
      mine.push(token)
    }
    part.logprobs = mine
  }
}

function markIncomplete(output: readonly JsonObject[]): void {
  const last = output.at(-1)
  if (last !== undefined && 'status' in last) last.status = 'incomplete'
}
