import type { JsonObject, Usage } from '../ir.ts'
import { isObject } from '../shared/reader.ts'
import { type Nothing, put } from '../shared/strict.ts'
import { usageBeside as beside, type IsShown, type UsageFields } from '../shared/usage-report.ts'

export { decodeUsage, groqUsage, lastChoiceUsage } from './usage-decode.ts'

/**
 * Clients add up the details without looking whether they are there, so another format's usage gets them too: an answer
 * that did not `reason` cost no tokens of reasoning; of one that did, an upstream may not say how many.
 */
export function encodeUsage(usage: Usage, reasoned = false): JsonObject {
  const { input, output, raw, ...rest } = usage
  rest satisfies Nothing
  const { total: prompt, cacheRead, cacheWrite, cacheWrite1h: _, audio, image, tool: _tool, ...inputRest } = input
  inputRest satisfies Nothing
  const { total: completion, reasoning, audio: spoken, image: drawn, ...outputRest } = output
  outputRest satisfies Nothing
  const foreign = raw?.format !== 'chat'
  const own = foreign ? {} : raw.value
  const inputDetails: JsonObject = isObject(own.prompt_tokens_details) ? { ...own.prompt_tokens_details } : {}
  put(inputDetails, 'cached_tokens', cacheRead ?? (foreign ? 0 : undefined))
  put(inputDetails, 'cache_write_tokens', cacheWrite)
  put(inputDetails, 'audio_tokens', audio)
  put(inputDetails, 'image_tokens', image)
  const outputDetails: JsonObject = isObject(own.completion_tokens_details) ? { ...own.completion_tokens_details } : {}
  put(outputDetails, 'reasoning_tokens', reasoning ?? (foreign && !reasoned ? 0 : undefined))
  put(outputDetails, 'audio_tokens', spoken)
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

/** OpenAI's fields and those of its vendors that say the same. */
const usageFields = {
  prompt_tokens: 'told',
  completion_tokens: 'told',
  total_tokens: 'told',
  prompt_tokens_details: {
    text_tokens: 'told',
    cached_tokens: 'usage.cacheRead',
    cache_write_tokens: 'usage.cacheWrite',
    audio_tokens: 'usage.audio',
    image_tokens: 'usage.image',
  },
  completion_tokens_details: {
    text_tokens: 'told',
    reasoning_tokens: 'usage.reasoning',
    audio_tokens: 'usage.audio',
    image_tokens: 'usage.image',
  },
  prompt_cache_hit_tokens: 'usage.cacheRead',
  prompt_cache_miss_tokens: 'told',
  num_cached_tokens: 'usage.cacheRead',
  cached_tokens: 'usage.cacheRead',
  cache_creation_input_tokens: 'usage.cacheWrite',
} as const satisfies UsageFields
export const usageBeside = (usage: JsonObject, isShown: IsShown): string[] => beside(usage, usageFields, isShown)
