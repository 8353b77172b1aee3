import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { Usage } from '../ir.ts'
import type { Unread } from '../shared/json-fields.ts'

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Groq's older models report usage in `x_groq`, Moonshot's models in the choice. */
export const groqUsage = (fields: Unread): Json | undefined =>
  isObject(fields.x_groq) ? fields.x_groq.usage : undefined
export function lastChoiceUsage(choices: readonly Json[]): Json | undefined {
  const last = choices[choices.length - 1]
  return isObject(last) ? last.usage : undefined
}

/** Decodes the usage object of any provider; undefined without counts. Totals include their parts, as in the IR. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const prompt = count(value.prompt_tokens)
  const completion = count(value.completion_tokens)
  if (prompt === undefined && completion === undefined) return undefined
  const input = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {}
  const output = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {}
  const counts: Counts = {
    prompt: prompt ?? 0,
    completion: completion ?? 0,
    total: count(value.total_tokens),
    // The cached part of the prompt, by provider.
    cacheRead:
      count(input.cached_tokens) ??
      count(value.prompt_cache_hit_tokens) ??
      count(value.num_cached_tokens) ??
      count(value.cached_tokens),
    cacheWrite: count(input.cache_write_tokens) ?? count(value.cache_creation_input_tokens),
    audio: count(input.audio_tokens),
    reasoning: count(output.reasoning_tokens),
  }
  const { read, written } = totalsOf(counts)
  const usage: Usage = { input: { total: read }, output: { total: written }, raw: { format: 'chat', value } }
  put(usage.input, 'cacheRead', counts.cacheRead)
  put(usage.input, 'cacheWrite', writtenWithin(read, counts))
  put(usage.input, 'audio', counts.audio)
  put(usage.input, 'image', count(input.image_tokens))
  put(usage.output, 'reasoning', counts.reasoning)
  put(usage.output, 'audio', count(output.audio_tokens))
  put(usage.output, 'image', count(output.image_tokens))
  return usage
}

interface Counts {
  readonly prompt: number
  readonly completion: number
  readonly total: number | undefined
  readonly cacheRead: number | undefined
  readonly cacheWrite: number | undefined
  readonly audio: number | undefined
  readonly reasoning: number | undefined
}

/**
 * Completes the totals. Some providers leave a part out of `prompt_tokens` or `completion_tokens`. The total shows the number of missing tokens,
 * and the part with that number was left out: Mistral's audio input, a separate cache count, reasoning of xAI and of Google's endpoint.
 */
function totalsOf({ prompt, completion, total, cacheRead = 0, cacheWrite = 0, audio, reasoning }: Counts): {
  readonly read: number
  readonly written: number
} {
  const cached = cacheRead + cacheWrite
  const missing = total === undefined ? 0 : total - prompt - completion
  if (missing > 0 && missing === reasoning) return { read: prompt, written: completion + missing }
  if (missing > 0 && (missing === audio || missing === cached)) return { read: prompt + missing, written: completion }
  // Azure's Grok: the cached tokens exceed the prompt tokens.
  if (cacheRead > prompt) return { read: prompt + cached, written: completion }
  return { read: prompt, written: missing > 0 && reasoning === undefined ? completion + missing : completion }
}

/** OpenRouter may count the same tokens as read from and as written to the cache. */
const writtenWithin = (read: number, { cacheRead = 0, cacheWrite }: Counts): number | undefined =>
  cacheWrite === undefined ? undefined : Math.min(cacheWrite, Math.max(0, read - cacheRead))

/** Returns whether a usage object has chat's fields. */
export const isChatUsage = (value: JsonObject): boolean =>
  typeof value.prompt_tokens === 'number' && value.input_tokens === undefined
