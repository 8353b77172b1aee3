import { GatewayError } from '../../base/errors.ts'
import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Finish, ModelRequest, ModelResponse, Nothing, Part, ReasoningPart } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { callSealFields, reportLostSeal } from '../shared/call-seals.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { reportEnding, reportLogprobs } from '../shared/response-losses.ts'
import { isWords, logprobsShape, reportCache, sameMessage } from './content.ts'
import { isOwnClient } from './fields.ts'
import { encodeFinish, heldBy } from './finish.ts'
import { callItem, contentPart, messageItem, otherItem, reasoningItem, type Words } from './items-encode.ts'
import { carrierOf, encodeChecks, expectsReasoning, isLoneSeal, joins } from './reasoning.ts'
import { encodeChoice, encodeTools } from './tools.ts'
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

/** What changes from one response to the next, and from its beginning to its end. */
export interface Frame {
  id: string
  model: string
  createdAt: number
}

/** Whoever keeps an answer gives it its name; upstreams that keep nothing give theirs twice. */
export const responseId = (id: string, { kept, upstream, newId }: ExchangeContext): string =>
  id === '' || (kept !== undefined && upstream !== 'responses') ? newId('resp_') : id

/**
 * A response without its output: every key that clients insist on, the request's settings among them. `own` are the
 * settings an upstream of this format repeated itself: they win.
 */
export function encodeEnvelope(frame: Frame, own: JsonObject | undefined, context: ExchangeContext): JsonObject {
  const out = withOwn(encodeSettings(context), own)
  out.id = frame.id
  out.object = 'response'
  out.created_at = frame.createdAt
  out.status = 'in_progress'
  out.completed_at = null
  out.error = null
  out.incomplete_details = null
  out.model = frame.model
  out.output = []
  out.usage = null
  return out
}

/** Adds to the settings themselves: a copy of so many fields costs ten times what they cost to make and to write out. */
export const withOwn = (settings: JsonObject, own: JsonObject = {}): JsonObject =>
  // Assigned, this one name would be lost.
  Object.hasOwn(own, '__proto__') ? { ...settings, ...own } : Object.assign(settings, own)

function encodeSettings(context: ExchangeContext): JsonObject {
  const { request } = context
  const { sampling, reasoning, output, tools, user } = request
  const asked = isOwnClient(request) ? (request.extra?.responses ?? {}) : {}
  const quiet = { ...context, report: createReport() }
  const out: JsonObject = {
    background: false,
    frequency_penalty: sampling?.frequencyPenalty ?? 0,
    instructions: instructionsOf(request),
    max_output_tokens: sampling?.maxTokens ?? null,
    max_tool_calls: asked.max_tool_calls ?? null,
    metadata: request.metadata ?? (isObject(asked.metadata) ? asked.metadata : {}),
    parallel_tool_calls: tools?.parallel ?? true,
    presence_penalty: sampling?.presencePenalty ?? 0,
    previous_response_id: context.kept?.previous ?? null,
    prompt_cache_key: user?.cacheKey ?? null,
    reasoning: { effort: reasoning?.off ? 'none' : (reasoning?.effort ?? null), summary: reasoning?.summary ?? null },
    safety_identifier: user?.safetyId ?? null,
    service_tier: request.serviceTier ?? 'default',
    // Whatever was asked: this is what can be fetched again later.
    store: context.kept !== undefined,
    temperature: sampling?.temperature ?? 1,
    text: encodeText(output),
    tool_choice: asked.tool_choice ?? (tools?.choice === undefined ? 'auto' : encodeChoice(tools.choice, tools)),
    tools: tools === undefined ? [] : encodeTools(tools.list, true, quiet).map(echoed),
    top_logprobs: output?.logprobs ?? asked.top_logprobs ?? 0,
    top_p: sampling?.topP ?? 1,
    truncation: asked.truncation ?? 'disabled',
  }
  put(out, 'user', user?.id)
  return out
}

/** A tool as an answer repeats it: clients expect every key of a function. */
const echoed = (tool: JsonObject): JsonObject =>
  tool.type === 'function' ? { description: null, parameters: null, strict: null, ...tool } : tool

function instructionsOf({ turns }: ModelRequest): string | null {
  const [first] = turns
  const [part] = first?.parts ?? []
  return first?.at === '/instructions' && part?.type === 'text' ? part.text : null
}

function encodeText(output: ModelRequest['output']): JsonObject {
  const { format, verbosity } = output ?? {}
  const text: JsonObject = { format: { type: 'text' } }
  if (format?.type === 'json') {
    const { schema, name, description, strict } = format
    if (schema === undefined) text.format = { type: 'json_object' }
    else
      text.format = {
        type: 'json_schema',
        name: name ?? 'response',
        description: description ?? null,
        schema,
        strict: strict ?? false,
      }
  }
  put(text, 'verbosity', verbosity)
  return text
}
