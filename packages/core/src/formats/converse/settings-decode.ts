import { isObject, type Json, put } from '../../base/json/json.ts'
import { parseInnerJson } from '../../base/json/parse.ts'
import type { CodecContext } from '../codec.ts'
import type { Effort, ModelRequest, Output, Reasoning, Sampling } from '../ir.ts'
import { decodeThinking } from '../messages/thinking-decode.ts'
import {
  drop,
  dropNulls,
  leftover,
  putBack,
  take,
  takeNumber,
  takeObject,
  takeString,
  type Unread,
  unread,
} from '../shared/json-fields.ts'
import { isEffort } from './fields.ts'

type Places = { [irField: string]: string }

const additionalAt = '/additionalModelRequestFields'

/**
 * Decodes the settings of a request: sampling, reasoning, output, metadata and tier. Unknown fields stay in `fields`.
 *
 * @param at receives the places of fields that the table of the format does not hold
 */
export function decodeSettings(request: ModelRequest, fields: Unread, at: Places, context: CodecContext): void {
  const inference = unread(takeObject(fields, 'inferenceConfig') ?? {})
  const additional = unread(takeObject(fields, 'additionalModelRequestFields') ?? {})
  const output = unread(takeObject(fields, 'outputConfig') ?? {})
  put(request, 'sampling', filled(decodeSampling(inference, additional, at)))
  put(request, 'reasoning', decodeReasoning(additional, output, at, context))
  put(request, 'output', filled(decodeOutput(output)))
  keepUnread(fields, 'inferenceConfig', inference)
  keepUnread(fields, 'additionalModelRequestFields', additional)
  keepUnread(fields, 'outputConfig', output)
  put(request, 'metadata', take(fields, 'requestMetadata', isTexts))
  const tier = unread(takeObject(fields, 'serviceTier') ?? {})
  put(request, 'serviceTier', takeString(tier, 'type'))
  keepUnread(fields, 'serviceTier', tier)
  decodeResponsePaths(fields)
}

const filled = <T extends object>(group: T): T | undefined => (Object.keys(group).length === 0 ? undefined : group)

/** Puts the unread fields of a nested object back in its place. */
export function keepUnread(fields: Unread, key: string, inner: Unread): void {
  dropNulls(inner)
  const rest = leftover(inner)
  if (rest !== undefined) putBack(fields, key, rest)
}

const isTexts = (value: Json): value is Record<string, string> =>
  isObject(value) && Object.values(value).every((text) => typeof text === 'string')

const isList = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

function decodeSampling(inference: Unread, additional: Unread, at: Places): Sampling {
  const sampling: Sampling = {}
  put(sampling, 'maxTokens', takeNumber(inference, 'maxTokens'))
  put(sampling, 'temperature', takeNumber(inference, 'temperature'))
  put(sampling, 'topP', takeNumber(inference, 'topP'))
  put(sampling, 'stop', take(inference, 'stopSequences', isList))
  const nested = unread(isObject(additional.inferenceConfig) ? additional.inferenceConfig : {})
  for (const [holder, name, place] of [
    [additional, 'top_k', additionalAt],
    [nested, 'topK', `${additionalAt}/inferenceConfig`],
  ] as const) {
    const topK = sampling.topK === undefined ? takeNumber(holder, name) : undefined
    if (topK === undefined) continue
    sampling.topK = topK
    at['sampling.topK'] = `${place}/${name}`
  }
  if (isObject(additional.inferenceConfig)) {
    drop(additional, 'inferenceConfig')
    keepUnread(additional, 'inferenceConfig', nested)
  }
  return sampling
}

/**
 * Decodes how much the model reasons. Converse has an effort of its own; everything else stands in the fields of the model's vendor:
 * Anthropic's `thinking`, OpenAI's `reasoning_effort`, Amazon's `reasoningConfig`, and `reasoning_config`, which several models read.
 */
function decodeReasoning(additional: Unread, output: Unread, at: Places, context: CodecContext): Reasoning | undefined {
  const claude = unread(isObject(additional.output_config) ? additional.output_config : {})
  const common = take(output, 'effort', isEffort)
  const reasoning: Reasoning = decodeThinking(additional, claude, context, additionalAt) ?? {}
  if (isObject(additional.output_config)) {
    if (claude.effort === undefined) at['reasoning.effort'] = `${additionalAt}/output_config/effort`
    drop(additional, 'output_config')
    keepUnread(additional, 'output_config', claude)
  }
  if (common !== undefined) {
    reasoning.effort = common
    at['reasoning.effort'] = '/outputConfig/effort'
    // An effort alone asks for a thorough response, not for reasoning.
    if (Object.keys(reasoning).length === 1) reasoning.adaptive = false
  }
  for (const decode of vendorFields) {
    if (reasoning.effort !== undefined || reasoning.budgetTokens !== undefined || reasoning.off !== undefined) break
    decode(additional, reasoning, at)
  }
  return filled(reasoning)
}

type VendorField = (additional: Unread, reasoning: Reasoning, at: Places) => void

const vendorFields: readonly VendorField[] = [
  (additional, reasoning, at) => readEffort(additional, 'reasoning_effort', additionalAt, reasoning, at),
  (additional, reasoning, at) => {
    readEffort(additional, 'reasoning_config', additionalAt, reasoning, at)
    readConfig(additional, 'reasoning_config', reasoning, at)
  },
  (additional, reasoning, at) => readConfig(additional, 'reasoningConfig', reasoning, at),
]

const efforts: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const isAnyEffort = (value: Json): value is Effort => efforts.some((effort) => effort === value)

function readEffort(from: Unread, name: string, place: string, reasoning: Reasoning, at: Places): void {
  const effort = take(from, name, isAnyEffort)
  if (effort === undefined) return
  reasoning.effort = effort
  at['reasoning.effort'] = `${place}/${name}`
}

/** Decodes `{type: 'enabled' | 'disabled'}` with a budget or an effort. An object with a type of its own stays unread. */
function readConfig(additional: Unread, name: string, reasoning: Reasoning, at: Places): void {
  const config = additional[name]
  if (!isObject(config) || (config.type !== 'enabled' && config.type !== 'disabled')) return
  const inner = unread(config)
  const place = `${additionalAt}/${name}`
  if (config.type === 'disabled') {
    reasoning.off = true
    at['reasoning.off'] = place
  } else {
    const budget = takeNumber(inner, 'budget_tokens')
    if (budget !== undefined) {
      reasoning.budgetTokens = budget
      at['reasoning.budgetTokens'] = `${place}/budget_tokens`
    } else readEffort(inner, 'maxReasoningEffort', place, reasoning, at)
    if (reasoning.budgetTokens === undefined && reasoning.effort === undefined) return
  }
  drop(inner, 'type')
  drop(additional, name)
  keepUnread(additional, name, inner)
}

function decodeOutput(fields: Unread): Output {
  const output: Output = {}
  const { textFormat } = fields
  if (!isObject(textFormat) || textFormat.type !== 'json_schema' || !isObject(textFormat.structure)) return output
  const { type: _, structure, ...others } = textFormat
  const { jsonSchema, ...beside } = structure
  if (!isObject(jsonSchema)) return output
  const inner = unread(jsonSchema)
  const schema = typeof inner.schema === 'string' ? parseInnerJson(inner.schema) : undefined
  if (!isObject(schema)) return output
  drop(inner, 'schema')
  // Bedrock always enforces the schema.
  const format: JsonFormat = { type: 'json', schema, strict: true }
  put(format, 'name', takeString(inner, 'name'))
  put(format, 'description', takeString(inner, 'description'))
  output.format = format
  const rest = leftover({ ...inner, ...beside, ...others })
  drop(fields, 'textFormat')
  if (rest !== undefined) putBack(fields, 'textFormat', rest)
  return output
}

type JsonFormat = Extract<NonNullable<Output['format']>, { type: 'json' }>

/** The stop sequence is part of every response that names one. Other paths have a meaning for Bedrock only. */
function decodeResponsePaths(fields: Unread): void {
  const paths = take(fields, 'additionalModelResponseFieldPaths', isList)
  const others = (paths ?? []).filter((path) => path !== '/stop_sequence')
  if (others.length > 0) putBack(fields, 'additionalModelResponseFieldPaths', others)
}
