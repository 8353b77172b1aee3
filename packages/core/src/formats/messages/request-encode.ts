import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type { ModelRequest, Nothing, Output, Reasoning, Sampling, Tool } from '../ir.ts'
import { effortOfBudget } from '../shared/model-rules.ts'
import { createToolIds, shortenToolNames } from '../shared/names.ts'
import { fieldPointer, isWrittenIn, loss, ownExtra } from '../shared/report.ts'
import { applySettingsChanges, hasChanges } from '../shared/settings-changes.ts'
import { hasThread, threadRefused } from './error.ts'
import { callIds, type EffortWord, fieldPointers, toolNames } from './fields.ts'
import {
  budgetOfEffort,
  defaultMaxTokens,
  lowerOutputSchema,
  type ModelTraits,
  minBudget,
  modelTraits,
  nearestEffort,
} from './models.ts'
import { type BlockContext, encodeConversation } from './request-encode-turns.ts'
import { acceptedChanges } from './settings-changes.ts'
import { encodeTool, encodeTools, isListed } from './tools.ts'

type EncodeContext = CodecContext & { readonly target: TargetTraits }

/** Reports a loss at a field, named as in the IR. */
type ReportField = (
  field: string,
  detail: string,
  ...kind: [kind?: Parameters<typeof loss>[2], severity?: Parameters<typeof loss>[3]]
) => void

/** Encodes a request. It handles every field of the IR: a field added to the IR does not compile until it is handled here. */
export function encodeRequest(requested: ModelRequest, context: EncodeContext): JsonObject {
  const isSameFormat = isWrittenIn(requested, fieldPointers)
  const traits = modelTraits(context.target)
  const named = shortenToolNames(requested, toolNames, context.report)
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
    extra,
    at,
    ...rest
  } = request
  rest satisfies Nothing
  const { report, target } = context
  const reportField: ReportField = (field, detail, ...kind) =>
    report.add(loss(fieldPointer(field, at, undefined), detail, ...kind))

  const extraFields = ownExtra(extra, 'messages', '', report)
  if (extraFields !== undefined && hasThread(extraFields) && target.quirks.threads !== true) throw threadRefused()
  const { newId, now } = context
  const listed = hasChanges(request) ? (tools?.list ?? []) : []
  const offered = new Set(listed.flatMap((tool) => (tool.type !== 'native' && isListed(tool) ? [tool.name] : [])))
  const encode = (tool: Tool): JsonObject[] => encodeTool(tool, traits, isSameFormat, context)
  const ids = createToolIds(turns, callIds)
  const blocks: BlockContext = {
    report,
    newId,
    now,
    upstream: 'messages',
    ids,
    tools: { isSameFormat, offered, encode },
  }
  const conversation = encodeConversation(turns, traits, blocks)
  const out: JsonObject = { ...extraFields, model: target.model }
  put(out, 'system', conversation.system)
  out.messages = conversation.messages
  const maxTokens = encodeMaxTokens(sampling, target, traits, reportField)
  out.max_tokens = maxTokens
  if (stream) out.stream = true
  const isToolForced = tools === undefined ? false : encodeTools(tools, out, request, traits, context)
  const conditions = { maxTokens, isToolForced, lacksReasoning: conversation.lacksReasoning }
  const isThinking = encodeThinking(request, out, traits, conditions, context)
  encodeSampling(sampling, out, traits, isThinking, reportField)
  if (output !== undefined) encodeOutput(output, out, request, traits, reportField)
  // Some formats ask for the number of alternatives in a separate field.
  if ((output?.logprobs ?? 0) > 0 && at?.['output.topLogprobs'] !== undefined)
    reportField('output.topLogprobs', 'messages gives no log probabilities')
  encodeUser(user, out, reportField)
  if (metadata !== undefined)
    reportField('metadata', 'messages stores no metadata except the user id', 'unsupported', 'note')
  if (serviceTier !== undefined) encodeTier(serviceTier, out, reportField)
  return out
}

/**
 * Returns `max_tokens`, which the format requires. A value that the client did not set is reported when a response ends at it
 * (`reportDefaultMaxTokens`).
 */
function encodeMaxTokens(
  sampling: Sampling,
  target: TargetTraits,
  traits: ModelTraits,
  reportField: ReportField,
): number {
  const { maxTokens } = sampling
  if (maxTokens === undefined) return defaultMaxTokens(target, traits)
  if (traits.maxTokens === undefined || maxTokens <= traits.maxTokens) return maxTokens
  reportField('sampling.maxTokens', `the model generates at most ${traits.maxTokens} tokens`, 'clamped')
  return traits.maxTokens
}

function encodeSampling(
  sampling: Sampling,
  out: JsonObject,
  traits: ModelTraits,
  isThinking: boolean,
  reportField: ReportField,
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
  encodeRandomness({ temperature, topP, topK }, out, traits, isThinking, reportField)
  if (stop !== undefined) {
    const sequences = stop.filter((sequence) => sequence.trim() !== '')
    if (sequences.length < stop.length)
      reportField('sampling.stop', 'stop sequences that consist of blanks are rejected upstream')
    if (sequences.length > 0) out.stop_sequences = sequences
  }
  if (seed !== undefined) reportField('sampling.seed', 'messages has no seed')
  if (logitBias !== undefined && Object.keys(logitBias).length > 0)
    reportField('sampling.logitBias', 'messages has no logit bias')
  // Zero is the default.
  if (presencePenalty) reportField('sampling.presencePenalty', 'messages has no presence penalty')
  if (frequencyPenalty) reportField('sampling.frequencyPenalty', 'messages has no frequency penalty')
  if (choices !== undefined && choices > 1)
    reportField('sampling.choices', `messages returns one response, not ${choices}`, 'unsupported', 'fatal')
}

type Randomness = { [K in 'temperature' | 'topP' | 'topK']: number | undefined }

/** Encodes the sampling fields that the model accepts in this request. A field at its default value is left out without a report. */
export function encodeRandomness(
  wanted: Randomness,
  out: JsonObject,
  traits: ModelTraits,
  isThinking: boolean,
  reportField: ReportField,
): void {
  let { temperature, topP, topK } = wanted
  const drop = (field: keyof Randomness, detail: string): void => reportField(`sampling.${field}`, detail)
  if (temperature !== undefined && temperature > 1) {
    reportField('sampling.temperature', `messages accepts temperatures up to 1, not ${temperature}`, 'clamped')
    temperature = 1
  }
  const why =
    traits.sampling === 'none'
      ? 'the model takes no such setting'
      : isThinking
        ? 'it does not go with thinking'
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
  reportField: ReportField,
): void {
  // Responses always carry usage.
  const { format, modalities, audio, logprobs, verbosity, includeUsage: _, ...rest } = output
  rest satisfies Nothing
  if (format?.type === 'json') encodeFormat(format, out, request, traits, reportField)
  const other = modalities?.filter((modality) => modality !== 'text') ?? []
  if (other.length > 0) reportField('output.modalities', `the model responds in text, not in ${other.join(', ')}`)
  if (audio !== undefined) reportField('output.audio', 'the model does not speak')
  if (logprobs !== undefined) reportField('output.logprobs', 'messages gives no log probabilities')
  if (verbosity !== undefined && verbosity !== 'medium') reportField('output.verbosity', 'messages has no verbosity')
}

function encodeFormat(
  format: Extract<NonNullable<Output['format']>, { type: 'json' }>,
  out: JsonObject,
  request: ModelRequest,
  traits: ModelTraits,
  reportField: ReportField,
): void {
  const { type: _, schema, name, description, strict, ...rest } = format
  rest satisfies Nothing
  if (schema === undefined) {
    reportField('output.format', 'messages has no JSON mode without a schema')
    return
  }
  if (!traits.structured) {
    reportField('output.format', 'the model accepts no output schema')
    return
  }
  for (const [key, value] of Object.entries({ name, description }))
    if (value !== undefined)
      reportField(`output.format.${key}`, `a schema has no ${key} in messages`, 'approximated', 'note')
  if (strict === false)
    reportField('output.format.strict', 'messages always enforces the schema', 'approximated', 'note')
  const sent = isWrittenIn(request, fieldPointers)
    ? schema
    : lowerFormat(schema, fieldPointer('output.format', request.at, undefined), reportField)
  if (sent === undefined) return
  const config = isObject(out.output_config) ? out.output_config : {}
  const existing = isObject(config.format) ? config.format : undefined
  out.output_config = { ...config, format: { ...existing, type: 'json_schema', schema: sent } }
}

/** Lowers a schema of another format to Anthropic's JSON Schema, which rejects keywords that it cannot enforce. */
function lowerFormat(schema: JsonObject, at: string, reportField: ReportField): JsonObject | undefined {
  const { schema: lowered, unenforced, changed, circular } = lowerOutputSchema(schema, at)
  if (circular) {
    reportField('output.format', 'messages accepts no schema that refers to itself: it is not sent')
    return undefined
  }
  if (unenforced.length > 0)
    reportField(
      'output.format',
      `parts of the schema are described, not enforced: ${unenforced.join(', ')}`,
      'approximated',
    )
  if (changed.length > 0)
    reportField(
      'output.format',
      `the schema is enforced in a narrower form: ${changed.join('; ')}`,
      'approximated',
      'note',
    )
  return lowered
}

/** Maximum length of `metadata.user_id`, in characters. */
const longestUserId = 512

function encodeUser(user: ModelRequest['user'], out: JsonObject, reportField: ReportField): void {
  if (user === undefined) return
  const { id, cacheKey, safetyId, ...rest } = user
  rest satisfies Nothing
  const userId = id ?? safetyId
  if (userId !== undefined && userId.length > longestUserId)
    reportField(
      id === undefined ? 'user.safetyId' : 'user.id',
      `messages accepts user ids of up to ${longestUserId} characters; this one has ${userId.length} and is not sent`,
      'unsupported',
      'note',
    )
  else if (userId !== undefined)
    out.metadata = { ...(isObject(out.metadata) ? out.metadata : undefined), user_id: userId }
  if (id !== undefined && safetyId !== undefined && id !== safetyId)
    reportField('user.safetyId', 'messages has one field for the id of the user', 'unsupported', 'note')
  if (cacheKey !== undefined)
    reportField('user.cacheKey', 'messages has no field for a cache key', 'unsupported', 'note')
}

function encodeTier(tier: string, out: JsonObject, reportField: ReportField): void {
  if (tier === 'auto') out.service_tier = 'auto'
  else if (tier === 'default') out.service_tier = 'standard_only'
  else if (tier === 'fast') out.speed = 'fast'
  else reportField('serviceTier', `messages has no service tier '${tier.slice(0, 40)}'`)
}

/** Facts about the rest of the request on which thinking depends. */
export interface ThinkingConditions {
  readonly maxTokens: number
  /** Whether the request forces a tool call. */
  readonly isToolForced: boolean
  /** The last response called tools, and its thinking is missing. */
  readonly lacksReasoning: boolean
}

/** Encodes `thinking` and `output_config.effort`. Returns whether thinking is on. */
export function encodeThinking(
  request: ModelRequest,
  out: JsonObject,
  traits: ModelTraits,
  conditions: ThinkingConditions,
  context: EncodeContext,
): boolean {
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = request.reasoning ?? {}
  rest satisfies Nothing
  const at = (field: string): string => fieldPointer(`reasoning.${field}`, request.at, undefined)
  const { report } = context
  const existing = isObject(out.thinking) ? out.thinking : undefined
  const word = effort === 'minimal' ? 'low' : effort === 'none' ? undefined : effort
  const mode = off || effort === 'none' ? 'off' : isThinkingRequested(effort, budgetTokens, adaptive) ? 'on' : 'unsaid'

  let thinking: JsonObject | undefined
  let sentEffort = word
  if (mode === 'off') {
    if (traits.thinking === 'none') thinking = undefined
    else if (traits.canDisable) thinking = { type: 'disabled' }
    else {
      report.add(
        loss(
          at(off ? 'off' : 'effort'),
          'thinking cannot be disabled for the model: a low effort is sent',
          'approximated',
        ),
      )
      sentEffort = 'low'
    }
  } else if (mode === 'on') {
    const blocked = thinkingObstacle(traits, conditions, isAdaptive(request, traits))
    const field = budgetTokens !== undefined ? 'budgetTokens' : adaptive ? 'adaptive' : 'effort'
    if (blocked !== undefined) report.add(loss(at(field), `thinking is left out: ${blocked}`))
    else thinking = encodeEnabledThinking(request, traits, conditions, at, context)
    if (thinking?.type === 'adaptive' && sentEffort === undefined && budgetTokens !== undefined)
      sentEffort = nearestEffort(effortOfBudget(budgetTokens) as EffortWord, traits.efforts)
    // A budget makes the effort redundant. The effort is sent only if the client sent both.
    if (thinking?.type === 'enabled' && budgetTokens === undefined && adaptive !== true) sentEffort = undefined
    // The loss of thinking covers the loss of the effort: report one of them.
    if (thinking === undefined && field === 'effort' && traits.efforts.length === 0) sentEffort = undefined
  }
  if (thinking !== undefined) out.thinking = { ...existing, ...thinking }
  encodeDisplay(summary, out, thinking, at('summary'), context)
  if (sentEffort !== undefined) encodeEffort(sentEffort, effort, out, traits, at('effort'), context)
  return thinking !== undefined && thinking.type !== 'disabled'
}

const isThinkingRequested = (effort: unknown, budget: number | undefined, adaptive: boolean | undefined): boolean =>
  budget !== undefined || adaptive === true || (effort !== undefined && adaptive !== false)

/** Returns whether the model decides how much it thinks: the client asked for it, or the model accepts nothing else. */
const isAdaptive = ({ reasoning }: ModelRequest, { thinking }: ModelTraits): boolean =>
  thinking === 'adaptive' ||
  (thinking === 'either' && (reasoning?.adaptive === true || reasoning?.budgetTokens === undefined))

/** Returns why this request cannot think although the client asked for it, or undefined if it can. */
function thinkingObstacle(traits: ModelTraits, conditions: ThinkingConditions, adaptive: boolean): string | undefined {
  if (traits.thinking === 'none') return 'the model cannot think'
  if (adaptive) return undefined
  if (conditions.isToolForced) return 'a budget cannot be combined with a forced tool call'
  if (conditions.lacksReasoning) return 'the signed reasoning before the last tool call was not sent back'
  if (conditions.maxTokens <= minBudget) return `it needs more than ${minBudget} max_tokens`
  return undefined
}

function encodeEnabledThinking(
  request: ModelRequest,
  traits: ModelTraits,
  conditions: ThinkingConditions,
  at: (field: string) => string,
  { report }: EncodeContext,
): JsonObject {
  const { effort, budgetTokens } = request.reasoning ?? {}
  if (isAdaptive(request, traits)) {
    if (budgetTokens !== undefined)
      report.add(loss(at('budgetTokens'), 'the model accepts no budget and decides how much it thinks', 'approximated'))
    return { type: 'adaptive' }
  }
  const room = conditions.maxTokens - 1
  if (budgetTokens !== undefined) {
    const budget = Math.min(Math.max(budgetTokens, minBudget), room)
    if (budget !== budgetTokens)
      report.add(
        loss(
          at('budgetTokens'),
          `the budget must be at least ${minBudget} and below max_tokens; ${budget} is sent`,
          'clamped',
        ),
      )
    return { type: 'enabled', budget_tokens: budget }
  }
  const key = effort === undefined || effort === 'none' ? 'high' : effort
  const budget = Math.min(budgetOfEffort[key], room)
  const field = effort === undefined ? 'adaptive' : 'effort'
  report.add(
    loss(at(field), `the model accepts a thinking budget only: ${budget} tokens are sent`, 'approximated', 'note'),
  )
  return { type: 'enabled', budget_tokens: budget }
}

function encodeDisplay(
  summary: Reasoning['summary'],
  out: JsonObject,
  thinking: JsonObject | undefined,
  at: string,
  { report }: EncodeContext,
): void {
  if (summary === undefined) return
  if (thinking === undefined || thinking.type === 'disabled') {
    report.add(loss(at, 'thinking is off, so there is nothing to show', 'unsupported', 'note'))
    return
  }
  if (summary === 'concise' || summary === 'detailed')
    report.add(loss(at, `'${summary}' is sent as 'summarized'`, 'approximated', 'note'))
  out.thinking = {
    ...thinking,
    ...(isObject(out.thinking) ? out.thinking : undefined),
    display: summary === 'none' ? 'omitted' : 'summarized',
  }
}

function encodeEffort(
  word: EffortWord,
  requested: Reasoning['effort'],
  out: JsonObject,
  traits: ModelTraits,
  at: string,
  { report }: EncodeContext,
): void {
  const nearest = nearestEffort(word, traits.efforts)
  if (nearest === undefined) {
    report.add(loss(at, 'the model accepts no effort'))
    return
  }
  if (requested !== undefined && requested !== 'none' && nearest !== requested)
    report.add(loss(at, `the effort '${requested}' is sent as '${nearest}'`, 'approximated', 'note'))
  out.output_config = { ...(isObject(out.output_config) ? out.output_config : undefined), effort: nearest }
}
