import type { Json, Usage } from '../ir.ts'
import { isObject, type Unread } from '../shared/reader.ts'
import { put } from '../shared/strict.ts'

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Groq's older models count in `x_groq`, Moonshot's in the choice. */
export const groqUsage = (fields: Unread): Json | undefined =>
  isObject(fields.x_groq) ? fields.x_groq.usage : undefined
export function lastChoiceUsage(choices: readonly Json[]): Json | undefined {
  const last = choices[choices.length - 1]
  return isObject(last) ? last.usage : undefined
}

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
