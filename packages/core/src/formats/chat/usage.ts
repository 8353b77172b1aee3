import type { Json, JsonObject, Usage } from '../ir.ts'
import { isObject } from '../shared/reader.ts'
import { type Nothing, put } from '../shared/strict.ts'
import { usageBeside as beside, type IsShown, type UsageFields } from '../shared/usage-report.ts'

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Reads every vendor's usage object; undefined if it counts nothing. Totals come out inclusive, as the IR wants them. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const prompt = count(value.prompt_tokens)
  const completion = count(value.completion_tokens)
  if (prompt === undefined && completion === undefined) return undefined
  const input = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {}
  const output = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {}
  const reasoning = count(output.reasoning_tokens)
  const usage: Usage = {
    input: { total: prompt ?? 0 },
    output: { total: wholeOutput(prompt ?? 0, completion ?? 0, reasoning, count(value.total_tokens)) },
    raw: { format: 'chat', value },
  }
  // Where each vendor says how much of the prompt came from its cache.
  put(
    usage.input,
    'cacheRead',
    count(input.cached_tokens) ??
      count(value.prompt_cache_hit_tokens) ??
      count(value.num_cached_tokens) ??
      count(value.cached_tokens),
  )
  put(usage.input, 'cacheWrite', count(input.cache_write_tokens) ?? count(value.cache_creation_input_tokens))
  put(usage.input, 'audio', count(input.audio_tokens))
  put(usage.input, 'image', count(input.image_tokens))
  put(usage.output, 'reasoning', reasoning)
  put(usage.output, 'audio', count(output.audio_tokens))
  put(usage.output, 'image', count(output.image_tokens))
  return usage
}

/** xAI, and Google's compatible endpoint, leave the reasoning out of completion_tokens; the total betrays it. */
function wholeOutput(prompt: number, completion: number, reasoning: number | undefined, total: number | undefined) {
  const hidden = total === undefined ? 0 : total - prompt - completion
  return hidden > 0 && (reasoning === undefined || hidden === reasoning) ? completion + hidden : completion
}

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
