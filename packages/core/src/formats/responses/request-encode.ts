import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { ModelRequest, Nothing, Output, Reasoning, Sampling, Turn } from '../ir.ts'
import { effortOfBudget } from '../shared/model-rules.ts'
import { shortenToolNames } from '../shared/names.ts'
import { encodeCacheOptions, reportPrewarm } from '../shared/prompt-cache.ts'
import { fieldPointer, loss, ownExtra } from '../shared/report.ts'
import { applySettingsChanges } from '../shared/settings-changes.ts'
import {
  includeValues,
  instructionsPointer,
  isResponsesClient,
  reasoningSummaries,
  sealedReasoningKey,
  toolNames,
} from './fields.ts'
import { encodeFormat } from './output-format.ts'
import { type EncodeContext, encodeInputItems } from './request-encode-turns.ts'
import { acceptedChanges } from './settings-changes.ts'
import { encodeChoice, encodeTools } from './tools.ts'

/** Encodes every field of a request: `satisfies Nothing` fails to compile for a new IR field until it is handled. */
export function encodeRequest(original: ModelRequest, context: EncodeContext): JsonObject {
  const shortened = shortenToolNames(original, toolNames, context.report)
  // A client of this format sends its settings to the upstream unchanged.
  const request = isResponsesClient(original)
    ? shortened
    : applySettingsChanges(shortened, acceptedChanges(context.target), 'responses', context.report)
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
    cache,
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
  if (cache?.isBreakpoint !== true) reportPrewarm(request, 'the model', context.report)
  if (cache !== undefined)
    encodeCacheOptions(out, cache, fieldPointer('cache.ttl', request.at, undefined), context.report)
  if (stream) out.stream = true
  writeSealing(out, request, context)
  return out
}

const reportFieldLoss = (
  field: string,
  detail: string,
  kind: 'unsupported' | 'approximated' | 'clamped',
  severity: 'fatal' | 'warn' | 'note',
  request: ModelRequest,
  context: EncodeContext,
): void => context.report.add(loss(fieldPointer(field, request.at, undefined), detail, kind, severity))

/** Writes `instructions` only if the client did: not every server accepts them, and every server accepts system items. */
function writeConversation(
  turns: readonly Turn[],
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  const [first] = turns
  const [part] = first?.parts ?? []
  const asInstructions = first?.at === instructionsPointer && part?.type === 'text'
  if (asInstructions) out.instructions = part.text
  const rest = asInstructions ? turns.slice(1) : turns
  // A stored prompt or conversation may replace the input.
  if (rest.length > 0 || !isResponsesClient(request))
    out.input = plainInput(rest) ?? encodeInputItems(rest, request, context)
}

/** Returns the text that a client wrote in place of items. */
function plainInput(turns: readonly Turn[]): string | undefined {
  const [only, second] = turns
  if (only === undefined || second !== undefined || only.at !== '/input') return undefined
  const [part, more] = only.parts
  if (part === undefined) return ''
  return part.type === 'text' && more === undefined ? part.text : undefined
}

/** OpenAI rejects smaller values of `max_output_tokens`. */
const minOutputTokens = 16

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
  const fromResponsesClient = isResponsesClient(request)
  const minimum = fromResponsesClient ? 0 : minOutputTokens
  if (maxTokens !== undefined) out.max_output_tokens = Math.max(maxTokens, minimum)
  if (maxTokens !== undefined && maxTokens < minimum)
    reportFieldLoss(
      'sampling.maxTokens',
      `responses requires at least ${minimum}; ${minimum} is sent`,
      'clamped',
      'warn',
      request,
      context,
    )
  const missing = { topK, seed, logitBias, stop, presencePenalty, frequencyPenalty }
  for (const [field, value] of Object.entries(missing)) {
    if (value === undefined) continue
    if (fromResponsesClient && field === 'presencePenalty') out.presence_penalty = value as number
    else if (fromResponsesClient && field === 'frequencyPenalty') out.frequency_penalty = value as number
    else reportFieldLoss(`sampling.${field}`, 'responses has no such field', 'unsupported', 'warn', request, context)
  }
  if (choices !== undefined && choices > 1)
    reportFieldLoss(
      'sampling.choices',
      `responses returns one response, not ${choices}`,
      'unsupported',
      'fatal',
      request,
      context,
    )
}

function writeTools(
  tools: NonNullable<ModelRequest['tools']>,
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  const { list, choice, parallel, ...rest } = tools
  rest satisfies Nothing
  const fromResponsesClient = isResponsesClient(request)
  const encoded = encodeTools(list, fromResponsesClient, context)
  if (encoded.length > 0) out.tools = encoded
  if (encoded.length > 0 || fromResponsesClient) put(out, 'parallel_tool_calls', parallel)
  if (choice === undefined) return
  if (encoded.length > 0 || fromResponsesClient || list.some(({ deferred }) => deferred))
    out.tool_choice = encodeChoice(choice, tools)
  else if (choice === 'required' || typeof choice === 'object')
    reportFieldLoss('tools.choice', 'no tool is left to choose', 'unsupported', 'warn', request, context)
}

function writeReasoning(reasoning: Reasoning, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = reasoning
  rest satisfies Nothing
  const object: JsonObject = isObject(out.reasoning) ? { ...out.reasoning } : {}
  const requested = off ? 'none' : (effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens)))
  put(object, 'effort', requested)
  const shown = reasoningSummaries.find((word) => word === summary)
  put(object, 'summary', shown)
  if (Object.keys(object).length > 0) out.reasoning = object
  if (budgetTokens !== undefined)
    reportFieldLoss(
      'reasoning.budgetTokens',
      `a budget of ${budgetTokens} tokens is sent as the effort '${requested}'`,
      'approximated',
      'warn',
      request,
      context,
    )
  if (adaptive && requested === undefined)
    reportFieldLoss(
      'reasoning.adaptive',
      'not sent: the model decides how much it reasons, which is the default',
      'approximated',
      'note',
      request,
      context,
    )
  if (off) reportFieldLoss('reasoning.off', "sent as the effort 'none'", 'approximated', 'note', request, context)
  if (off && effort !== undefined && effort !== 'none')
    reportFieldLoss(
      'reasoning.effort',
      `reasoning is off, so '${effort}' is not sent`,
      'approximated',
      'note',
      request,
      context,
    )
}

function writeOutput(output: Output, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  // Every stream ends with usage, so `includeUsage` needs no field.
  const { format, modalities, audio, logprobs, verbosity, includeUsage: _, ...rest } = output
  rest satisfies Nothing
  const text: JsonObject = isObject(out.text) ? { ...out.text } : {}
  if (format !== undefined)
    text.format = encodeFormat(format, isObject(text.format) ? text.format : {}, request, context)
  put(text, 'verbosity', verbosity)
  if (Object.keys(text).length > 0) out.text = text
  if (logprobs !== undefined) {
    out.include = [...(Array.isArray(out.include) ? out.include : []), includeValues.logprobs]
    if (logprobs > 0) out.top_logprobs = logprobs
  }
  const other = modalities?.filter((modality) => modality !== 'text') ?? []
  if (other.length > 0)
    reportFieldLoss(
      'output.modalities',
      `responses returns text, not ${other.join(', ')}`,
      'unsupported',
      'warn',
      request,
      context,
    )
  if (audio !== undefined)
    reportFieldLoss('output.audio', 'responses has no audio output', 'unsupported', 'warn', request, context)
}

/** OpenAI rejects longer user ids. Some clients send whole JSON texts. */
const maxUserIdLength = 64

function writeUserIds(
  user: NonNullable<ModelRequest['user']>,
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  const { id, cacheKey, safetyId, ...rest } = user
  rest satisfies Nothing
  if (id === undefined || id.length <= maxUserIdLength || isResponsesClient(request)) put(out, 'user', id)
  else
    reportFieldLoss(
      'user.id',
      `responses accepts user ids of up to ${maxUserIdLength} characters; this one has ${id.length} and is not sent`,
      'unsupported',
      'note',
      request,
      context,
    )
  put(out, 'prompt_cache_key', cacheKey)
  put(out, 'safety_identifier', safetyId)
}

/**
 * Clients of other formats keep the conversation themselves: storage is switched off, and reasoning is requested sealed,
 * so that they can send it back. A client of this format sets both itself.
 */
function writeSealing(out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  const fromResponsesClient = isResponsesClient(request)
  if (!fromResponsesClient) out.store ??= false
  const { model, quirks, modelRule } = context.target
  const reasoning = modelRule?.efforts === undefined ? canReason(model) : modelRule.efforts.length > 0
  const requested = fromResponsesClient
    ? request.at?.[sealedReasoningKey] !== undefined
    : (quirks.sealedReasoning ?? reasoning)
  if (requested) out.include = [includeValues.sealedReasoning, ...(Array.isArray(out.include) ? out.include : [])]
}

/** Models without reasoning reject a request for sealed reasoning. */
const nonReasoningModels = /(^|[/.:])(gpt-(3|4)|chatgpt|davinci|babbage)|-chat(-|$)|non-reasoning/
const canReason = (model: string): boolean => !nonReasoningModels.test(model.toLowerCase())
