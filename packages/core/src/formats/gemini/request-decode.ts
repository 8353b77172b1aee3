import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Output, Part, ReasoningPart, Sampling, TextPart, Turn } from '../ir.ts'
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
import { pointer } from '../shared/pointers.ts'
import { createCallIds } from './call-ids.ts'
import { decodeTier, type FieldName, fieldPointers } from './fields.ts'
import { decodeParts, type PartScope } from './parts-decode.ts'
import { fromOpenApi, lowerTypes } from './schema-lowering.ts'
import { signed } from './seals.ts'
import { modelPrefix, respell, spelt } from './spelling.ts'
import { decodeThinking } from './thinking.ts'
import { decodeTools } from './tools.ts'

type Places = { [irField: string]: string }

/**
 * The model and the wish for a stream stand in the URL: whoever reads the URL puts them into the body as `model` and
 * `stream` first. A model that the client itself wrote there has `models/` in front.
 */
export function decodeRequest(body: JsonObject, _context: CodecContext): ModelRequest {
  const fields = respell(body)
  const at: Places = {}
  const model = takeString(fields, 'model') ?? ''
  const request: ModelRequest = {
    model: model.startsWith(modelPrefix) ? model.slice(modelPrefix.length) : model,
    turns: [],
    stream: takeBoolean(fields, 'stream') ?? false,
  }
  const system = decodeSystem(takeAny(fields, 'systemInstruction'), placeOf(body, 'systemInstruction'))
  if (system !== undefined) request.turns.push(system)
  append(request.turns, decodeContents(takeAny(fields, 'contents'), placeOf(body, 'contents')))
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
  const inner = respell(config)
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
    // The model is always held to it here.
    if (isObject(full) || isObject(subset)) output.format.strict = true
    if (isObject(full)) output.format.schema = lowerTypes(full)
    else if (isObject(subset)) output.format.schema = fromOpenApi(subset)
    if (isObject(full)) drop(config, 'responseJsonSchema')
    else if (isObject(subset)) drop(config, 'responseSchema')
  } else return
  drop(config, 'responseMimeType')
}

const schemaFields = ['/generationConfig/responseSchema', '/generationConfig/responseJsonSchema'] as const

/** Which field of the client's spelling stands for each field of the IR. */
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
  // What is said of a schema is said of its own field, not of the type beside it.
  for (const path of schemaFields) {
    const spelled = spelledPointer(body, path)
    if (spelled.split('/').length === path.split('/').length) at['output.format'] = spelled
  }
}

/** The pointer in the client's own spelling, as far as the client went. */
function spelledPointer(body: JsonObject, path: string): string {
  let node: Json | undefined = body
  let out = ''
  for (const step of path.slice(1).split('/')) {
    if (!isObject(node)) return out
    const key: string = spelt(node, step)
    if (node[key] === undefined) return out
    out += `/${key}`
    node = node[key]
  }
  return out
}

/**
 * The conversation as turns. Neighbouring contents of the model are one answer, and those that hold nothing but function
 * responses answer the same turn: they become one.
 */
export function decodeContents(contents: Json | undefined, at: string): Turn[] {
  const list = Array.isArray(contents) ? contents : contents === undefined ? [] : [contents]
  const turns: Turn[] = []
  const ids = createCallIds()
  let answers: Turn | undefined
  for (const [index, content] of list.entries()) {
    const place = Array.isArray(contents) ? pointer(at, index) : at
    const turn = decodeContent(content, place, {
      callId: (id, name, part) => ids.ofCall(id, name, index, part),
      responseId: (id, name, part) => ids.ofResponse(id, name, index, part),
    })
    if (turn === undefined) continue
    const last = turns.at(-1)
    if (turn.role === 'assistant') {
      const same = last?.role === 'assistant' && last.extra === undefined && turn.extra === undefined
      const target: Turn = same ? last : { ...turn, parts: [] }
      continueAnswer(target.parts, turn.parts)
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
 * Chats keep a streamed answer as they got it, one content for each chunk. Adds the next to those before: texts go on,
 * thoughts go on until their signature, and what only filled up is left out.
 */
function continueAnswer(parts: Part[], next: readonly Part[]): void {
  for (const [position, part] of next.entries()) {
    // An answer of nothing but an empty text stays one.
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

/** A streamed answer may also be kept as one content, a part for each piece: a foreign signature is for all of them. */
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
const isSignedText = (part: Part | undefined): boolean => part?.type === 'reasoning' && signed(part)?.kind === 'text'

/** Within one content, only a foreign signature by itself belongs to the thought before: Google signs its own parts. */
function continues(last: ReasoningPart, next: ReasoningPart, goesOn: boolean): boolean {
  if (last.seal !== undefined || last.redacted || next.redacted) return false
  if (last.extra !== undefined || next.extra !== undefined || signed(next) !== undefined) return false
  return goesOn || (next.text === '' && next.seal !== undefined && next.seal.issuer !== 'gemini')
}

const isAllResults = ({ parts }: Turn): boolean =>
  parts.length > 0 && parts.every((part) => part.type === 'tool-result')

/** A content is an object with parts; SDKs also write a bare text or a bare part, and servers take them. */
function decodeContent(content: Json, at: string, scope: PartScope): Turn | undefined {
  if (typeof content === 'string') return { role: 'user', parts: [{ type: 'text', text: content, at }], at }
  if (!isObject(content)) return undefined
  if (content.parts === undefined && content.role === undefined)
    return { role: 'user', parts: decodeParts([content], at, scope).map((part) => ({ ...part, at })), at }
  const fields = respell(content)
  const role = takeString(fields, 'role')?.toLowerCase()
  const parts = decodeParts(takeAny(fields, 'parts'), pointer(at, 'parts'), scope)
  const turn: Turn = { role: role === 'model' || role === 'assistant' ? 'assistant' : 'user', parts, at }
  const rest = leftover(fields)
  if (rest !== undefined) turn.extra = { gemini: rest }
  return turn
}

/** The system instruction: a content, whose role says nothing, or a text. */
export function decodeSystem(value: Json | undefined, at: string): Turn | undefined {
  if (value === undefined || value === null) return undefined
  const scope: PartScope = { callId: (id) => id ?? '', responseId: (id) => id ?? '' }
  const turn = Array.isArray(value)
    ? { role: 'system' as const, parts: decodeParts(value, at, scope), at }
    : decodeContent(value, at, scope)
  if (turn === undefined) return undefined
  return { ...turn, role: 'system' }
}

/** Where the client wrote the contents and the instruction. */
export const placeOf = (body: JsonObject, name: 'contents' | 'systemInstruction'): string => `/${spelt(body, name)}`
