import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { ExchangeContext } from '../codec.ts'
import type { Finish, ModelRequest, ModelResponse, Nothing, Part, ReasoningPart } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { callSealFields, reportLostSeal } from '../shared/call-seals.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { reportFinish, reportLogprobs } from '../shared/response-losses.ts'
import { isMessagePart, isSameMessage, logprobsShape, reportCache } from './content.ts'
import { instructionsPointer, isResponsesClient } from './fields.ts'
import { contentFlagsOf, encodeFinish } from './finish.ts'
import { callItem, contentPart, type MessagePart, messageItem, otherItem, reasoningItem } from './items-encode.ts'
import { carrierItem, encodeChecks, expectsReasoning, isSameItem, isSealOnly } from './reasoning.ts'
import { encodeChoice, encodeTools } from './tools.ts'
import { encodeUsage, noUsage } from './usage.ts'

/** Encodes a response. Throws `upstream_error` for a choice that ended with an error. */
export function encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject {
  const { id, model, created, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  const [choice] = choices
  if (choices.length > 1)
    context.report.add(loss('/choices/1', 'responses carries one choice; the others are left out'))
  const { parts, finish, logprobs, extra: choiceExtra, ...choiceRest } = choice ?? emptyChoice
  choiceRest satisfies Nothing
  throwIfFailed(finish, parts)
  reportFinish(finish, { words: 'responses' }, '/choices/0', context)
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
  const shownParts = withExplanation(parts, finish, context)
  const ending = encodeFinish(finish, contentFlagsOf(shownParts))
  const output = encodeItems(shownParts, context)
  if (output.length === 0 && finish.raw?.format !== 'responses') output.push(emptyMessage(context))
  assignLogprobs(output, logprobs, context)
  if (ending.status === 'incomplete') markIncomplete(output)
  out.output = output
  out.status = ending.status
  out.incomplete_details = ending.incompleteDetails
  if (ending.status === 'completed') out.completed_at = own.completed_at ?? context.now()
  put(out, 'service_tier', serviceTier)
  out.usage = encodeUsage(usageOrZeros(usage, context))
  return out
}

const emptyChoice: ModelResponse['choices'][number] = { parts: [], finish: { reason: 'other' } }

/** Returns the message of a finish that must become an error, or undefined. */
export const failureMessage = (finish: Finish, any: boolean): string | undefined => {
  const unfinished = finish.raw?.format === 'responses' && finish.raw.value !== ''
  return finish.reason === 'error' || (finish.reason === 'other' && !any && !unfinished)
    ? (finish.explanation ?? 'The upstream ended its response with an error.')
    : undefined
}

function throwIfFailed(finish: Finish, parts: readonly Part[]): void {
  const message = failureMessage(finish, parts.length > 0)
  if (message !== undefined) throw new GatewayError('upstream_error', message)
}

/** Returns the usage, or zeros, which are reported. */
export function usageOrZeros(usage: ModelResponse['usage'], context: ExchangeContext) {
  if (usage === undefined)
    context.report.add(loss('/usage', 'the upstream reported no usage; zeros are sent', 'approximated', 'note'))
  return usage ?? noUsage
}

/** Adds the explanation of a refusal as a refusal part, if there is none. */
function withExplanation(parts: readonly Part[], finish: Finish, context: ExchangeContext): readonly Part[] {
  const { explanation, sequence, reason } = finish
  if (sequence !== undefined) reportSequence(context)
  if (explanation === undefined || parts.some((part) => part.type === 'refusal')) return parts
  if (reason === 'refusal' || reason === 'content-filter') return [...parts, { type: 'refusal', text: explanation }]
  reportExplanation(explanation, context)
  return parts
}

/** Reports a stop sequence, which the format cannot name. */
export const reportSequence = (context: ExchangeContext): void =>
  context.report.add(loss('/choices/0/sequence', 'responses does not report the stop sequence', 'unsupported', 'note'))
/** Reports the explanation of a finish that is not a refusal. */
export const reportExplanation = (explanation: string, context: ExchangeContext): void =>
  context.report.add(
    loss(
      '/choices/0/explanation',
      `responses has no field for the explanation of the finish: ${explanation}`,
      'unsupported',
      'note',
    ),
  )

/** Returns a message item with an empty text. */
export const emptyMessage = (context: ExchangeContext): JsonObject => ({
  ...messageItem(undefined, context),
  content: [{ type: 'output_text', text: '', annotations: [], logprobs: [] }],
})

function encodeItems(parts: readonly Part[], context: ExchangeContext): JsonObject[] {
  const items: JsonObject[] = []
  let textParts: MessagePart[] = []
  let reasoningParts: ReasoningPart[] = []
  const flush = (): void => {
    if (textParts.length > 0)
      items.push({
        ...messageItem(textParts[0], context),
        content: textParts.map((part) => contentPart(part, context)),
      })
    if (reasoningParts.length > 0) items.push(reasoningItem(reasoningParts, context))
    textParts = []
    reasoningParts = []
  }
  const reasons = expectsReasoning(context.request)
  // A model can edit an image only if its seal returns.
  const keepsSeals = reasons || parts.some(({ type }) => type === 'media')
  for (const part of parts) {
    reportCache(part, context)
    if (!keepsSeals && isSealOnly(part)) {
      reportLostSeal(part.at ?? '', context)
      continue
    }
    const lastText = textParts.at(-1)
    const lastReasoning = reasoningParts.at(-1)
    if (isMessagePart(part)) {
      if (lastText === undefined || !isSameMessage(lastText, part)) flush()
      textParts.push(part)
    } else if (part.type === 'reasoning') {
      if (lastReasoning === undefined || !isSameItem(lastReasoning, part)) flush()
      reasoningParts.push(part)
    } else {
      flush()
      if (part.type === 'tool-call') {
        const item = callItem(part, part.input, context)
        if (part.seal !== undefined && reasons)
          items.push(carrierItem({ id: String(item.call_id) }, part.seal, context.newId('rs_')))
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

/** Assigns log probabilities to their texts, token by token. */
function assignLogprobs(output: readonly JsonObject[], logprobs: Json | undefined, context: ExchangeContext): void {
  reportLogprobs(logprobs, logprobsShape, 0, context.report)
  const tokens = isObject(logprobs) && Array.isArray(logprobs.content) ? logprobs.content : []
  if (tokens.length === 0) return
  const texts = output.flatMap((item) =>
    item.type === 'message' && Array.isArray(item.content)
      ? item.content.filter(isObject).filter((part) => part.type === 'output_text')
      : [],
  )
  if (texts.length === 0)
    context.report.add(loss('/choices/0/logprobs', 'log probabilities belong to a text, and the response has none'))
  let next = 0
  for (const [index, part] of texts.entries()) {
    const textTokens: Json[] = []
    let length = 0
    const wanted = index === texts.length - 1 ? Number.POSITIVE_INFINITY : String(part.text).length
    for (; next < tokens.length && length < wanted; next++) {
      const token = tokens[next] as Json
      length += isObject(token) && typeof token.token === 'string' ? token.token.length : 1
      textTokens.push(token)
    }
    part.logprobs = textTokens
  }
}

function markIncomplete(output: readonly JsonObject[]): void {
  const last = output.at(-1)
  if (last !== undefined && 'status' in last) last.status = 'incomplete'
}

/** The fields that identify a response. */
export interface Frame {
  id: string
  model: string
  createdAt: number
}

/** Returns the id of a response. A response that the gateway keeps gets a new one, since upstreams that store nothing reuse ids. */
export const responseId = (id: string, { kept, upstream, newId }: ExchangeContext): string =>
  id === '' || (kept !== undefined && upstream !== 'responses') ? newId('resp_') : id

/**
 * Returns a response without output: every key that clients require, and the request's settings. The settings that an
 * upstream of this format echoed (`own`) take precedence.
 */
export function encodeEnvelope(frame: Frame, own: JsonObject | undefined, context: ExchangeContext): JsonObject {
  const out = assignSettings(encodeSettings(context), own)
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

/** Assigns to the settings in place: copying that many fields costs ten times as much as creating and serializing them. */
export const assignSettings = (settings: JsonObject, own: JsonObject = {}): JsonObject =>
  // `Object.assign` would lose this name.
  Object.hasOwn(own, '__proto__') ? { ...settings, ...own } : Object.assign(settings, own)

function encodeSettings(context: ExchangeContext): JsonObject {
  const { request } = context
  const { sampling, reasoning, output, tools, user } = request
  const clientExtra = isResponsesClient(request) ? (request.extra?.responses ?? {}) : {}
  const quiet = { ...context, report: createReport() }
  const out: JsonObject = {
    background: false,
    frequency_penalty: sampling?.frequencyPenalty ?? 0,
    instructions: instructionsOf(request),
    max_output_tokens: sampling?.maxTokens ?? null,
    max_tool_calls: clientExtra.max_tool_calls ?? null,
    metadata: request.metadata ?? (isObject(clientExtra.metadata) ? clientExtra.metadata : {}),
    parallel_tool_calls: tools?.parallel ?? true,
    presence_penalty: sampling?.presencePenalty ?? 0,
    previous_response_id: context.kept?.previous ?? null,
    prompt_cache_key: user?.cacheKey ?? null,
    reasoning: { effort: reasoning?.off ? 'none' : (reasoning?.effort ?? null), summary: reasoning?.summary ?? null },
    safety_identifier: user?.safetyId ?? null,
    service_tier: request.serviceTier ?? 'default',
    // True only if the gateway stores the response, whatever the request said.
    store: context.kept !== undefined && context.kept.inConnection !== true,
    temperature: sampling?.temperature ?? 1,
    text: encodeTextSettings(output),
    tool_choice: clientExtra.tool_choice ?? (tools?.choice === undefined ? 'auto' : encodeChoice(tools.choice, tools)),
    tools: tools === undefined ? [] : encodeTools(tools.list, true, quiet).map(echoedTool),
    top_logprobs: output?.logprobs ?? clientExtra.top_logprobs ?? 0,
    top_p: sampling?.topP ?? 1,
    truncation: clientExtra.truncation ?? 'disabled',
  }
  put(out, 'user', user?.id)
  return out
}

/** Returns a tool as a response echoes it: clients expect every key of a function. */
const echoedTool = (tool: JsonObject): JsonObject =>
  tool.type === 'function' ? { description: null, parameters: null, strict: null, ...tool } : tool

function instructionsOf({ turns }: ModelRequest): string | null {
  const [first] = turns
  const [part] = first?.parts ?? []
  return first?.at === instructionsPointer && part?.type === 'text' ? part.text : null
}

function encodeTextSettings(output: ModelRequest['output']): JsonObject {
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
