import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { ModelRequest, Nothing, Output, PromptCache, Reasoning, Sampling } from '../ir.ts'
import { effortOfBudget } from '../shared/model-rules.ts'
import { shortenToolNames } from '../shared/names.ts'
import { encodeCacheOptions, reportCacheSettings, reportPrewarm } from '../shared/prompt-cache.ts'
import { fieldPointer, isWrittenIn, loss, ownExtra } from '../shared/report.ts'
import { applySettingsChanges } from '../shared/settings-changes.ts'
import { fieldPointers, toolNames } from './fields.ts'
import { applyQuirks } from './quirks.ts'
import { enforce } from './strict-schema.ts'
import { encodeChoice, encodeFunctions, encodeTool, usesFunctions } from './tools.ts'
import { type EncodeContext, encodeTurns } from './turn-encode.ts'

/** Maximum of stop sequences in a chat request. */
const maxStops = 4

/** Encodes a request. A new IR field does not compile until it is handled here. */
export function encodeRequest(modelRequest: ModelRequest, context: EncodeContext): JsonObject {
  const request = applySettingsChanges(
    shortenToolNames(modelRequest, toolNames, context.report),
    {},
    'chat',
    context.report,
  )
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
  const own = ownExtra(extra, 'chat', '', context.report)
  const messages = encodeTurns(turns, context)
  const out: JsonObject = { ...own, model: context.target.model, messages }
  if (sampling !== undefined) encodeSampling(sampling, out, request, context)
  if (tools !== undefined) encodeTools(tools, out, request, context)
  if (reasoning !== undefined) encodeReasoningWish(reasoning, out, request, context)
  if (output !== undefined) encodeOutput(output, out, request, context)
  if (user !== undefined) encodeUserIds(user, out, request, context)
  put(out, 'metadata', metadata)
  put(out, 'service_tier', serviceTier)
  if (cache !== undefined) encodeCacheSettings(cache, out, request, context)
  if (stream) {
    out.stream = true
    // Always requested for metering. The response encoder shows usage only to clients that requested it.
    if ((context.target.quirks.streamOptions ?? true) === true)
      out.stream_options = { ...(isObject(out.stream_options) ? out.stream_options : undefined), include_usage: true }
    else if (output?.includeUsage && context.target.quirks.streamOptions === false)
      note('output.includeUsage', 'the upstream does not accept stream_options; usage may be missing', request, context)
  }
  return fitted(out, request, context)
}

/** Applies the upstream's quirks. */
function fitted(body: JsonObject, request: ModelRequest, context: EncodeContext): JsonObject {
  const { set, drop, idle, losses } = applyQuirks(body, context.target.quirks)
  for (const entry of losses) context.report.add({ ...entry, path: placeOf(entry.path, request) })
  const unfit = [...drop, ...idle]
  if (unfit.length === 0 && Object.keys(set).length === 0) return body
  const out: JsonObject = { ...body, ...set }
  for (const field of unfit) if (!Object.hasOwn(set, field)) delete out[field]
  return out
}

/** Maps a path of the chat body to the client's body. Messages may differ from the client's. */
function placeOf(path: string, { at }: ModelRequest): string {
  const [, first = ''] = path.split('/')
  const own = at?.turns === undefined || at.turns === fieldPointers.turns
  if (first === 'messages') return own ? path : (at?.turns ?? path)
  const field = Object.entries(fieldPointers).find(([name, place]) => place === `/${first}` && name.includes('.'))?.[0]
  return field === undefined ? path : fieldPointer(field, at, undefined)
}

function note(field: string, detail: string, request: ModelRequest, context: EncodeContext): void {
  context.report.add(loss(fieldPointer(field, request.at, undefined), detail, 'approximated', 'note'))
}

function encodeSampling(sampling: Sampling, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
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
  if (topK !== undefined && context.target.quirks.topK) out.top_k = topK
  else if (topK !== undefined)
    context.report.add(loss(fieldPointer('sampling.topK', request.at, undefined), 'chat completions has no top_k'))
  put(out, 'seed', seed)
  put(out, 'logit_bias', logitBias)
  put(out, 'presence_penalty', presencePenalty)
  put(out, 'frequency_penalty', frequencyPenalty)
  if (stop !== undefined) out.stop = stop.slice(0, maxStops)
  if (stop !== undefined && stop.length > maxStops)
    context.report.add(
      loss(
        fieldPointer('sampling.stop', request.at, undefined),
        `chat completions accepts ${maxStops} stop sequences; the last ${stop.length - maxStops} are not sent`,
        'clamped',
      ),
    )
  const { maxTokensField = 'max_completion_tokens' } = context.target.quirks
  put(out, maxTokensField === 'either' ? 'max_tokens' : maxTokensField, maxTokens)
  put(out, 'n', choices)
}

function encodeTools(
  tools: NonNullable<ModelRequest['tools']>,
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  const { list, choice, parallel, ...rest } = tools
  rest satisfies Nothing
  put(out, 'parallel_tool_calls', parallel)
  if (usesFunctions(request)) {
    encodeFunctions(out, list, choice, context)
    return
  }
  const isOwn = isWrittenIn(request, fieldPointers)
  const encoded = list.map((tool) => encodeTool(tool, context.target.quirks, isOwn, context)).filter(isObject)
  // Most servers reject an empty list, which equals no list.
  if (encoded.length > 0) out.tools = encoded
  else delete out.parallel_tool_calls
  if (choice === undefined) return
  if (encoded.length > 0 || (typeof choice === 'object' && list.length === 0))
    out.tool_choice = encodeChoice(choice, list)
  else if (choice === 'required' || typeof choice === 'object')
    context.report.add(loss(fieldPointer('tools.choice', request.at, undefined), 'no tool is left to choose'))
}

function encodeReasoningWish(
  reasoning: Reasoning,
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = reasoning
  rest satisfies Nothing
  const object: JsonObject = isObject(out.reasoning) ? { ...out.reasoning } : {}
  if (context.target.quirks.reasoningObject) {
    put(object, 'effort', effort)
    put(object, 'max_tokens', budgetTokens)
    put(object, 'summary', summary)
    if (off) object.enabled = false
    else if (adaptive && effort === undefined && budgetTokens === undefined) object.enabled = true
    out.reasoning = object
    return
  }
  const wanted = off ? 'none' : (effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens)))
  put(out, 'reasoning_effort', wanted)
  if (budgetTokens !== undefined)
    context.report.add(
      loss(
        fieldPointer('reasoning.budgetTokens', request.at, undefined),
        `a budget of ${budgetTokens} tokens is sent as the effort '${wanted}'`,
        'approximated',
      ),
    )
  if (adaptive && wanted === undefined)
    note(
      'reasoning.adaptive',
      'not sent: the model decides how much it reasons, which is the default',
      request,
      context,
    )
  if (off) note('reasoning.off', "sent as the effort 'none'", request, context)
  if (off && effort !== undefined && effort !== 'none')
    note('reasoning.effort', `reasoning is off, so '${effort}' is not sent`, request, context)
  if (summary !== undefined)
    context.report.add(
      loss(
        fieldPointer('reasoning.summary', request.at, undefined),
        'chat completions cannot request a reasoning summary',
        'unsupported',
        'note',
      ),
    )
}

function encodeOutput(output: Output, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  // `includeUsage` only decides what the client is shown: upstreams are always asked for usage.
  const { format, modalities, audio, logprobs, verbosity, includeUsage: _, ...rest } = output
  rest satisfies Nothing
  if (format !== undefined) {
    out.response_format = encodeFormat(format, out.response_format, request, context)
    if (format.type === 'json' && format.schema !== undefined && format.name === undefined)
      note('output.format', "chat completions requires a name for the schema; 'response' is sent", request, context)
  }
  put(out, 'modalities', modalities)
  put(out, 'audio', audio)
  if (logprobs !== undefined) {
    out.logprobs = true
    if (logprobs > 0) out.top_logprobs = logprobs
  }
  put(out, 'verbosity', verbosity)
}

function encodeFormat(
  format: NonNullable<Output['format']>,
  own: Json | undefined,
  request: ModelRequest,
  context: EncodeContext,
): JsonObject {
  if (format.type === 'text') return { type: 'text' }
  const { type: _, schema, name, description, strict, ...rest } = format
  rest satisfies Nothing
  if (schema === undefined && name === undefined) return { type: 'json_object' }
  const outer = isObject(own) ? own : {}
  const inner: JsonObject = { ...(isObject(outer.json_schema) ? outer.json_schema : undefined) }
  inner.name = name ?? 'response'
  put(inner, 'description', description)
  const at = fieldPointer('output.format', request.at, undefined)
  const tell = (detail: string, severity: 'warn' | 'note') =>
    context.report.add(loss(at, detail, 'approximated', severity))
  const held = isWrittenIn(request, fieldPointers) ? { schema, strict } : enforce(schema, strict, at, tell)
  put(inner, 'schema', held.schema)
  put(inner, 'strict', held.strict)
  return { ...outer, type: 'json_schema', json_schema: inner }
}

function encodeCacheSettings(
  { prewarm: _, ...cache }: PromptCache,
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  const { report, target } = context
  if (target.quirks.lacks?.prompt_cache_options !== undefined) reportCacheSettings(request, 'the upstream', report)
  else {
    reportPrewarm(request, 'chat completions', report)
    encodeCacheOptions(out, cache, fieldPointer('cache.ttl', request.at, undefined), report)
  }
}

/** OpenAI rejects longer user ids. Claude Code's id, a JSON text, has about 150 characters. */
const longestUserId = 64

function encodeUserIds(
  user: NonNullable<ModelRequest['user']>,
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  const { id, cacheKey, safetyId, ...rest } = user
  rest satisfies Nothing
  const at = fieldPointer('user.id', request.at, undefined)
  // A chat client's own value is sent unchanged.
  if (id === undefined || id.length <= longestUserId || at === fieldPointers['user.id']) put(out, 'user', id)
  else
    context.report.add(
      loss(
        at,
        `chat completions accepts user ids of up to ${longestUserId} characters; this one has ${id.length} and is not sent`,
        'unsupported',
        'note',
      ),
    )
  put(out, 'prompt_cache_key', cacheKey)
  put(out, 'safety_identifier', safetyId)
}
