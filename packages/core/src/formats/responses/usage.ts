import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { UsageFields } from '../capabilities.ts'
import type { Nothing, Usage } from '../ir.ts'

/** The format's clients require the details: a count that is unknown is written as 0. */
export function encodeUsage(usage: Usage): JsonObject {
  const { input, output, raw, billed: _billed, ...rest } = usage
  rest satisfies Nothing
  const {
    total: read,
    cacheRead,
    cacheWrite,
    cacheWrite1h: _,
    cacheWrite12h: _long,
    audio,
    image,
    tool: _tool,
    ...inputRest
  } = input
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

/** Zeros for a response without usage: clients fail, or repeat the call in a hot loop, if usage is null. */
export const noUsage: Usage = { input: { total: 0 }, output: { total: 0 } }

export const usageFields = {
  input_tokens: 'shown',
  output_tokens: 'shown',
  total_tokens: 'shown',
  input_tokens_details: {
    cached_tokens: 'usage.cacheRead',
    cache_write_tokens: 'usage.cacheWrite',
    cache_write_tokens_details: { ttl_12h_tokens: 'shown', ttl_30m_tokens: 'shown' },
    audio_tokens: 'usage.audio',
    image_tokens: 'usage.image',
  },
  output_tokens_details: {
    reasoning_tokens: 'usage.reasoning',
    audio_tokens: 'usage.audio',
    image_tokens: 'usage.image',
  },
} as const satisfies UsageFields
