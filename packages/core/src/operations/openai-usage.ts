import { isObject, put } from '../base/json/object.ts'
import type { Json } from '../base/json/types.ts'
import { decodeUsage as decodeChatUsage, isChatUsage } from '../formats/chat/usage-decode.ts'
import type { BillableUnits, Usage } from '../formats/ir.ts'

const count = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Usage as OpenAI's images and audio count it; undefined if it counts no tokens. */
export function decodeUsage(value: Json | undefined): Usage | undefined {
  if (!isObject(value)) return undefined
  // Mistral's transcriptions count as chat does.
  if (isChatUsage(value)) return decodeChatUsage(value)
  const read = count(value.input_tokens)
  const written = count(value.output_tokens)
  if (read === undefined && written === undefined) return undefined
  const usage: Usage = { input: { total: read ?? 0 }, output: { total: written ?? 0 } }
  const input = isObject(value.input_tokens_details) ? value.input_tokens_details : value.input_token_details
  const output = isObject(value.output_tokens_details) ? value.output_tokens_details : value.output_token_details
  if (isObject(input)) {
    put(usage.input, 'cacheRead', count(input.cached_tokens))
    put(usage.input, 'audio', count(input.audio_tokens))
    put(usage.input, 'image', count(input.image_tokens))
  }
  if (isObject(output)) {
    put(usage.output, 'audio', count(output.audio_tokens))
    put(usage.output, 'image', count(output.image_tokens))
  }
  return usage
}

/** Seconds of audio, where a model is billed by them. */
export function decodeSeconds(usage: Json | undefined, duration: Json | undefined): BillableUnits | undefined {
  const seconds = (isObject(usage) ? count(usage.seconds) : undefined) ?? count(Number(duration ?? Number.NaN))
  return seconds === undefined ? undefined : { seconds }
}
