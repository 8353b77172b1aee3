import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext, TargetTraits } from '../codec.ts'
import type { ModelRequest, Nothing, Output, Part, Sampling, ToolCallPart, Turn } from '../ir.ts'
import { append, assignOwn } from '../shared/json-fields.ts'
import { shortenToolNames } from '../shared/names.ts'
import { reportCacheSettings } from '../shared/prompt-cache.ts'
import { fieldPointer, isWrittenIn, loss, ownExtra } from '../shared/report.ts'
import { applySettingsChanges } from '../shared/settings-changes.ts'
import { encodeTier, fieldPointers, reportCache, toolNames } from './fields.ts'
import { type ModelTraits, modelTraits } from './models.ts'
import { type EncodeScope, encodeParts } from './parts-encode.ts'
import { encodeThinking } from './thinking.ts'
import { encodeTools, writeSchema } from './tools.ts'

type EncodeContext = CodecContext & { readonly target: TargetTraits }

/**
 * Encodes every field of a request: `satisfies Nothing` fails to compile for a new IR field until it is handled. Model and
 * stream flag are not written, since they stand in the upstream's URL.
 */
export function encodeRequest(original: ModelRequest, context: EncodeContext): JsonObject {
  const request = applySettingsChanges(
    shortenToolNames(original, toolNames, context.report),
    {},
    'gemini',
    context.report,
  )
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
    cache,
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
  if (metadata !== undefined) reportUnsupported('metadata', 'generateContent has no metadata', 'note', request, context)
  if (serviceTier !== undefined) encodeServiceTier(serviceTier, out, request, context)
  if (cache !== undefined) reportCacheSettings(request, 'generateContent', context.report)
  return out
}

function reportUnsupported(
  field: string,
  detail: string,
  severity: 'warn' | 'note',
  request: ModelRequest,
  context: EncodeContext,
): void {
  context.report.add(loss(fieldPointer(field, request.at, undefined), detail, 'unsupported', severity))
}

const maxStopSequences = 5
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
    reportUnsupported(
      'sampling.seed',
      'generateContent accepts 32-bit seeds only; this one is not sent',
      'warn',
      request,
      context,
    )
  else put(out, 'seed', seed)
  if (logitBias !== undefined)
    reportUnsupported('sampling.logitBias', 'generateContent has no logit_bias', 'warn', request, context)
  put(out, 'presencePenalty', presencePenalty)
  put(out, 'frequencyPenalty', frequencyPenalty)
  if (stop !== undefined && stop.length > maxStopSequences)
    context.report.add(
      loss(
        fieldPointer('sampling.stop', request.at, undefined),
        `at most ${maxStopSequences} stop sequences are accepted; the first ${maxStopSequences} are sent`,
        'clamped',
      ),
    )
  put(out, 'stopSequences', stop?.slice(0, maxStopSequences))
  put(out, 'maxOutputTokens', maxTokens)
  put(out, 'candidateCount', choices)
}

function encodeOutput(output: Output, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  // Every stream has usage: `includeUsage` only decides whether the client gets it.
  const { format, modalities, audio, logprobs, verbosity, includeUsage: _, ...rest } = output
  rest satisfies Nothing
  if (format !== undefined) encodeFormat(format, out, request, context)
  put(
    out,
    'responseModalities',
    modalities?.map((modality): Json => modality.toUpperCase()),
  )
  if (audio !== undefined)
    reportUnsupported(
      'output.audio',
      'voices and audio formats of another vendor cannot be sent',
      'warn',
      request,
      context,
    )
  if (logprobs !== undefined) {
    out.responseLogprobs = true
    if (logprobs > 0) out.logprobs = logprobs
  }
  if (verbosity !== undefined)
    reportUnsupported('output.verbosity', 'verbosity cannot be set in generateContent', 'warn', request, context)
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
    if (value !== undefined)
      reportUnsupported(`output.format.${key}`, `generateContent has no ${key} of a schema`, 'note', request, context)
  if (strict === false && schema !== undefined)
    context.report.add(
      loss(
        fieldPointer('output.format.strict', request.at, undefined),
        'generateContent always enforces the schema',
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
      reportUnsupported(`user.${key}`, 'generateContent has no user ids', 'note', request, context)
}

function encodeServiceTier(tier: string, out: JsonObject, request: ModelRequest, context: EncodeContext): void {
  if (tier === 'auto') return // the default without the field
  const word = encodeTier(tier)
  if (word === undefined)
    reportUnsupported('serviceTier', `generateContent has no service tier '${tier}'`, 'warn', request, context)
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

/** The encoded turns. */
interface Conversation {
  system?: JsonObject
  contents: JsonObject[]
}

/** A content before it is joined with its neighbours. */
interface ContentDraft {
  role: 'user' | 'model'
  parts: JsonObject[]
  own: JsonObject | undefined
  calls: ToolCallPart[]
}

/** Encodes turns as Google requires them: instructions separate, roles alternating, no content empty. */
function encodeTurns(turns: readonly Turn[], traits: ModelTraits, context: EncodeContext): Conversation {
  const names = namesOfCalls(turns)
  const scope: EncodeScope = {
    context,
    towards: 'upstream',
    mediaInResponses: traits.acceptsMediaInResponses,
    functionNameOf: (id) => names.get(id),
  }
  const first = turns.findIndex((turn) => !isSystem(turn))
  const leading = first < 0 ? turns : turns.slice(0, first)
  const drafts = joinNeighbours(
    (first < 0 ? [] : turns.slice(first)).flatMap((turn) => {
      // Ids of calls may repeat in a conversation: a result belongs to the last call before it.
      setNamesOfCalls(names, turn)
      return draft(turn, scope)
    }),
  )
  const instructions = leading.flatMap((turn) => systemParts(turn, scope))
  const own: JsonObject = {}
  for (const turn of leading) assignOwn(own, contentFields(turn, scope) ?? {})
  const out: Conversation = { contents: [] }
  if (drafts.length === 0 && instructions.length > 0) {
    const at = leading[0]?.at ?? ''
    context.report.add(loss(at, 'a request needs a content: the system prompt is sent with the role user', 'moved'))
    drafts.push({ role: 'user', parts: instructions, own: undefined, calls: [] })
  } else if (instructions.length > 0) out.system = { ...own, parts: instructions }
  ensureUserBeforeCalls(drafts, context)
  if (traits.requiresSignedCalls) for (const content of drafts) markUnsignedCalls(content, context)
  out.contents = drafts.map(({ role, parts, own: fields }) => ({ ...fields, role, parts }))
  return out
}

const isSystem = (turn: Turn): boolean => turn.role === 'system' || turn.role === 'developer'

/** Returns the names of the functions by the ids of their calls. Of calls with the same id, the first counts. */
function namesOfCalls(turns: readonly Turn[]): Map<string, string> {
  const names = new Map<string, string>()
  for (let index = turns.length - 1; index >= 0; index--) setNamesOfCalls(names, turns[index] as Turn)
  return names
}

function setNamesOfCalls(names: Map<string, string>, turn: Turn): void {
  for (const part of turn.parts) if (part.type === 'tool-call') names.set(part.id, part.name)
}

function contentFields(turn: Turn, { context }: EncodeScope): JsonObject | undefined {
  // `applySettingsChanges` has applied `changes` to the whole request.
  const { role: _, parts: _parts, name, cache, extra, at = '', changes: _changes, ...rest } = turn
  rest satisfies Nothing
  if (name !== undefined)
    context.report.add(loss(pointer(at, 'name'), 'generateContent does not tell speakers apart by name'))
  if (cache !== undefined) reportCache(turn, context)
  return ownExtra(extra, 'gemini', at, context.report)
}

function systemParts(turn: Turn, scope: EncodeScope): JsonObject[] {
  const fit = turn.parts.filter((part) => {
    const fits = part.type === 'text' || part.type === 'refusal' || part.type === 'native'
    if (!fits)
      scope.context.report.add(
        loss(part.at ?? turn.at ?? '', `a system instruction holds text only: ${part.type} is left out`),
      )
    return fits
  })
  return encodeParts(fit, scope)
}

function draft(turn: Turn, scope: EncodeScope): ContentDraft[] {
  const { context } = scope
  const at = turn.at ?? ''
  const own = contentFields(turn, scope)
  if (isSystem(turn)) {
    const parts = systemParts(turn, scope).map((part) =>
      typeof part.text === 'string' ? { ...part, text: `<system>\n${part.text}\n</system>` } : part,
    )
    if (parts.length === 0) return []
    context.report.add(
      loss(at, 'a system message in this place is not accepted: it is sent as marked text of the user', 'moved'),
    )
    return [{ role: 'user', parts, own, calls: [] }]
  }
  const parts = encodeParts(turn.parts, scope)
  if (parts.length === 0 && own === undefined) {
    context.report.add(loss(at, 'an empty message is not accepted upstream and left out', 'unsupported', 'note'))
    return []
  }
  return [{ role: turn.role === 'assistant' ? 'model' : 'user', parts, own, calls: turn.parts.filter(isCall) }]
}

const isCall = (part: Part): part is ToolCallPart => part.type === 'tool-call'

/** Joins adjacent contents of the same role. */
function joinNeighbours(drafts: readonly ContentDraft[]): ContentDraft[] {
  const out: ContentDraft[] = []
  for (const next of drafts) {
    const last = out.at(-1)
    if (last === undefined || last.role !== next.role || last.own !== undefined || next.own !== undefined)
      out.push(next)
    else {
      append(last.parts, next.parts)
      append(last.calls, next.calls)
    }
  }
  return out
}

/** Google rejects a conversation that begins with calls, so a user content is inserted. */
function ensureUserBeforeCalls(drafts: ContentDraft[], { report }: EncodeContext): void {
  const [first] = drafts
  if (first === undefined || first.role !== 'model' || first.calls.length === 0) return
  const at = first.calls[0]?.at ?? ''
  report.add(loss(at, "a conversation must not begin with calls: a user content '.' is inserted", 'approximated'))
  drafts.unshift({ role: 'user', parts: [{ text: '.' }], own: undefined, calls: [] })
}

/** Google's documented signature for calls of other models. */
const unsignedCallMarker = 'skip_thought_signature_validator'

/** Adds the marker to unsigned calls: Google rejects a step whose first call has no signature. */
function markUnsignedCalls(content: ContentDraft, { report }: EncodeContext): void {
  if (content.role !== 'model') return
  const calls = content.parts.filter((part) => isObject(part.functionCall))
  const [first] = calls
  if (first === undefined || calls.some((part) => part.thoughtSignature !== undefined)) return
  first.thoughtSignature = unsignedCallMarker
  report.add(
    loss(
      content.calls[0]?.at ?? '',
      'the call has no signature of this model: it is sent with the marker for unsigned calls',
      'approximated',
      'note',
    ),
  )
}
