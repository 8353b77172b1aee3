import { stringifyExact } from '../../base/json/exact-number.ts'
import { put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type { Effort, ModelRequest, Nothing, Output, Sampling } from '../ir.ts'
import { callIds as anthropicIds } from '../messages/fields.ts'
import { defaultMaxTokens, lowerOutputSchema } from '../messages/models.ts'
import { encodeRandomness, encodeThinking, type ThinkingSetting } from '../messages/request-encode.ts'
import { createToolIds } from '../messages/tool-ids.ts'
import { effortOfBudget } from '../shared/model-rules.ts'
import { shortenToolNames } from '../shared/names.ts'
import { fieldPointer, loss, ownExtra } from '../shared/report.ts'
import { applySettingsChanges } from '../shared/settings-changes.ts'
import { callIds, toolNames } from './fields.ts'
import { createDocumentNames } from './media.ts'
import { type ConverseTraits, converseTraits } from './models.ts'
import { encodeConversation } from './request-encode-turns.ts'
import { encodeTools } from './tools.ts'

const claudeIds = { ...anthropicIds, longest: callIds.longest }

type EncodeContext = CodecContext & { readonly target: TargetTraits }

/** Reports by the IR's name of the field. */
type Tell = (
  field: string,
  detail: string,
  ...kind: [kind?: Parameters<typeof loss>[2], severity?: Parameters<typeof loss>[3]]
) => void

/** Every field of the request gets an answer here: a field added to the IR does not compile until it has one. */
export function encodeRequest(asked: ModelRequest, context: EncodeContext): JsonObject {
  const request = applySettingsChanges(
    shortenToolNames(asked, toolNames, context.report),
    {},
    'converse',
    context.report,
  )
  const {
    model: _,
    turns,
    // Both stand in the path.
    stream: _stream,
    sampling = {},
    tools: _tools,
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
  const traits = converseTraits(target)
  const tell: Tell = (field, detail, ...kind) => report.add(loss(fieldPointer(field, at, undefined), detail, ...kind))

  const out: JsonObject = { ...ownExtra(extra, 'converse', '', report) }
  const blocks = {
    ...context,
    traits,
    ids: createToolIds(turns, traits.claude === undefined ? callIds : claudeIds),
    names: createDocumentNames(),
  }
  const { system, messages, called, brokenLoop } = encodeConversation(turns, blocks)
  out.messages = messages
  if (system.length > 0) out.system = system
  const { config, forced } = encodeTools(request, called, traits, context)
  put(out, 'toolConfig', config)

  const additional: JsonObject = {}
  const { claude } = traits
  const maxTokens =
    sampling.maxTokens ?? (claude === undefined ? Number.POSITIVE_INFINITY : defaultMaxTokens(target, claude))
  const thinks = encodeReasoning(request, additional, traits, { maxTokens, forced, brokenLoop }, context)
  const inference = encodeSampling(sampling, additional, traits, thinks, tell)
  if (thinks && sampling.maxTokens === undefined) {
    // The budget is a part of it.
    inference.maxTokens = maxTokens
    tell('sampling.maxTokens', `thinking needs a bound: ${maxTokens} was made up`, 'approximated', 'note')
  }
  if (Object.keys(inference).length > 0) out.inferenceConfig = inference
  // Converse does not say which of them ended the answer, unless it is told to pass on what Claude says of it.
  if (claude !== undefined && inference.stopSequences !== undefined)
    out.additionalModelResponseFieldPaths = ['/stop_sequence']
  if (output !== undefined) encodeOutput(output, out, request, traits, tell)
  // Some formats ask for the number of alternatives in a field of its own.
  if ((output?.logprobs ?? 0) > 0 && at?.['output.topLogprobs'] !== undefined)
    tell('output.topLogprobs', 'Converse gives no log probabilities')
  for (const [field, value] of Object.entries(user ?? {}))
    if (value !== undefined) tell(`user.${field}`, 'Converse is not told about users', 'unsupported', 'note')
  if (metadata !== undefined) encodeMetadata(metadata, out, tell)
  if (serviceTier !== undefined) encodeTier(serviceTier, out, tell)
  if (Object.keys(additional).length > 0) out.additionalModelRequestFields = additional
  return out
}

function encodeSampling(
  sampling: Sampling,
  additional: JsonObject,
  traits: ConverseTraits,
  thinks: boolean,
  tell: Tell,
): JsonObject {
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
  const out: JsonObject = {}
  put(out, 'maxTokens', maxTokens)
  if (traits.claude !== undefined) {
    const own: JsonObject = {}
    encodeRandomness({ temperature, topP, topK }, own, traits.claude, thinks, tell)
    put(out, 'temperature', own.temperature)
    put(out, 'topP', own.top_p)
    put(additional, 'top_k', own.top_k)
  } else {
    if (temperature !== undefined && temperature > 1)
      tell('sampling.temperature', `Converse takes temperatures up to 1, not ${temperature}`, 'clamped')
    put(out, 'temperature', temperature === undefined ? undefined : Math.min(temperature, 1))
    put(out, 'topP', topP)
    if (topK !== undefined && traits.topK === 'inferenceConfig') additional.inferenceConfig = { topK }
    else if (topK !== undefined) tell('sampling.topK', 'Bedrock has no top_k for the model')
  }
  if (stop !== undefined) {
    const sequences = stop.filter((sequence) => sequence !== '')
    if (sequences.length < stop.length) tell('sampling.stop', 'an empty stop sequence is refused upstream')
    if (sequences.length > 0) out.stopSequences = sequences
  }
  if (seed !== undefined) tell('sampling.seed', 'Converse has no seed')
  if (logitBias !== undefined && Object.keys(logitBias).length > 0)
    tell('sampling.logitBias', 'Converse has no logit bias')
  // Zero is what happens anyway.
  if (presencePenalty) tell('sampling.presencePenalty', 'Converse has no presence penalty')
  if (frequencyPenalty) tell('sampling.frequencyPenalty', 'Converse has no frequency penalty')
  if (choices !== undefined && choices > 1)
    tell('sampling.choices', `Converse gives one answer, not ${choices}`, 'unsupported', 'fatal')
  return out
}

function encodeOutput(
  output: Output,
  out: JsonObject,
  request: ModelRequest,
  traits: ConverseTraits,
  tell: Tell,
): void {
  // Usage always comes.
  const { format, modalities, audio, logprobs, verbosity, includeUsage: _, ...rest } = output
  rest satisfies Nothing
  if (format?.type === 'json') encodeFormat(format, out, request, traits, tell)
  const other = modalities?.filter((modality) => modality !== 'text') ?? []
  if (other.length > 0) tell('output.modalities', `Converse asks for text, not for ${other.join(', ')}`)
  if (audio !== undefined) tell('output.audio', 'Converse has no settings for speech')
  if (logprobs !== undefined) tell('output.logprobs', 'Converse gives no log probabilities')
  if (verbosity !== undefined && verbosity !== 'medium') tell('output.verbosity', 'Converse has no verbosity')
}

function encodeFormat(
  format: Extract<NonNullable<Output['format']>, { type: 'json' }>,
  out: JsonObject,
  request: ModelRequest,
  traits: ConverseTraits,
  tell: Tell,
): void {
  const { type: _, schema, name, description, strict, ...rest } = format
  rest satisfies Nothing
  if (schema === undefined) {
    tell('output.format', 'Converse has no JSON mode without a schema')
    return
  }
  if (!traits.structured) {
    tell('output.format', 'the model takes no schema for its answer')
    return
  }
  if (strict === false)
    tell('output.format.strict', 'Bedrock always holds an answer to its schema', 'approximated', 'note')
  const {
    schema: lowered,
    unenforced,
    changed,
    circular,
  } = lowerOutputSchema(schema, fieldPointer('output.format', request.at, undefined))
  if (circular) {
    tell('output.format', 'Bedrock takes no schema that refers to itself: it is not sent')
    return
  }
  if (unenforced.length > 0)
    tell('output.format', `parts of the schema are told, not enforced: ${unenforced.join(', ')}`, 'approximated')
  if (changed.length > 0)
    tell('output.format', `the schema is enforced in a narrower form: ${changed.join('; ')}`, 'approximated', 'note')
  const jsonSchema: JsonObject = { schema: stringifyExact(lowered) }
  put(jsonSchema, 'name', name)
  put(jsonSchema, 'description', description)
  out.outputConfig = { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
}

const metadataText = /^[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}$/

/** Bedrock keeps it with its logs of calls, in few characters. */
function encodeMetadata(metadata: Record<string, string>, out: JsonObject, tell: Tell): void {
  const entries = Object.entries(metadata)
  const fits = entries.every(([key, value]) => key !== '' && metadataText.test(key) && metadataText.test(value))
  if (entries.length > 16 || !fits)
    tell('metadata', 'Bedrock takes 16 pairs of 256 plain characters: it is not sent', 'unsupported', 'note')
  else if (entries.length > 0) out.requestMetadata = metadata
}

function encodeTier(tier: string, out: JsonObject, tell: Tell): void {
  if (tier === 'default' || tier === 'flex' || tier === 'priority') out.serviceTier = { type: tier }
  else if (tier !== 'auto') tell('serviceTier', `Converse has no service tier '${tier.slice(0, 40)}'`)
}

/**
 * The wish for reasoning, in the fields that Converse passes on to the model. Returns whether Claude thinks, which other
 * settings do not go with.
 */
export function encodeReasoning(
  request: ModelRequest,
  additional: JsonObject,
  traits: ConverseTraits,
  setting: ThinkingSetting,
  context: CodecContext & { readonly target: TargetTraits },
): boolean {
  if (traits.claude !== undefined) return encodeThinking(request, additional, traits.claude, setting, context)
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = request.reasoning ?? {}
  rest satisfies Nothing
  const tell = (field: string, detail: string, ...more: [kind?: 'approximated', severity?: 'note']): void =>
    context.report.add(loss(fieldPointer(`reasoning.${field}`, request.at, undefined), detail, ...more))
  if (summary !== undefined && summary !== 'none' && summary !== 'auto')
    tell('summary', 'the model shows its reasoning as it sees fit', 'approximated', 'note')

  const field = effort !== undefined ? 'effort' : budgetTokens !== undefined ? 'budgetTokens' : 'adaptive'
  if (off === true || effort === 'none') {
    if (traits.reasoning === 'reasoningConfig') additional.reasoningConfig = { type: 'disabled' }
    else tell(off === true ? 'off' : 'effort', 'Bedrock has no way to keep the model from reasoning')
    return false
  }
  const asked = effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens))
  if (asked === undefined) {
    if (adaptive === true) tell('adaptive', 'the model reasons as it sees fit', 'approximated', 'note')
    return false
  }
  if (traits.reasoning === undefined) {
    // An effort alone asks for a thorough answer; the model still gives one.
    tell(field, 'Bedrock has no word for how much the model is to reason')
    return false
  }
  const word = traits.reasoning === 'config' ? coarse(asked) : nearest(asked)
  if (word !== effort)
    tell(
      field,
      `it is sent as the effort '${word}'`,
      'approximated',
      ...(effort === undefined ? [] : ['note' as const]),
    )
  if (traits.reasoning === 'effort') additional.reasoning_effort = word
  else if (traits.reasoning === 'config') additional.reasoning_config = word
  else additional.reasoningConfig = { type: 'enabled', maxReasoningEffort: word }
  return false
}

function nearest(effort: Effort): 'low' | 'medium' | 'high' {
  if (effort === 'low' || effort === 'minimal' || effort === 'none') return 'low'
  return effort === 'medium' ? 'medium' : 'high'
}
const coarse = (effort: Effort): 'low' | 'high' => (nearest(effort) === 'low' ? 'low' : 'high')
