import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { ModelRequest, Output, Sampling } from '../ir.ts'
import { fieldPointer, isWrittenIn, loss, ownExtra } from '../shared/report.ts'
import { settleChanges } from '../shared/settings-changes.ts'
import type { Nothing } from '../shared/strict.ts'
import { lowerToolNames } from '../shared/tool-names.ts'
import { type EncodeContext, encodeTurns } from './contents-encode.ts'
import { encodeTier, fieldPointers, toolNames } from './fields.ts'
import { modelTraits } from './models.ts'
import { encodeThinking } from './thinking.ts'
import { encodeTools, writeSchema } from './tools.ts'

/**
 * Every field of the request gets an answer here: a field added to the IR does not compile until it has one. The model and
 * the wish for a stream are not written: they stand in the upstream's URL.
 */
export function encodeRequest(asked: ModelRequest, context: EncodeContext): JsonObject {
  const request = settleChanges(lowerToolNames(asked, toolNames, context.report), {}, 'gemini', context.report)
  const {
    model: _model,
    turns,
    stream: _stream,
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
  const traits = modelTraits(context.target)
  const own = ownExtra(extra, 'gemini', '', context.report)
  const { system, contents } = encodeTurns(turns, traits, context)
  const out: JsonObject = { ...own, contents }
  put(out, 'systemInstruction', system)
  if (tools !== undefined) encodeTools(tools, out, request, context)
  const generation: JsonObject = { ...(isObject(own?.generationConfig) ? own.generationConfig : undefined) }
  if (sampling !== undefined) encodeSampling(sampling, generation, request, context)
  if (reasoning !== undefined) encodeThinking(reasoning, generation, request, traits, context)
  if (output !== undefined) encodeOutput(output, generation, request, context)
  if (Object.keys(generation).length > 0) out.generationConfig = generation
  if (user !== undefined) reportUser(user, request, context)
  if (metadata !== undefined) refuse('metadata', 'generateContent takes no metadata', 'note', request, context)
  if (serviceTier !== undefined) encodeServiceTier(serviceTier, out, request, context)
  return out
}

function refuse(
  field: string,
  detail: string,
  severity: 'warn' | 'note',
  request: ModelRequest,
  context: EncodeContext,
): void {
  context.report.add(loss(fieldPointer(field, request.at, undefined), detail, 'unsupported', severity))
}

const mostStops = 5
const int32 = 2 ** 31

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
  put(out, 'topP', topP)
  put(out, 'topK', topK)
  if (seed !== undefined && (seed >= int32 || seed < -int32))
    refuse('sampling.seed', 'a seed is a 32-bit integer here; this one is not sent', 'warn', request, context)
  else put(out, 'seed', seed)
  if (logitBias !== undefined)
    refuse('sampling.logitBias', 'generateContent has no logit_bias', 'warn', request, context)
  put(out, 'presencePenalty', presencePenalty)
  put(out, 'frequencyPenalty', frequencyPenalty)
  if (stop !== undefined && stop.length > mostStops)
    context.report.add(
      loss(
        fieldPointer('sampling.stop', request.at, undefined),
        `at most ${mostStops} stop sequences are taken; the first ${mostStops} are sent`,
        'clamped',
      ),
    )
  put(out, 'stopSequences', stop?.slice(0, mostStops))
  put(out, 'maxOutputTokens', maxTokens)
  put(out, 'candidateCount', choices)
}

function encodeOutput(output: Output, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  // Usage comes with every stream: `includeUsage` decides only what the client is shown.
  const { format, modalities, audio, logprobs, verbosity, includeUsage: _, ...rest } = output
  rest satisfies Nothing
  if (format !== undefined) encodeFormat(format, out, request, context)
  put(
    out,
    'responseModalities',
    modalities?.map((modality): Json => modality.toUpperCase()),
  )
  if (audio !== undefined)
    refuse('output.audio', 'voices and sound formats of another vendor are unknown here', 'warn', request, context)
  if (logprobs !== undefined) {
    out.responseLogprobs = true
    if (logprobs > 0) out.logprobs = logprobs
  }
  if (verbosity !== undefined)
    refuse('output.verbosity', 'how much to say cannot be set in generateContent', 'warn', request, context)
}

function encodeFormat(
  format: NonNullable<Output['format']>,
  out: JsonObject,
  request: ModelRequest,
  context: EncodeContext,
): void {
  if (format.type === 'text') {
    out.responseMimeType = 'text/plain'
    return
  }
  const { type: _, schema, name, description, strict, ...rest } = format
  rest satisfies Nothing
  out.responseMimeType = 'application/json'
  const at = fieldPointer('output.format', request.at, undefined)
  if (schema !== undefined)
    writeSchema(schema, out, 'responseSchema', 'responseJsonSchema', at, isWrittenIn(request, fieldPointers), context)
  for (const [key, value] of Object.entries({ name, description }))
    if (value !== undefined) refuse(`output.format.${key}`, `a schema has no ${key} here`, 'note', request, context)
  if (strict === false && schema !== undefined)
    context.report.add(
      loss(
        fieldPointer('output.format.strict', request.at, undefined),
        'generateContent always holds an answer to its schema',
        'approximated',
        'note',
      ),
    )
}

function reportUser(user: NonNullable<ModelRequest['user']>, request: ModelRequest, context: EncodeContext): void {
  const { id, cacheKey, safetyId, ...rest } = user
  rest satisfies Nothing
  for (const [key, value] of Object.entries({ id, cacheKey, safetyId }))
    if (value !== undefined)
      refuse(`user.${key}`, 'generateContent does not ask who the user is', 'note', request, context)
}

function encodeServiceTier(tier: string, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  if (tier === 'auto') return // what happens without the field
  const word = encodeTier(tier)
  if (word === undefined) refuse('serviceTier', `there is no service tier '${tier}' here`, 'warn', request, context)
  else out.serviceTier = word
  if (tier === 'fast')
    context.report.add(
      loss(
        fieldPointer('serviceTier', request.at, undefined),
        "the tier 'fast' is sent as 'priority'",
        'approximated',
        'note',
      ),
    )
}
