import { isObject, put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type { ModelRequest, Nothing, Output, Reasoning, Sampling, Tool } from '../ir.ts'
import { effortOfBudget } from '../shared/model-rules.ts'
import { shortenToolNames } from '../shared/names.ts'
import { fieldPointer, isWrittenIn, loss, ownExtra } from '../shared/report.ts'
import { applySettingsChanges, hasChanges } from '../shared/settings-changes.ts'
import { hasThread, threadRefused } from './error.ts'
import { type EffortWord, fieldPointers, toolNames } from './fields.ts'
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
import { createToolIds } from './tool-ids.ts'
import { encodeTool, encodeTools, isListed } from './tools.ts'

type EncodeContext = CodecContext & { readonly target: TargetTraits }

/** Reports by the IR's name of the field. */
type Tell = (
  field: string,
  detail: string,
  ...kind: [kind?: Parameters<typeof loss>[2], severity?: Parameters<typeof loss>[3]]
) => void

/** Every field of the request gets an answer here: a field added to the IR does not compile until it has one. */
export function encodeRequest(asked: ModelRequest, context: EncodeContext): JsonObject {
  const isOwn = isWrittenIn(asked, fieldPointers)
  const traits = modelTraits(context.target)
  const named = shortenToolNames(asked, toolNames, context.report)
  // What a client of messages wrote is between it and the upstream.
  const request =
    (isOwn && traits.systemTurns) || !hasChanges(named)
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
  const tell: Tell = (field, detail, ...kind) => report.add(loss(fieldPointer(field, at, undefined), detail, ...kind))

  const own = ownExtra(extra, 'messages', '', report)
  if (own !== undefined && hasThread(own) && target.quirks.threads !== true) throw threadRefused()
  const { newId, now } = context
  const listed = hasChanges(request) ? (tools?.list ?? []) : []
  const offered = new Set(listed.flatMap((tool) => (tool.type !== 'native' && isListed(tool) ? [tool.name] : [])))
  const encode = (tool: Tool): JsonObject[] => encodeTool(tool, traits, isOwn, context)
  const ids = createToolIds(turns)
  const blocks: BlockContext = { report, newId, now, upstream: 'messages', ids, tools: { isOwn, offered, encode } }
  const conversation = encodeConversation(turns, traits, blocks)
  const out: JsonObject = { ...own, model: target.model }
  put(out, 'system', conversation.system)
  out.messages = conversation.messages
  const maxTokens = encodeMaxTokens(sampling, target, traits, tell)
  out.max_tokens = maxTokens
  if (stream) out.stream = true
  const forced = tools === undefined ? false : encodeTools(tools, out, request, traits, context)
  const setting = { maxTokens, forced, brokenLoop: conversation.brokenLoop }
  const thinks = encodeThinking(request, out, traits, setting, context)
  encodeSampling(sampling, out, traits, thinks, tell)
  if (output !== undefined) encodeOutput(output, out, request, traits, tell)
  // Some formats ask for the number of alternatives in a field of its own.
  if ((output?.logprobs ?? 0) > 0 && at?.['output.topLogprobs'] !== undefined)
    tell('output.topLogprobs', 'messages gives no log probabilities')
  encodeUser(user, out, tell)
  if (metadata !== undefined) tell('metadata', 'messages keeps no metadata but the user', 'unsupported', 'note')
  if (serviceTier !== undefined) encodeTier(serviceTier, out, tell)
  return out
}

/** The format requires a bound. One that the client did not set is reported when an answer ends at it (`reportOwnBound`). */
function encodeMaxTokens(sampling: Sampling, target: TargetTraits, traits: ModelTraits, tell: Tell): number {
  const { maxTokens } = sampling
  if (maxTokens === undefined) return defaultMaxTokens(target, traits)
  if (traits.maxTokens === undefined || maxTokens <= traits.maxTokens) return maxTokens
  tell('sampling.maxTokens', `the model answers with at most ${traits.maxTokens} tokens`, 'clamped')
  return traits.maxTokens
}

function encodeSampling(sampling: Sampling, out: JsonObject, traits: ModelTraits, thinks: boolean, tell: Tell): void {
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
  encodeRandomness({ temperature, topP, topK }, out, traits, thinks, tell)
  if (stop !== undefined) {
    const sequences = stop.filter((sequence) => sequence.trim() !== '')
    if (sequences.length < stop.length) tell('sampling.stop', 'stop sequences of blanks alone are refused upstream')
    if (sequences.length > 0) out.stop_sequences = sequences
  }
  if (seed !== undefined) tell('sampling.seed', 'messages has no seed')
  if (logitBias !== undefined && Object.keys(logitBias).length > 0)
    tell('sampling.logitBias', 'messages has no logit bias')
  // Zero is what happens anyway.
  if (presencePenalty) tell('sampling.presencePenalty', 'messages has no presence penalty')
  if (frequencyPenalty) tell('sampling.frequencyPenalty', 'messages has no frequency penalty')
  if (choices !== undefined && choices > 1)
    tell('sampling.choices', `messages gives one answer, not ${choices}`, 'unsupported', 'fatal')
}

type Randomness = { [K in 'temperature' | 'topP' | 'topK']: number | undefined }

/** Which of the three knobs this model takes in this call. One that stands on its default is left out without a word. */
export function encodeRandomness(
  wanted: Randomness,
  out: JsonObject,
  traits: ModelTraits,
  thinks: boolean,
  tell: Tell,
): void {
  let { temperature, topP, topK } = wanted
  const drop = (field: keyof Randomness, detail: string): void => tell(`sampling.${field}`, detail)
  if (temperature !== undefined && temperature > 1) {
    tell('sampling.temperature', `messages takes temperatures up to 1, not ${temperature}`, 'clamped')
    temperature = 1
  }
  const why =
    traits.sampling === 'none' ? 'the model takes no such setting' : thinks ? 'it does not go with thinking' : undefined
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
      drop('topP', 'the model takes temperature or top_p, not both')
      topP = undefined
    }
  }
  put(out, 'temperature', temperature)
  put(out, 'top_p', topP)
  put(out, 'top_k', topK)
}

function encodeOutput(output: Output, out: JsonObject, request: ModelRequest, traits: ModelTraits, tell: Tell): void {
  // Usage always comes.
  const { format, modalities, audio, logprobs, verbosity, includeUsage: _, ...rest } = output
  rest satisfies Nothing
  if (format?.type === 'json') encodeFormat(format, out, request, traits, tell)
  const other = modalities?.filter((modality) => modality !== 'text') ?? []
  if (other.length > 0) tell('output.modalities', `the model answers in text, not in ${other.join(', ')}`)
  if (audio !== undefined) tell('output.audio', 'the model does not speak')
  if (logprobs !== undefined) tell('output.logprobs', 'messages gives no log probabilities')
  if (verbosity !== undefined && verbosity !== 'medium') tell('output.verbosity', 'messages has no verbosity')
}

function encodeFormat(
  format: Extract<NonNullable<Output['format']>, { type: 'json' }>,
  out: JsonObject,
  request: ModelRequest,
  traits: ModelTraits,
  tell: Tell,
): void {
  const { type: _, schema, name, description, strict, ...rest } = format
  rest satisfies Nothing
  if (schema === undefined) {
    tell('output.format', 'messages has no JSON mode without a schema')
    return
  }
  if (!traits.structured) {
    tell('output.format', 'the model takes no schema for its answer')
    return
  }
  for (const [key, value] of Object.entries({ name, description }))
    if (value !== undefined) tell(`output.format.${key}`, `a schema has no ${key} in messages`, 'approximated', 'note')
  if (strict === false)
    tell('output.format.strict', 'messages always holds an answer to its schema', 'approximated', 'note')
  const sent = isWrittenIn(request, fieldPointers)
    ? schema
    : lowerFormat(schema, fieldPointer('output.format', request.at, undefined), tell)
  if (sent === undefined) return
  const config = isObject(out.output_config) ? out.output_config : {}
  const kept = isObject(config.format) ? config.format : undefined
  out.output_config = { ...config, format: { ...kept, type: 'json_schema', schema: sent } }
}

/** A schema of another dialect in Anthropic's, which refuses what it does not enforce. */
function lowerFormat(schema: JsonObject, at: string, tell: Tell): JsonObject | undefined {
  const { schema: lowered, unenforced, changed, circular } = lowerOutputSchema(schema, at)
  if (circular) {
    tell('output.format', 'messages takes no schema that refers to itself: it is not sent')
    return undefined
  }
  if (unenforced.length > 0)
    tell('output.format', `parts of the schema are told, not enforced: ${unenforced.join(', ')}`, 'approximated')
  if (changed.length > 0)
    tell('output.format', `the schema is enforced in a narrower form: ${changed.join('; ')}`, 'approximated', 'note')
  return lowered
}

/** Bound of `metadata.user_id`. */
const longestUserId = 512

function encodeUser(user: ModelRequest['user'], out: JsonObject, tell: Tell): void {
  if (user === undefined) return
  const { id, cacheKey, safetyId, ...rest } = user
  rest satisfies Nothing
  const wire = id ?? safetyId
  if (wire !== undefined && wire.length > longestUserId)
    tell(
      id === undefined ? 'user.safetyId' : 'user.id',
      `messages takes ids of users up to ${longestUserId} characters; this one has ${wire.length} and is not sent`,
      'unsupported',
      'note',
    )
  else if (wire !== undefined) out.metadata = { ...(isObject(out.metadata) ? out.metadata : undefined), user_id: wire }
  if (id !== undefined && safetyId !== undefined && id !== safetyId)
    tell('user.safetyId', 'messages knows one id of the user', 'unsupported', 'note')
  if (cacheKey !== undefined) tell('user.cacheKey', 'messages has no key for its cache', 'unsupported', 'note')
}

function encodeTier(tier: string, out: JsonObject, tell: Tell): void {
  if (tier === 'auto') out.service_tier = 'auto'
  else if (tier === 'default') out.service_tier = 'standard_only'
  else if (tier === 'fast') out.speed = 'fast'
  else tell('serviceTier', `messages has no service tier '${tier.slice(0, 40)}'`)
}

/** What the rest of the request says that thinking depends on. */
export interface ThinkingSetting {
  readonly maxTokens: number
  /** A tool call is forced. */
  readonly forced: boolean
  /** The last answer called tools, and its thinking is gone. */
  readonly brokenLoop: boolean
}

/** Writes `thinking` and `output_config.effort`. Returns whether thinking is on. */
export function encodeThinking(
  request: ModelRequest,
  out: JsonObject,
  traits: ModelTraits,
  setting: ThinkingSetting,
  context: EncodeContext,
): boolean {
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = request.reasoning ?? {}
  rest satisfies Nothing
  const at = (field: string): string => fieldPointer(`reasoning.${field}`, request.at, undefined)
  const { report } = context
  const kept = isObject(out.thinking) ? out.thinking : undefined
  const word = effort === 'minimal' ? 'low' : effort === 'none' ? undefined : effort
  const wish = off || effort === 'none' ? 'off' : wants(effort, budgetTokens, adaptive) ? 'on' : 'unsaid'

  let thinking: JsonObject | undefined
  let said = word
  if (wish === 'off') {
    if (traits.thinking === 'none') thinking = undefined
    else if (traits.canDisable) thinking = { type: 'disabled' }
    else {
      report.add(
        loss(at(off ? 'off' : 'effort'), 'the model always thinks; it is asked to think little', 'approximated'),
      )
      said = 'low'
    }
  } else if (wish === 'on') {
    const blocked = obstacle(traits, setting, isAdaptive(request, traits))
    const field = budgetTokens !== undefined ? 'budgetTokens' : adaptive ? 'adaptive' : 'effort'
    if (blocked !== undefined) report.add(loss(at(field), `thinking is left out: ${blocked}`))
    else thinking = switchOn(request, traits, setting, at, context)
    if (thinking?.type === 'adaptive' && said === undefined && budgetTokens !== undefined)
      said = nearestEffort(effortOfBudget(budgetTokens) as EffortWord, traits.efforts)
    // A budget says it all; an effort beside it is written only if the client wrote both.
    if (thinking?.type === 'enabled' && budgetTokens === undefined && adaptive !== true) said = undefined
    // One loss is told once.
    if (thinking === undefined && field === 'effort' && traits.efforts.length === 0) said = undefined
  }
  if (thinking !== undefined) out.thinking = { ...kept, ...thinking }
  writeDisplay(summary, out, thinking, at('summary'), context)
  if (said !== undefined) writeEffort(said, effort, out, traits, at('effort'), context)
  return thinking !== undefined && thinking.type !== 'disabled'
}

const wants = (effort: unknown, budget: number | undefined, adaptive: boolean | undefined): boolean =>
  budget !== undefined || adaptive === true || (effort !== undefined && adaptive !== false)

/** Whether the model is left to decide how much it thinks: it asked for nothing else, or takes nothing else. */
const isAdaptive = ({ reasoning }: ModelRequest, { thinking }: ModelTraits): boolean =>
  thinking === 'adaptive' ||
  (thinking === 'either' && (reasoning?.adaptive === true || reasoning?.budgetTokens === undefined))

/** Why this call cannot think though it was asked to; undefined if nothing stands in the way. */
function obstacle(traits: ModelTraits, setting: ThinkingSetting, adaptive: boolean): string | undefined {
  if (traits.thinking === 'none') return 'the model cannot think'
  if (adaptive) return undefined
  if (setting.forced) return 'a budget does not go with a forced tool call'
  if (setting.brokenLoop) return 'the signed reasoning before the last tool call was not sent back'
  if (setting.maxTokens <= minBudget) return `it needs more than ${minBudget} max_tokens`
  return undefined
}

function switchOn(
  request: ModelRequest,
  traits: ModelTraits,
  setting: ThinkingSetting,
  at: (field: string) => string,
  { report }: EncodeContext,
): JsonObject {
  const { effort, budgetTokens } = request.reasoning ?? {}
  if (isAdaptive(request, traits)) {
    if (budgetTokens !== undefined)
      report.add(
        loss(at('budgetTokens'), 'the model takes no budget; it thinks as much as it sees fit', 'approximated'),
      )
    return { type: 'adaptive' }
  }
  const room = setting.maxTokens - 1
  if (budgetTokens !== undefined) {
    const budget = Math.min(Math.max(budgetTokens, minBudget), room)
    if (budget !== budgetTokens)
      report.add(
        loss(at('budgetTokens'), `it must lie from ${minBudget} to below max_tokens; ${budget} is sent`, 'clamped'),
      )
    return { type: 'enabled', budget_tokens: budget }
  }
  const key = effort === undefined || effort === 'none' ? 'high' : effort
  const budget = Math.min(budgetOfEffort[key], room)
  const field = effort === undefined ? 'adaptive' : 'effort'
  report.add(loss(at(field), `the model takes a budget: ${budget} tokens are sent`, 'approximated', 'note'))
  return { type: 'enabled', budget_tokens: budget }
}

function writeDisplay(
  summary: Reasoning['summary'],
  out: JsonObject,
  thinking: JsonObject | undefined,
  at: string,
  { report }: EncodeContext,
): void {
  if (summary === undefined) return
  if (thinking === undefined || thinking.type === 'disabled') {
    report.add(loss(at, 'there is no thinking to be shown', 'unsupported', 'note'))
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

function writeEffort(
  word: EffortWord,
  asked: Reasoning['effort'],
  out: JsonObject,
  traits: ModelTraits,
  at: string,
  { report }: EncodeContext,
): void {
  const nearest = nearestEffort(word, traits.efforts)
  if (nearest === undefined) {
    report.add(loss(at, 'the model takes no effort'))
    return
  }
  if (asked !== undefined && asked !== 'none' && nearest !== asked)
    report.add(loss(at, `the effort '${asked}' is sent as '${nearest}'`, 'approximated', 'note'))
  out.output_config = { ...(isObject(out.output_config) ? out.output_config : undefined), effort: nearest }
}
