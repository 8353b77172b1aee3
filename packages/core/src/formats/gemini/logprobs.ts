import { isNumber } from '../../json/exact-number.ts'
import type { Json, JsonObject } from '../ir.ts'
import { isObject } from '../shared/reader.ts'

/** In the IR log probabilities look as in chat: `{content: [{token, logprob, bytes, top_logprobs}], refusal}`. */
export function decodeLogprobs(result: Json | undefined): JsonObject | undefined {
  if (!isObject(result) || !Array.isArray(result.chosenCandidates)) return undefined
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : []
  const content = result.chosenCandidates.filter(isObject).map((chosen, index) => {
    const top = tops[index]
    const others = isObject(top) && Array.isArray(top.candidates) ? top.candidates.filter(isObject) : []
    return { ...decodeToken(chosen), top_logprobs: others.map(decodeToken) }
  })
  return content.length === 0 ? undefined : { content, refusal: null }
}

function decodeToken(candidate: JsonObject): JsonObject {
  const token = typeof candidate.token === 'string' ? candidate.token : ''
  const out: JsonObject = {
    token,
    logprob: isNumber(candidate.logProbability) ? (candidate.logProbability as number) : 0,
    bytes: [...new TextEncoder().encode(token)],
  }
  if (isNumber(candidate.tokenId)) out.token_id = candidate.tokenId as number
  return out
}

export function encodeLogprobs(logprobs: Json | undefined): JsonObject | undefined {
  if (!isObject(logprobs) || !Array.isArray(logprobs.content)) return undefined
  const tokens = logprobs.content.filter(isObject)
  if (tokens.length === 0) return undefined
  const out: JsonObject = { chosenCandidates: tokens.map(encodeToken) }
  const tops = tokens.map((token) => (Array.isArray(token.top_logprobs) ? token.top_logprobs.filter(isObject) : []))
  if (tops.some((list) => list.length > 0))
    out.topCandidates = tops.map((list) => ({ candidates: list.map(encodeToken) }))
  return out
}

function encodeToken(token: JsonObject): JsonObject {
  const out: JsonObject = { token: token.token ?? '', logProbability: token.logprob ?? 0 }
  if (isNumber(token.token_id)) out.tokenId = token.token_id as number
  return out
}

/** Two stretches of log probabilities as one. */
export function joinLogprobs(first: JsonObject | undefined, second: JsonObject | undefined): JsonObject | undefined {
  if (first === undefined || second === undefined) return first ?? second
  const list = (value: JsonObject): Json[] => (Array.isArray(value.content) ? value.content : [])
  return { ...first, content: [...list(first), ...list(second)] }
}
