import { isObject, type Json, type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Output, Part, ReasoningPart, Sampling, TextPart, Turn } from '../ir.ts'
import { createCallIds } from '../shared/call-ids.ts'
import {
  append,
  drop,
  dropNulls,
  leftover,
  putBack,
  take,
  takeAny,
  takeBoolean,
  takeNumber,
  takeObject,
  takeString,
  type Unread,
} from '../shared/json-fields.ts'
import { decodeTier, type FieldName, fieldPointers } from './fields.ts'
import { decodeParts, type PartScope } from './parts-decode.ts'
import { fromOpenApi, lowerTypes } from './schema-lowering.ts'
import { readSignaturePart } from './seals.ts'
import { copyInCamelCase, modelPrefix, spellingOf } from './spelling.ts'
import { decodeThinking } from './thinking.ts'
import { decodeTools } from './tools.ts'

type Places = { [irField: string]: string }

/**
 * Decodes a request. Model and stream flag stand in the URL; the caller copies them to the body as `model` and `stream`.
 * A model that the client wrote there has the prefix `models/`.
 */
export function decodeRequest(body: JsonObject, _context: CodecContext): ModelRequest {
  const fields = copyInCamelCase(body)
  const at: Places = {}
  const model = takeString(fields, 'model') ?? ''
  const request: ModelRequest = {
    model: model.startsWith(modelPrefix) ? model.slice(modelPrefix.length) : model,
    turns: [],
    stream: takeBoolean(fields, 'stream') ?? false,
  }
  const system = decodeSystem(takeAny(fields, 'systemInstruction'), pointerOf(body, 'systemInstruction'))
  if (system !== undefined) request.turns.push(system)
  append(request.turns, decodeContents(takeAny(fields, 'contents'), pointerOf(body, 'contents')))
  put(request, 'tools', decodeTools(fields, body))
  const config = takeObject(fields, 'generationConfig')
  if (config !== undefined) decodeGeneration(config, fields, request)
  const tier = takeString(fields, 'serviceTier')
  if (tier !== undefined && tier.toLowerCase() !== 'unspecified') request.serviceTier = decodeTier(tier)
  dropNulls(fields)
  const extra = leftover(fields)
  if (extra !== undefined) request.extra = { gemini: extra }
  notePlaces(request, body, at)
  request.at = at
  return request
}

function decodeGeneration(config: JsonObject, fields: Unread, request: ModelRequest): void {
  const inner = copyInCamelCase(config)
  put(request, 'sampling', filled(decodeSampling(inner)))
  put(request, 'reasoning', decodeThinking(inner))
  put(request, 'output', filled(decodeOutput(inner)))
  dropNulls(inner)
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, 'generationConfig', rest)
}

const filled = <T extends object>(group: T): T | undefined => (Object.keys(group).length === 0 ? undefined : group)

const isStrings = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

function decodeSampling(config: Unread): Sampling {
  const sampling: Sampling = {}
  put(sampling, 'temperature', takeNumber(config, 'temperature'))
  put(sampling, 'topP', takeNumber(config, 'topP'))
  put(sampling, 'topK', takeNumber(config, 'topK'))
  put(sampling, 'seed', takeNumber(config, 'seed'))
  put(sampling, 'presencePenalty', takeNumber(config, 'presencePenalty'))
  put(sampling, 'frequencyPenalty', takeNumber(config, 'frequencyPenalty'))
  put(sampling, 'stop', take(config, 'stopSequences', isStrings))
  put(sampling, 'maxTokens', takeNumber(config, 'maxOutputTokens'))
  put(sampling, 'choices', takeNumber(config, 'candidateCount'))
  return sampling
}

function decodeOutput(config: Unread): Output {
  const output: Output = {}
  decodeFormat(config, output)
  const modalities = take(config, 'responseModalities', isStrings)
  if (modalities !== undefined) output.modalities = modalities.map((modality) => modality.toLowerCase())
  if (config.responseLogprobs === true) {
    drop(config, 'responseLogprobs')
    output.logprobs = takeNumber(config, 'logprobs') ?? 0
  }
  return output
}

function decodeFormat(config: Unread, output: Output): void {
  const type = config.responseMimeType
  const full = config.responseJsonSchema
  const subset = config.responseSchema
  if (type === 'text/plain' && full == null && subset == null) output.format = { type: 'text' }
  else if (type === 'application/json' || (type == null && (isObject(full) || isObject(subset)))) {
    output.format = { type: 'json' }
    // This format always enforces the schema.
    if (isObject(full) || isObject(subset)) output.format.strict = true
    if (isObject(full)) output.format.schema = lowerTypes(full)
    else if (isObject(subset)) output.format.schema = fromOpenApi(subset)
    if (isObject(full)) drop(config, 'responseJsonSchema')
    else if (isObject(subset)) drop(config, 'responseSchema')
  } else return
  drop(config, 'responseMimeType')
}

const schemaFields = ['/generationConfig/responseSchema', '/generationConfig/responseJsonSchema'] as const

/** Notes the JSON Pointer of each IR field, in the client's spelling. */
function notePlaces(request: ModelRequest, body: JsonObject, at: Places): void {
  const names: FieldName[] = []
  const groups = {
    sampling: request.sampling,
    tools: request.tools,
    reasoning: request.reasoning,
    output: request.output,
  }
  for (const [group, values] of Object.entries(groups))
    for (const key of Object.keys(values ?? {})) {
      const name = `${group}.${key}`
      if (name in fieldPointers) names.push(name as FieldName)
    }
  if (request.serviceTier !== undefined) names.push('serviceTier')
  for (const name of names) at[name] = spelledPointer(body, fieldPointers[name])
  if (at['output.format'] === undefined) return
  // Reports about a schema name the schema's field, not `responseMimeType`.
  for (const path of schemaFields) {
    const spelled = spelledPointer(body, path)
    if (spelled.split('/').length === path.split('/').length) at['output.format'] = spelled
  }
}

/** Returns the pointer in the client's spelling, up to the deepest member that exists. */
function spelledPointer(body: JsonObject, path: string): string {
  let node: Json | undefined = body
  let out = ''
  for (const step of path.slice(1).split('/')) {
    if (!isObject(node)) return out
    const key: string = spellingOf(node, step)
    if (node[key] === undefined) return out
    out += `/${key}`
    node = node[key]
  }
  return out
}

/**
 * Decodes contents to turns. Adjacent contents of the model are one turn, and so are adjacent contents that hold only
 * function responses.
 */
function decodeContents(contents: Json | undefined, at: string): Turn[] {
  const list = Array.isArray(contents) ? contents : contents === undefined ? [] : [contents]
  const turns: Turn[] = []
  const ids = createCallIds()
  let answers: Turn | undefined
  for (const [index, content] of list.entries()) {
    const place = Array.isArray(contents) ? pointer(at, index) : at
    const turn = decodeContent(content, place, {
      callId: (id, name, part) => ids.callId(id, name, index, part),
      responseId: (id, name, part) => ids.responseId(id, name, index, part),
    })
    if (turn === undefined) continue
    const last = turns.at(-1)
    if (turn.role === 'assistant') {
      const same = last?.role === 'assistant' && last.extra === undefined && turn.extra === undefined
      const target: Turn = same ? last : { ...turn, parts: [] }
      appendModelParts(target.parts, turn.parts)
      if (!same) turns.push(target)
      answers = undefined
      continue
    }
    const pure = turn.role === 'user' && turn.extra === undefined && isAllResults(turn)
    if (pure && answers !== undefined) {
      append(answers.parts, turn.parts)
      continue
    }
    answers = pure ? turn : undefined
    turns.push(turn)
  }
  return turns
}

/**
 * Appends parts to a model turn. Chats store a streamed response as one content for each chunk: texts continue, thoughts
 * continue until their signature, and empty texts are left out.
 */
function appendModelParts(parts: Part[], next: readonly Part[]): void {
  for (const [position, part] of next.entries()) {
    // A turn with only an empty text keeps it.
    if (parts.length > 0 && isPlainText(part) && part.text === '') continue
    const [only, second] = parts
    if (only !== undefined && second === undefined && isPlainText(only) && only.text === '') parts.pop()
    const last = parts.at(-1)
    const goesOn = position === 0
    if (goesOn && last !== undefined && isPlainText(last) && isPlainText(part) && !isSignedText(next[position + 1]))
      last.text += part.text
    else if (last?.type === 'reasoning' && part.type === 'reasoning' && continues(last, part, goesOn)) {
      last.text += part.text
      put(last, 'seal', part.seal)
      put(last, 'summary', part.summary)
      if (!goesOn) foldThoughts(parts)
    } else parts.push(part)
  }
}

/** Joins thoughts within one content: a foreign signature covers all pieces of a streamed thought. */
function foldThoughts(parts: Part[]): void {
  for (;;) {
    const [before, last] = parts.slice(-2)
    if (before?.type !== 'reasoning' || last?.type !== 'reasoning' || !continues(before, last, true)) return
    before.text += last.text
    put(before, 'seal', last.seal)
    put(before, 'summary', last.summary)
    parts.pop()
  }
}

const isPlainText = (part: Part): part is TextPart => part.type === 'text' && part.extra === undefined
const isSignedText = (part: Part | undefined): boolean =>
  part?.type === 'reasoning' && readSignaturePart(part)?.kind === 'text'

/** Within one content, only a foreign signature without text belongs to the thought before it: Google signs each part. */
function continues(last: ReasoningPart, next: ReasoningPart, goesOn: boolean): boolean {
  if (last.seal !== undefined || last.redacted || next.redacted) return false
  if (last.extra !== undefined || next.extra !== undefined || readSignaturePart(next) !== undefined) return false
  return goesOn || (next.text === '' && next.seal !== undefined && next.seal.issuer !== 'gemini')
}

const isAllResults = ({ parts }: Turn): boolean =>
  parts.length > 0 && parts.every((part) => part.type === 'tool-result')

/** Decodes a content. SDKs also write a bare text or a bare part, which servers accept. */
function decodeContent(content: Json, at: string, scope: PartScope): Turn | undefined {
  if (typeof content === 'string') return { role: 'user', parts: [{ type: 'text', text: content, at }], at }
  if (!isObject(content)) return undefined
  if (content.parts === undefined && content.role === undefined)
    return { role: 'user', parts: decodeParts([content], at, scope).map((part) => ({ ...part, at })), at }
  const fields = copyInCamelCase(content)
  const role = takeString(fields, 'role')?.toLowerCase()
  const parts = decodeParts(takeAny(fields, 'parts'), pointer(at, 'parts'), scope)
  const turn: Turn = { role: role === 'model' || role === 'assistant' ? 'assistant' : 'user', parts, at }
  const rest = leftover(fields)
  if (rest !== undefined) turn.extra = { gemini: rest }
  return turn
}

/** Decodes the system instruction: a text, or a content whose role is ignored. */
function decodeSystem(value: Json | undefined, at: string): Turn | undefined {
  if (value === undefined || value === null) return undefined
  const scope: PartScope = { callId: (id) => id ?? '', responseId: (id) => id ?? '' }
  const turn = Array.isArray(value)
    ? { role: 'system' as const, parts: decodeParts(value, at, scope), at }
    : decodeContent(value, at, scope)
  if (turn === undefined) return undefined
  return { ...turn, role: 'system' }
}

/** Returns the JSON Pointer of the contents or of the instruction, in the client's spelling. */
const pointerOf = (body: JsonObject, name: 'contents' | 'systemInstruction'): string => `/${spellingOf(body, name)}`
