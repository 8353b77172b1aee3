import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { ModelRequest, Nothing, Output, Reasoning, Sampling, Turn } from '../ir.ts'
import { effortOfBudget } from '../shared/model-rules.ts'
import { shortenToolNames } from '../shared/names.ts'
import { fieldPointer, loss, ownExtra } from '../shared/report.ts'
import { applySettingsChanges } from '../shared/settings-changes.ts'
import { includes, isOwnClient, sealsPlace, summaries, toolNames } from './fields.ts'
import { encodeFormat } from './output-format.ts'
import { type EncodeContext, encodeInputItems } from './request-encode-turns.ts'
import { acceptedChanges } from './settings-changes.ts'
import { encodeChoice, encodeTools } from './tools.ts'

/** Every field of the request gets an answer here: a field added to the IR does not compile until it has one. */
export function encodeRequest(asked: ModelRequest, context: EncodeContext): JsonObject {
  const named = shortenToolNames(asked, toolNames, context.report)
  // What a client of this format wrote is between it and the upstream.
  const request = isOwnClient(asked)
    ? named
    : applySettingsChanges(named, acceptedChanges(context.target), 'responses', context.report)
  const {
    model: _,
    turns,
    stream,
    sampling,
    tools,
    reasoning,
    output,
    user,
    metadata,
    serviceTier,
    extra,
    at: _at,
    ...rest
  } = request
  rest satisfies Nothing
  const own = ownExtra(extra, 'responses', '', context.report)
  const out: JsonObject = { ...own, model: context.target.model }
  writeConversation(turns, out, request, context)
  if (sampling !== undefined) writeSampling(sampling, out, request, context)
  if (tools !== undefined) writeTools(tools, out, request, context)
  if (reasoning !== undefined) writeReasoning(reasoning, out, request, context)
  if (output !== undefined) writeOutput(output, out, request, context)
  if (user !== undefined) writeUserIds(user, out, request, context)
  put(out, 'metadata', metadata)
  put(out, 'service_tier', serviceTier)
  if (stream) out.stream = true
  writeSealing(out, request, context)
  return out
}

const tell = (
  field: string,
  detail: string,
  kind: 'unsupported' | 'approximated' | 'clamped',
  severity: 'fatal' | 'warn' | 'note',
  request: ModelRequest,
  context: EncodeContext,
): void => context.report.add(loss(fieldPointer(field, request.at, undefined), detail, kind, severity))

const instructionsPlace = '/instructions'

/** Instructions are written as such only if they were: not every server takes them, and every one takes system items. */
function writeConversation(
  turns: readonly Turn[],
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  const [first] = turns
  const [part] = first?.parts ?? []
  const asInstructions = first?.at === instructionsPlace && part?.type === 'text'
  if (asInstructions) out.instructions = part.text
  const rest = asInstructions ? turns.slice(1) : turns
  // A stored prompt or conversation may be all there is.
  if (rest.length > 0 || !isOwnClient(request)) out.input = plainInput(rest) ?? encodeInputItems(rest, request, context)
}

/** The one text that a client wrote in place of items. */
function plainInput(turns: readonly Turn[]): string | undefined {
  const [only, second] = turns
  if (only === undefined || second !== undefined || only.at !== '/input') return undefined
  const [part, more] = only.parts
  if (part === undefined) return ''
  return part.type === 'text' && more === undefined ? part.text : undefined
}

/** Smaller bounds are refused: there must be room for an answer's frame. */
const leastOutput = 16

function writeSampling(sampling: Sampling, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  const {
    temperature,
    topP,
    topK,
    seed,
    logitBias,
    presencePenalty,
    frequencyPenalty,
    stop,
    maxTokens,
    choices,
    ...rest
  } = sampling
  rest satisfies Nothing
  put(out, 'temperature', temperature)
  put(out, 'top_p', topP)
  const mine = isOwnClient(request)
  const least = mine ? 0 : leastOutput
  if (maxTokens !== undefined) out.max_output_tokens = Math.max(maxTokens, least)
  if (maxTokens !== undefined && maxTokens < least)
    tell(
      'sampling.maxTokens',
      `responses takes ${least} or more; ${least} is sent`,
      'clamped',
      'warn',
      request,
      context,
    )
  const missing = { topK, seed, logitBias, stop, presencePenalty, frequencyPenalty }
  for (const [field, value] of Object.entries(missing)) {
    if (value === undefined) continue
    if (mine && field === 'presencePenalty') out.presence_penalty = value as number
    else if (mine && field === 'frequencyPenalty') out.frequency_penalty = value as number
    else tell(`sampling.${field}`, 'responses has no such field', 'unsupported', 'warn', request, context)
  }
  if (choices !== undefined && choices > 1)
    tell('sampling.choices', `responses gives one answer, not ${choices}`, 'unsupported', 'fatal', request, context)
}

function writeTools(
  tools: NonNullable<ModelRequest['tools']>,
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  const { list, choice, parallel, ...rest } = tools
  rest satisfies Nothing
  const mine = isOwnClient(request)
  const encoded = encodeTools(list, mine, context)
  if (encoded.length > 0) out.tools = encoded
  if (encoded.length > 0 || mine) put(out, 'parallel_tool_calls', parallel)
  if (choice === undefined) return
  if (encoded.length > 0 || mine || list.some(({ deferred }) => deferred)) out.tool_choice = encodeChoice(choice, tools)
  else if (choice === 'required' || typeof choice === 'object')
    tell('tools.choice', 'no tool is left that could be chosen', 'unsupported', 'warn', request, context)
}

function writeReasoning(reasoning: Reasoning, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = reasoning
  rest satisfies Nothing
  const object: JsonObject = isObject(out.reasoning) ? { ...out.reasoning } : {}
  const wanted = off ? 'none' : (effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens)))
  put(object, 'effort', wanted)
  const shown = summaries.find((word) => word === summary)
  put(object, 'summary', shown)
  if (Object.keys(object).length > 0) out.reasoning = object
  if (budgetTokens !== undefined)
    tell(
      'reasoning.budgetTokens',
      `a budget of ${budgetTokens} tokens is sent as the effort '${wanted}'`,
      'approximated',
      'warn',
      request,
      context,
    )
  if (adaptive && wanted === undefined)
    tell(
      'reasoning.adaptive',
      'how much to reason is left to the model, as it is by default',
      'approximated',
      'note',
      request,
      context,
    )
  if (off) tell('reasoning.off', "sent as the effort 'none'", 'approximated', 'note', request, context)
  if (off && effort !== undefined && effort !== 'none')
    tell('reasoning.effort', `reasoning is off, so '${effort}' is not sent`, 'approximated', 'note', request, context)
}

function writeOutput(output: Output, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  // Usage comes with the end of every stream.
  const { format, modalities, audio, logprobs, verbosity, includeUsage: _, ...rest } = output
  rest satisfies Nothing
  const text: JsonObject = isObject(out.text) ? { ...out.text } : {}
  if (format !== undefined)
    text.format = encodeFormat(format, isObject(text.format) ? text.format : {}, request, context)
  put(text, 'verbosity', verbosity)
  if (Object.keys(text).length > 0) out.text = text
  if (logprobs !== undefined) {
    out.include = [...(Array.isArray(out.include) ? out.include : []), includes.logprobs]
    if (logprobs > 0) out.top_logprobs = logprobs
  }
  const other = modalities?.filter((modality) => modality !== 'text') ?? []
  if (other.length > 0)
    tell(
      'output.modalities',
      `responses answers in text, not in ${other.join(', ')}`,
      'unsupported',
      'warn',
      request,
      context,
    )
  if (audio !== undefined) tell('output.audio', 'responses does not speak', 'unsupported', 'warn', request, context)
}

/** OpenAI refuses longer ids of users; those of some clients are whole JSON texts. */
const longestUserId = 64

function writeUserIds(
  user: NonNullable<ModelRequest['user']>,
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  const { id, cacheKey, safetyId, ...rest } = user
  rest satisfies Nothing
  if (id === undefined || id.length <= longestUserId || isOwnClient(request)) put(out, 'user', id)
  else
    tell(
      'user.id',
      `responses takes ids of users up to ${longestUserId} characters; this one has ${id.length} and is not sent`,
      'unsupported',
      'note',
      request,
      context,
    )
  put(out, 'prompt_cache_key', cacheKey)
  put(out, 'safety_identifier', safetyId)
}

/**
 * Clients of other formats keep the conversation themselves and expect nobody else to: nothing is stored, and reasoning
 * comes sealed, so that it can be sent back. A client of this format has said itself what it wants.
 */
function writeSealing(out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  const mine = isOwnClient(request)
  if (!mine) out.store ??= false
  const { model, quirks, modelRule } = context.target
  const reasoning = modelRule?.efforts === undefined ? reasons(model) : modelRule.efforts.length > 0
  const wanted = mine ? request.at?.[sealsPlace] !== undefined : (quirks.sealedReasoning ?? reasoning)
  if (wanted) out.include = [includes.sealedReasoning, ...(Array.isArray(out.include) ? out.include : [])]
}

/** Models that do not reason refuse the call if sealed reasoning is asked for. */
const speakers = /(^|[/.:])(gpt-(3|4)|chatgpt|davinci|babbage)|-chat(-|$)|non-reasoning/
const reasons = (model: string): boolean => !speakers.test(model.toLowerCase())
