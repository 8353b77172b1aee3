import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { ModelRequest, Output, Sampling } from '../ir.ts'
import { append } from '../shared/append.ts'
import {
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
} from '../shared/reader.ts'
import { decodeContents, decodeSystem, placeOf } from './contents-decode.ts'
import { decodeTier, type FieldName, fieldPointers } from './fields.ts'
import { fromOpenApi, lowerTypes } from './json-schema.ts'
import { modelPrefix } from './model-prefix.ts'
import { respell, spelt } from './spelling.ts'
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
