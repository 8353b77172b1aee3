import { isObject, type JsonObject, put, stringifyExact } from '../../base/json/json.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type { Effort, ModelRequest, Nothing, Output, Sampling } from '../ir.ts'
import { callIds as anthropicIds } from '../messages/fields.ts'
import { defaultMaxTokens, encodeThinking, lowerOutputSchema, type ThinkingConditions } from '../messages/models.ts'
import { encodeRandomness } from '../messages/request-encode.ts'
import { effortOfBudget } from '../shared/model-rules.ts'
import { createToolIds, shortenToolNames } from '../shared/names.ts'
import { reportCacheSettings, reportLifetimes } from '../shared/prompt-cache.ts'
import { fieldPointer, isWrittenIn, loss, ownExtra } from '../shared/report.ts'
import { applySettingsChanges } from '../shared/settings-changes.ts'
import { callIds, fieldPointers, toolNames } from './fields.ts'
import { createDocumentNames } from './media-encode.ts'
import { type ConverseTraits, converseTraits } from './models.ts'
import { encodeConversation } from './request-encode-turns.ts'
import { encodeTools } from './tools.ts'

const claudeIds = { ...anthropicIds, longest: callIds.longest }

type EncodeContext = CodecContext & { readonly target: TargetTraits }

/** Reports a loss at a field, named as in the IR. */
type ReportLoss = (
  field: string,
  detail: string,
  ...kind: [kind?: Parameters<typeof loss>[2], severity?: Parameters<typeof loss>[3]]
) => void

/** Encodes a request. It handles every field of the IR: a field added to the IR does not compile until it is handled here. */
export function encodeRequest(requested: ModelRequest, context: EncodeContext): JsonObject {
  const request = applySettingsChanges(
    shortenToolNames(requested, toolNames, context.report),
    {},
    'converse',
    context.report,
  )
  const {
    model: _,
    turns,
    // The path holds both.
    stream: _stream,
    sampling = {},
    tools: _tools,
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
  const isOwn = isWrittenIn(request, fieldPointers)
  const traits = isOwn ? { ...converseTraits(target), ...unlimited } : converseTraits(target)
  const reportLoss: ReportLoss = (field, detail, ...kind) =>
    report.add(loss(fieldPointer(field, at, undefined), detail, ...kind))

  const own = ownExtra(extra, 'converse', '', report) ?? {}
  const out: JsonObject = { ...own }
  const blocks = {
    ...context,
    traits,
    isOwn,
    ids: createToolIds(turns, traits.claude === undefined ? callIds : claudeIds),
    names: createDocumentNames(),
  }
  const { system, messages, calledTools, lacksReasoning } = encodeConversation(turns, blocks)
  out.messages = messages
  if (system.length > 0) out.system = system
  const { config, isToolForced } = encodeTools(request, isOwn ? new Set() : calledTools, traits, { ...context, isOwn })
  merge(out, 'toolConfig', config)

  const additional: JsonObject = isObject(own.additionalModelRequestFields)
    ? { ...own.additionalModelRequestFields }
    : {}
  const { claude } = traits
  const maxTokens =
    sampling.maxTokens ?? (claude === undefined ? Number.POSITIVE_INFINITY : defaultMaxTokens(target, claude))
  const isThinking = encodeReasoning(request, additional, traits, { maxTokens, isToolForced, lacksReasoning }, context)
  const inference = encodeSampling(sampling, additional, traits, isThinking, reportLoss)
  if (isThinking && sampling.maxTokens === undefined) {
    // The thinking budget counts against this bound.
    inference.maxTokens = maxTokens
    reportLoss(
      'sampling.maxTokens',
      `thinking requires maxTokens: the gateway set ${maxTokens}`,
      'approximated',
      'note',
    )
  }
  merge(out, 'inferenceConfig', inference)
  // Converse reports which stop sequence ended the response only if the request names Claude's field.
  if (claude !== undefined && inference.stopSequences !== undefined) {
    const { additionalModelResponseFieldPaths: paths } = own
    out.additionalModelResponseFieldPaths = ['/stop_sequence', ...(Array.isArray(paths) ? paths : [])]
  }
  if (output !== undefined) encodeOutput(output, out, request, traits, reportLoss)
  // Some formats ask for the number of alternatives in a separate field.
  if ((output?.logprobs ?? 0) > 0 && at?.['output.topLogprobs'] !== undefined)
    reportLoss('output.topLogprobs', 'Converse gives no log probabilities')
  for (const [field, value] of Object.entries(user ?? {}))
    if (value !== undefined) reportLoss(`user.${field}`, 'Converse has no field for users', 'unsupported', 'note')
  if (metadata !== undefined) encodeMetadata(metadata, out, reportLoss)
  if (serviceTier !== undefined) encodeTier(serviceTier, out, reportLoss)
  reportLifetimes(request, report)
  if (cache !== undefined) reportCacheSettings(request, 'Converse', report)
  merge(out, 'additionalModelRequestFields', additional)
  return out
}

/** A client of this format knows what its model accepts. */
const unlimited = { forcedTools: true, resultStatus: true, cache: { tools: true, hour: true } } as const

/** Sets a member. Fields that only this format has stay in it, unless the IR has them, too. */
function merge(out: JsonObject, key: string, fields: JsonObject | undefined): void {
  if (fields === undefined || Object.keys(fields).length === 0) return
  const own = out[key]
  out[key] = isObject(own) ? { ...own, ...fields } : fields
}

function encodeSampling(
  sampling: Sampling,
  additional: JsonObject,
  traits: ConverseTraits,
  isThinking: boolean,
  reportLoss: ReportLoss,
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
    const claudeFields: JsonObject = {}
    encodeRandomness({ temperature, topP, topK }, claudeFields, traits.claude, isThinking, reportLoss)
    put(out, 'temperature', claudeFields.temperature)
    put(out, 'topP', claudeFields.top_p)
    put(additional, 'top_k', claudeFields.top_k)
  } else {
    if (temperature !== undefined && temperature > 1)
      reportLoss('sampling.temperature', `Converse accepts temperatures up to 1, not ${temperature}`, 'clamped')
    put(out, 'temperature', temperature === undefined ? undefined : Math.min(temperature, 1))
    put(out, 'topP', topP)
    if (topK !== undefined && traits.topK === 'inferenceConfig') merge(additional, 'inferenceConfig', { topK })
    else if (topK !== undefined) reportLoss('sampling.topK', 'Bedrock has no top_k for the model')
  }
  if (stop !== undefined) {
    const sequences = stop.filter((sequence) => sequence !== '')
    if (sequences.length < stop.length) reportLoss('sampling.stop', 'an empty stop sequence is rejected upstream')
    if (sequences.length > 0) out.stopSequences = sequences
  }
  if (seed !== undefined) reportLoss('sampling.seed', 'Converse has no seed')
  if (logitBias !== undefined && Object.keys(logitBias).length > 0)
    reportLoss('sampling.logitBias', 'Converse has no logit bias')
  // Zero is the default.
  if (presencePenalty) reportLoss('sampling.presencePenalty', 'Converse has no presence penalty')
  if (frequencyPenalty) reportLoss('sampling.frequencyPenalty', 'Converse has no frequency penalty')
  if (choices !== undefined && choices > 1)
    reportLoss('sampling.choices', `Converse returns one response, not ${choices}`, 'unsupported', 'fatal')
  return out
}

function encodeOutput(
  output: Output,
  out: JsonObject,
  request: ModelRequest,
  traits: ConverseTraits,
  reportLoss: ReportLoss,
): void {
  // Responses always carry usage.
  const { format, modalities, audio, logprobs, verbosity, includeUsage: _, ...rest } = output
  rest satisfies Nothing
  if (format?.type === 'json') encodeFormat(format, out, request, traits, reportLoss)
  const other = modalities?.filter((modality) => modality !== 'text') ?? []
  if (other.length > 0) reportLoss('output.modalities', `Converse returns only text, not ${other.join(', ')}`)
  if (audio !== undefined) reportLoss('output.audio', 'Converse has no settings for speech')
  if (logprobs !== undefined) reportLoss('output.logprobs', 'Converse gives no log probabilities')
  if (verbosity !== undefined && verbosity !== 'medium') reportLoss('output.verbosity', 'Converse has no verbosity')
}

function encodeFormat(
  format: Extract<NonNullable<Output['format']>, { type: 'json' }>,
  out: JsonObject,
  request: ModelRequest,
  traits: ConverseTraits,
  reportLoss: ReportLoss,
): void {
  const { type: _, schema, name, description, strict, ...rest } = format
  rest satisfies Nothing
  if (schema === undefined) {
    reportLoss('output.format', 'Converse has no JSON mode without a schema')
    return
  }
  if (!traits.structured) {
    reportLoss('output.format', 'the model accepts no output schema')
    return
  }
  if (strict === false) reportLoss('output.format.strict', 'Bedrock always enforces the schema', 'approximated', 'note')
  const {
    schema: lowered,
    unenforced,
    changed,
    circular,
  } = lowerOutputSchema(schema, fieldPointer('output.format', request.at, undefined))
  if (circular) {
    reportLoss('output.format', 'Bedrock accepts no schema that refers to itself: it is not sent')
    return
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
  const jsonSchema: JsonObject = { schema: stringifyExact(lowered) }
  put(jsonSchema, 'name', name)
  put(jsonSchema, 'description', description)
  merge(out, 'outputConfig', { textFormat: { type: 'json_schema', structure: { jsonSchema } } })
}

const metadataText = /^[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}$/

/** Bedrock stores metadata with its invocation logs, and limits its size and characters. */
function encodeMetadata(metadata: Record<string, string>, out: JsonObject, reportLoss: ReportLoss): void {
  const entries = Object.entries(metadata)
  const fits = entries.every(([key, value]) => key !== '' && metadataText.test(key) && metadataText.test(value))
  if (entries.length > 16 || !fits)
    reportLoss('metadata', 'Bedrock accepts 16 pairs of 256 plain characters: it is not sent', 'unsupported', 'note')
  else if (entries.length > 0) out.requestMetadata = metadata
}

const serviceTiers: ReadonlySet<string> = new Set(['default', 'flex', 'priority', 'reserved'])

function encodeTier(tier: string, out: JsonObject, reportLoss: ReportLoss): void {
  if (serviceTiers.has(tier)) merge(out, 'serviceTier', { type: tier })
  else if (tier !== 'auto') reportLoss('serviceTier', `Converse has no service tier '${tier.slice(0, 40)}'`)
}

/** Encodes reasoning in the fields that Converse passes on to the model. Returns whether Claude thinks, which excludes other settings. */
function encodeReasoning(
  request: ModelRequest,
  additional: JsonObject,
  traits: ConverseTraits,
  conditions: ThinkingConditions,
  context: CodecContext & { readonly target: TargetTraits },
): boolean {
  if (traits.claude !== undefined) return encodeThinking(request, additional, traits.claude, conditions, context)
  const { effort, budgetTokens, adaptive, off, summary, ...rest } = request.reasoning ?? {}
  rest satisfies Nothing
  const reportLoss = (field: string, detail: string, ...more: [kind?: 'approximated', severity?: 'note']): void =>
    context.report.add(loss(fieldPointer(`reasoning.${field}`, request.at, undefined), detail, ...more))
  if (summary !== undefined && summary !== 'none' && summary !== 'auto')
    reportLoss('summary', 'the model decides how it shows its reasoning', 'approximated', 'note')

  const field = effort !== undefined ? 'effort' : budgetTokens !== undefined ? 'budgetTokens' : 'adaptive'
  if (off === true || effort === 'none') {
    if (traits.reasoning === 'reasoningConfig') additional.reasoningConfig = { type: 'disabled' }
    else reportLoss(off === true ? 'off' : 'effort', 'Bedrock cannot disable the reasoning of the model')
    return false
  }
  const requested = effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens))
  if (requested === undefined) {
    if (adaptive === true) reportLoss('adaptive', 'the model decides how much it reasons', 'approximated', 'note')
    return false
  }
  if (traits.reasoning === undefined) {
    // An effort alone asks for a thorough response, which the model still gives.
    reportLoss(field, 'Bedrock has no setting for how much the model reasons')
    return false
  }
  const effortWord = traits.reasoning === 'config' ? lowOrHigh(requested) : lowMediumOrHigh(requested)
  if (effortWord !== effort)
    reportLoss(
      field,
      `sent as the effort '${effortWord}'`,
      'approximated',
      ...(effort === undefined ? [] : ['note' as const]),
    )
  if (traits.reasoning === 'effort') additional.reasoning_effort = effortWord
  else if (traits.reasoning === 'config') additional.reasoning_config = effortWord
  else additional.reasoningConfig = { type: 'enabled', maxReasoningEffort: effortWord }
  return false
}

function lowMediumOrHigh(effort: Effort): 'low' | 'medium' | 'high' {
  if (effort === 'low' || effort === 'minimal' || effort === 'none') return 'low'
  return effort === 'medium' ? 'medium' : 'high'
}
const lowOrHigh = (effort: Effort): 'low' | 'high' => (lowMediumOrHigh(effort) === 'low' ? 'low' : 'high')
