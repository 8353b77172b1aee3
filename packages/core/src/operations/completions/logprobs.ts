import { isObject } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import { setOwn } from '../../formats/shared/own-members.ts'

/**
 * Chat's log probabilities (`{content: [{token, logprob, top_logprobs}]}`) as completions have them: four lists side by side.
 * Undefined for what holds none.
 *
 * @param offset characters in front of the first token
 */
export function encodeLogprobs(value: Json | undefined, offset: number): JsonObject | undefined {
  if (!isObject(value) || !Array.isArray(value.content) || value.content.length === 0) return undefined
  const tokens: string[] = []
  const places: number[] = []
  const chosen: Json[] = []
  const tops: JsonObject[] = []
  let at = offset
  for (const item of value.content.filter(isObject)) {
    const token = typeof item.token === 'string' ? item.token : ''
    tokens.push(token)
    places.push(at)
    chosen.push(item.logprob ?? null)
    tops.push(topOf(item.top_logprobs))
    at += token.length
  }
  return { tokens, token_logprobs: chosen, top_logprobs: tops, text_offset: places }
}

function topOf(list: Json | undefined): JsonObject {
  const top: JsonObject = {}
  for (const item of Array.isArray(list) ? list : [])
    if (isObject(item) && typeof item.token === 'string') setOwn(top, item.token, item.logprob ?? null)
  return top
}
