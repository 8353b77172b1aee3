import { isObject, type Json, put } from '../../base/json/json.ts'
import type { Usage } from '../ir.ts'

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Decodes usage. Returns undefined without counts. Totals are inclusive, as in the IR: cached ⊂ input, reasoning ⊂ output. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = count(value.input_tokens)
  const output = count(value.output_tokens)
  if (input === undefined && output === undefined) return undefined
  const read = isObject(value.input_tokens_details) ? value.input_tokens_details : {}
  const written = isObject(value.output_tokens_details) ? value.output_tokens_details : {}
  // More cached than input tokens: this server counts them separately.
  const cached = count(read.cached_tokens) ?? 0
  const usage: Usage = {
    input: { total: cached > (input ?? 0) ? (input ?? 0) + cached : (input ?? 0) },
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
