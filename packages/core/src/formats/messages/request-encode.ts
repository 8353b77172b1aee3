import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type { ModelRequest, Nothing, Output, PromptCache, Sampling, Tool } from '../ir.ts'
import { createToolIds, shortenToolNames, type ToolIds } from '../shared/names.ts'
import { reportLifetimes } from '../shared/prompt-cache.ts'
import { fieldPointer, isWrittenIn, loss, ownExtra } from '../shared/report.ts'
import { applySettingsChanges, hasChanges } from '../shared/settings-changes.ts'
import { cacheControl } from './cache.ts'
import { hasThread, threadRefused } from './error.ts'
import { callIds, fieldPointers, toolNames } from './fields.ts'
import { defaultMaxTokens, encodeThinking, lowerOutputSchema, type ModelTraits, modelTraits } from './models.ts'
import { type BlockContext, encodeConversation } from './request-encode-turns.ts'
import { acceptedChanges } from './settings-changes.ts'
import { encodeTool, encodeTools, isListed } from './tools.ts'

type EncodeContext = CodecContext & { readonly target: TargetTraits }

/** Reports a loss at a field, named as in the IR. */
type ReportLoss = (
  field: string,
  detail: string,
  ...kind: [kind?: Parameters<typeof loss>[2], severity?: Parameters<typeof loss>[3]]
) => void

/** Encodes a request. It handles every field of the IR: a field added to the IR does not compile until it is handled here. */
export function encodeRequest(requested: ModelRequest, context: EncodeContext): JsonObject {
  const isSameFormat = isWrittenIn(requested, fieldPointers)
  const traits = modelTraits(context.target)
  const namesTools = usesTools(requested)
  const named = namesTools ? shortenToolNames(requested, toolNames, context.report) : requested
  // Changes of settings that a client wrote in the messages format go to the upstream unchanged.
  const request =
    (isSameFormat && traits.systemTurns) || !hasChanges(named)
      ? named
      : applySettingsChanges(named, acceptedChanges(context.target), 'messages', context.report)
  const {
    model: _,
    turns,
    stream,
    sampling = {},
    tools,
    reasoning: _reasoning,
    output,
    user,
    metadata,
    serviceTier,
    cache,
    extra,
    at,
    ...rest
  } = request
  rest satisfies Nothing
  const { report, target } = context
  const reportLoss: ReportLoss = (field, detail, ...kind) =>
    report.add(loss(fieldPointer(field, at, undefined), detail, ...kind))

  const extraFields = ownExtra(extra, 'messages', '', report)
  if (extraFields !== undefined && hasThread(extraFields) && target.quirks.threads !== true) throw threadRefused()
  const { newId, now } = context
  const listed = hasChanges(request) ? (tools?.list ?? []) : []
  const offered = new Set(listed.flatMap((tool) => (tool.type !== 'native' && isListed(tool) ? [tool.name] : [])))
  const encode = (tool: Tool): JsonObject[] => encodeTool(tool, traits, isSameFormat, context)
  const blocks: BlockContext = {
    report,
    newId,
    now,
    upstream: 'messages',
    // Not a getter: an accessor defined per call costs a third of a small call.
    ids: namesTools ? createToolIds(turns, callIds) : noToolIds,
    tools: { isSameFormat, offered, encode },
  }
  const conversation = encodeConversation(turns, traits, blocks)
  const out: JsonObject = { ...extraFields, model: target.model }
  put(out, 'system', conversation.system)
  out.messages = conversation.messages
  const maxTokens = cache?.prewarm === true ? 0 : encodeMaxTokens(sampling, target, traits, reportLoss)
  out.max_tokens = maxTokens
  if (stream) out.stream = true
  const isToolForced = tools === undefined ? false : encodeTools(tools, out, request, traits, context)
  const conditions = { maxTokens, isToolForced, lacksReasoning: conversation.lacksReasoning }
  const isThinking = encodeThinking(request, out, traits, conditions, context)
  encodeSampling(sampling, out, traits, isThinking, reportLoss)
  if (output !== undefined) encodeOutput(output, out, request, traits, reportLoss)
  // Some formats ask for the number of alternatives in a separate field.
  if ((output?.logprobs ?? 0) > 0 && at?.['output.topLogprobs'] !== undefined)
    reportLoss('output.topLogprobs', 'messages gives no log probabilities')
  encodeUser(user, out, reportLoss)
  if (metadata !== undefined)
    reportLoss('metadata', 'messages stores no metadata except the user id', 'unsupported', 'note')
  if (serviceTier !== undefined) encodeTier(serviceTier, out, reportLoss)
  reportLifetimes(request, report)
  if (cache !== undefined) encodeCache(cache, hasCacheHint(request), out, reportLoss)
  return out
}

const hasCacheHint = ({ turns, tools }: ModelRequest): boolean =>
  turns.some(({ cache, parts }) => cache !== undefined || parts.some((part) => part.cache !== undefined)) ||
  tools?.list.some((tool) => tool.cache !== undefined) === true

function encodeCache(cache: PromptCache, isHinted: boolean, out: JsonObject, reportLoss: ReportLoss): void {
  const { automatic, ttl, prewarm, isBreakpoint: _, ...rest } = cache
  rest satisfies Nothing
  if (ttl === '30m' || ttl === '12h')
    reportLoss('cache.ttl', `messages caches for five minutes or an hour, not for '${ttl}'`, 'approximated', 'note')
  // Without a mark nothing would be cached.
  if (automatic === true || (prewarm === true && !isHinted)) out.cache_control = cacheControl(cache)
}

/** Ids of a request without tool calls. */
const noToolIds: ToolIds = { ofCall: (id) => id, ofResult: (id) => id }

/** Returns whether a request names tools. Many name none, and need no check of names. */
const usesTools = ({ tools, turns }: ModelRequest): boolean =>
  tools !== undefined ||
  turns.some(({ parts }) => parts.some(({ type }) => type === 'tool-call' || type === 'tool-result'))

/**
 * Returns `max_tokens`, which the format requires. A value that the client did not set is reported when a response ends at it
 * (`reportDefaultMaxTokens`).
 */
function encodeMaxTokens(
  sampling: Sampling,
  target: TargetTraits,
  traits: ModelTraits,
  reportLoss: ReportLoss,
): number {
  const { maxTokens } = sampling
  if (maxTokens === undefined) return defaultMaxTokens(target, traits)
  if (traits.maxTokens === undefined || maxTokens <= traits.maxTokens) return maxTokens
  reportLoss('sampling.maxTokens', `the model generates at most ${traits.maxTokens} tokens`, 'clamped')
  return traits.maxTokens
}

function encodeSampling(
  sampling: Sampling,
  out: JsonObject,
  traits: ModelTraits,
  isThinking: boolean,
  reportLoss: ReportLoss,
): void {
  const {
    temperature,
    topP,
    topK,
    seed,
    logitBias,
    presencePenalty,
    frequencyPenalty,
    stop,
    maxTokens: _,
    choices,
    ...rest
  } = sampling
  rest satisfies Nothing
  encodeRandomness({ temperature, topP, topK }, out, traits, isThinking, reportLoss)
  if (stop !== undefined) {
    const sequences = stop.filter((sequence) => sequence.trim() !== '')
    if (sequences.length < stop.length)
      reportLoss('sampling.stop', 'stop sequences that consist of blanks are rejected upstream')
    if (sequences.length > 0) out.stop_sequences = sequences
  }
  if (seed !== undefined) reportLoss('sampling.seed', 'messages has no seed')
  if (logitBias !== undefined && Object.keys(logitBias).length > 0)
    reportLoss('sampling.logitBias', 'messages has no logit bias')
  // Zero is the default.
  if (presencePenalty) reportLoss('sampling.presencePenalty', 'messages has no presence penalty')
  if (frequencyPenalty) reportLoss('sampling.frequencyPenalty', 'messages has no frequency penalty')
  if (choices !== undefined && choices > 1)
    reportLoss('sampling.choices', `messages returns one response, not ${choices}`, 'unsupported', 'fatal')
}

type Randomness = { [K in 'temperature' | 'topP' | 'topK']: number | undefined }

/** Encodes the sampling fields that the model accepts in this request. A field at its default value is left out without a report. */
export function encodeRandomness(
  wanted: Randomness,
  out: JsonObject,
  traits: ModelTraits,
  isThinking: boolean,
  reportLoss: ReportLoss,
): void {
  let { temperature, topP, topK } = wanted
  const drop = (field: keyof Randomness, detail: string): void => reportLoss(`sampling.${field}`, detail)
  if (temperature !== undefined && temperature > 1) {
    reportLoss('sampling.temperature', `messages accepts temperatures up to 1, not ${temperature}`, 'clamped')
    temperature = 1
  }
  const why =
    traits.sampling === 'none'
      ? 'the model does not accept this setting'
      : isThinking
        ? 'it cannot be combined with thinking'
        : undefined
  if (why !== undefined) {
    if (temperature !== undefined && temperature !== 1) {
      drop('temperature', why)
      temperature = undefined
    }
    if (topK !== undefined) {
      drop('topK', why)
      topK = undefined
    }
    if (topP !== undefined && topP !== 1 && (traits.sampling === 'none' || topP < 0.95)) {
      drop('topP', why)
      topP = undefined
    }
  }
  if (traits.sampling !== 'any' && temperature !== undefined && topP !== undefined) {
    if (topP === 1) topP = undefined
    else if (temperature === 1) temperature = undefined
    else {
      drop('topP', 'the model accepts temperature or top_p, not both')
      topP = undefined
    }
  }
  put(out, 'temperature', temperature)
  put(out, 'top_p', topP)
  put(out, 'top_k', topK)
}

function encodeOutput(
  output: Output,
  out: JsonObject,
  request: ModelRequest,
  traits: ModelTraits,
  reportLoss: ReportLoss,
): void {
  // Responses always carry usage.
  const { format, modalities, audio, logprobs, verbosity, includeUsage: _, ...rest } = output
  rest satisfies Nothing
  if (format?.type === 'json') encodeFormat(format, out, request, traits, reportLoss)
  const other = modalities?.filter((modality) => modality !== 'text') ?? []
  if (other.length > 0) reportLoss('output.modalities', `the model responds in text, not in ${other.join(', ')}`)
  if (audio !== undefined) reportLoss('output.audio', 'the model has no audio output')
  if (logprobs !== undefined) reportLoss('output.logprobs', 'messages gives no log probabilities')
  if (verbosity !== undefined && verbosity !== 'medium') reportLoss('output.verbosity', 'messages has no verbosity')
}

function encodeFormat(
  format: Extract<NonNullable<Output['format']>, { type: 'json' }>,
  out: JsonObject,
  request: ModelRequest,
  traits: ModelTraits,
  reportLoss: ReportLoss,
): void {
  const { type: _, schema, name, description, strict, ...rest } = format
  rest satisfies Nothing
  if (schema === undefined) {
    reportLoss('output.format', 'messages has no JSON mode without a schema')
    return
  }
  if (!traits.structured) {
    reportLoss('output.format', 'the model accepts no output schema')
    return
  }
  for (const [key, value] of Object.entries({ name, description }))
    if (value !== undefined)
      reportLoss(`output.format.${key}`, `a schema has no ${key} in messages`, 'approximated', 'note')
  if (strict === false)
    reportLoss('output.format.strict', 'messages always enforces the schema', 'approximated', 'note')
  const sent = isWrittenIn(request, fieldPointers)
    ? schema
    : lowerFormat(schema, fieldPointer('output.format', request.at, undefined), reportLoss)
  if (sent === undefined) return
  const config = isObject(out.output_config) ? out.output_config : {}
  const existing = isObject(config.format) ? config.format : undefined
  out.output_config = { ...config, format: { ...existing, type: 'json_schema', schema: sent } }
}

/** Lowers a schema of another format to Anthropic's JSON Schema, which rejects keywords that it cannot enforce. */
function lowerFormat(schema: JsonObject, at: string, reportLoss: ReportLoss): JsonObject | undefined {
  const { schema: lowered, unenforced, changed, circular } = lowerOutputSchema(schema, at)
  if (circular) {
    reportLoss('output.format', 'messages accepts no schema that refers to itself: it is not sent')
    return undefined
  }
  if (unenforced.length > 0)
    reportLoss(
      'output.format',
      `parts of the schema are described, not enforced: ${unenforced.join(', ')}`,
      'approximated',
    )
  if (changed.length > 0)
    reportLoss(
      'output.format',
      `the schema is enforced in a narrower form: ${changed.join('; ')}`,
      'approximated',
      'note',
    )
  return lowered
}

/** Maximum length of `metadata.user_id`, in characters. */
const longestUserId = 512

function encodeUser(user: ModelRequest['user'], out: JsonObject, reportLoss: ReportLoss): void {
  if (user === undefined) return
  const { id, cacheKey, safetyId, ...rest } = user
  rest satisfies Nothing
  const userId = id ?? safetyId
  if (userId !== undefined && userId.length > longestUserId)
    reportLoss(
      id === undefined ? 'user.safetyId' : 'user.id',
      `messages accepts user ids of up to ${longestUserId} characters; this one has ${userId.length} and is not sent`,
      'unsupported',
      'note',
    )
  else if (userId !== undefined)
    out.metadata = { ...(isObject(out.metadata) ? out.metadata : undefined), user_id: userId }
  if (id !== undefined && safetyId !== undefined && id !== safetyId)
    reportLoss('user.safetyId', 'messages has one field for the id of the user', 'unsupported', 'note')
  if (cacheKey !== undefined)
    reportLoss('user.cacheKey', 'messages has no field for a cache key', 'unsupported', 'note')
}

function encodeTier(tier: string, out: JsonObject, reportLoss: ReportLoss): void {
  if (tier === 'auto') out.service_tier = 'auto'
  else if (tier === 'default') out.service_tier = 'standard_only'
  else if (tier === 'fast') out.speed = 'fast'
  else reportLoss('serviceTier', `messages has no service tier '${tier.slice(0, 40)}'`)
}
