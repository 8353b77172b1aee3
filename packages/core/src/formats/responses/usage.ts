import type { Json, JsonObject, Usage } from '../ir.ts'
import { isObject } from '../shared/reader.ts'
import { type Nothing, put } from '../shared/strict.ts'
import { usageBeside as beside, type IsShown, type UsageFields } from '../shared/usage-report.ts'

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Undefined if the object counts nothing. Totals are inclusive here as in the IR: cached ⊂ input, reasoning ⊂ output. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = count(value.input_tokens)
  const output = count(value.output_tokens)
  if (input === undefined && output === undefined) return undefined
  const read = isObject(value.input_tokens_details) ? value.input_tokens_details : {}
  const written = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  const usage: Usage = {
    input: { total: input ?? 0 },
    output: { total: output ?? 0 },
    raw: { format: 'responses', value },
  }
  put(usage.input, 'cacheRead', count(read.cached_tokens))
  put(usage.input, 'cacheWrite', count(read.cache_write_tokens))
  put(usage.input, 'audio', count(read.audio_tokens))
  put(usage.input, 'image', count(read.image_tokens))
  put(usage.output, 'reasoning', count(written.reasoning_tokens))
  put(usage.output, 'audio', count(written.audio_tokens))
  put(usage.output, 'image', count(written.image_tokens))
  return usage
}

/** The details are required by the format's clients: what nobody counted is 0. */
export function encodeUsage(usage: Usage): JsonObject {
  const { input, output, raw, ...rest } = usage
  rest satisfies Nothing
  const { total: read, cacheRead, cacheWrite, cacheWrite1h: _, audio, image, tool: _tool, ...inputRest } = input
  inputRest satisfies Nothing
  const { total: written, reasoning, audio: spoken, image: drawn, ...outputRest } = output
  outputRest satisfies Nothing
  const own = raw?.format === 'responses' ? raw.value : {}
  const inputDetails: JsonObject = {
    ...(isObject(own.input_tokens_details) ? own.input_tokens_details : undefined),
    cached_tokens: cacheRead ?? 0,
  }
  put(inputDetails, 'cache_write_tokens', cacheWrite)
  put(inputDetails, 'audio_tokens', audio)
  put(inputDetails, 'image_tokens', image)
  const outputDetails: JsonObject = {
    ...(isObject(own.output_tokens_details) ? own.output_tokens_details : undefined),
    reasoning_tokens: reasoning ?? 0,
  }
  put(outputDetails, 'audio_tokens', spoken)
  put(outputDetails, 'image_tokens', drawn)
  return {
    ...own,
    input_tokens: read,
    input_tokens_details: inputDetails,
    output_tokens: written,
    output_tokens_details: outputDetails,
    total_tokens: read + written,
  }
}

/** Clients repeat the call in a hot loop, or fail, where usage is null: an answer that nobody counted says zeros. */
export const noUsage: Usage = { input: { total: 0 }, output: { total: 0 } }

const usageFields = {
  input_tokens: 'told',
  output_tokens: 'told',
  total_tokens: 'told',
  input_tokens_details: {
    cached_tokens: 'usage.cacheRead',
    cache_write_tokens: 'usage.cacheWrite',
    audio_tokens: 'usage.audio',
    image_tokens: 'usage.image',
  },
  output_tokens_details: {
    reasoning_tokens: 'usage.reasoning',
    audio_tokens: 'usage.audio',
    image_tokens: 'usage.image',
  },
} as const satisfies UsageFields
export const usageBeside = (usage: JsonObject, isShown: IsShown): string[] => beside(usage, usageFields, isShown)
