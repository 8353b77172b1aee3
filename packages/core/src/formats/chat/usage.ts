import { isObject, type JsonObject, put } from '../../base/json/json.ts'
import type { UsageFields } from '../capabilities.ts'
import type { Nothing, Usage } from '../ir.ts'

export { decodeUsage, usageOf } from './wire.ts'

/**
 * Encodes usage. Clients add up details without checking their presence, so that usage of another format gets all members of the
 * specification: zero reasoning tokens without reasoning, none if the upstream did not count them. Text tokens are the rest of the total.
 */
export function encodeUsage(usage: Usage, reasoned = false): JsonObject {
  const { input, output, raw, billed: _billed, ...rest } = usage
  rest satisfies Nothing
  const {
    total: prompt,
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
  const { total: completion, reasoning, audio: spoken, image: drawn, ...outputRest } = output
  outputRest satisfies Nothing
  const foreign = raw?.format !== 'chat'
  const own = foreign ? {} : raw.value
  const inputDetails: JsonObject = isObject(own.prompt_tokens_details) ? { ...own.prompt_tokens_details } : {}
  const zero = foreign ? 0 : undefined
  put(inputDetails, 'cached_tokens', cacheRead ?? zero)
  put(inputDetails, 'cache_write_tokens', cacheWrite)
  if (foreign) inputDetails.text_tokens = remainder(prompt, audio, image)
  put(inputDetails, 'audio_tokens', audio ?? zero)
  put(inputDetails, 'image_tokens', image ?? zero)
  const outputDetails: JsonObject = isObject(own.completion_tokens_details) ? { ...own.completion_tokens_details } : {}
  put(outputDetails, 'reasoning_tokens', reasoning ?? (reasoned ? undefined : zero))
  if (foreign && (reasoning !== undefined || !reasoned))
    outputDetails.text_tokens = remainder(completion, spoken, drawn, reasoning)
  put(outputDetails, 'audio_tokens', spoken ?? zero)
  put(outputDetails, 'image_tokens', drawn)
  const out: JsonObject = {
    ...own,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  }
  if (Object.keys(inputDetails).length > 0) out.prompt_tokens_details = inputDetails
  if (Object.keys(outputDetails).length > 0) out.completion_tokens_details = outputDetails
  return out
}

/** Returns a total minus its parts, at least 0. */
const remainder = (total: number, ...parts: (number | undefined)[]): number =>
  Math.max(
    0,
    parts.reduce<number>((left, part) => left - (part ?? 0), total),
  )

/** Fields of OpenAI, and equivalent fields of compatible providers. */
export const usageFields = {
  prompt_tokens: 'shown',
  completion_tokens: 'shown',
  total_tokens: 'shown',
  prompt_tokens_details: {
    text_tokens: 'shown',
    cached_tokens: 'usage.cacheRead',
    cache_write_tokens: 'usage.cacheWrite',
    audio_tokens: 'usage.audio',
    image_tokens: 'usage.image',
  },
  completion_tokens_details: {
    text_tokens: 'shown',
    reasoning_tokens: 'usage.reasoning',
    audio_tokens: 'usage.audio',
    image_tokens: 'usage.image',
  },
  prompt_cache_hit_tokens: 'usage.cacheRead',
  prompt_cache_miss_tokens: 'shown',
  num_cached_tokens: 'usage.cacheRead',
  cached_tokens: 'usage.cacheRead',
  cache_creation_input_tokens: 'usage.cacheWrite',
} as const satisfies UsageFields
