import { isObject, type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import { isNumber } from '../../base/json/parse.ts'
import type { Report } from '../ir.ts'
import { type Members, reportField, reportUnknown, shapeOf } from '../shared/report.ts'
import { reportLogprobs } from '../shared/response-losses.ts'

const geminiToken: Members = { token: true, tokenId: true, logProbability: true }
/** `logProbabilitySum` is known, because it follows from the tokens. */
const geminiShape = shapeOf({
  chosenCandidates: geminiToken,
  topCandidates: { candidates: geminiToken },
  logProbabilitySum: true,
})
const token: Members = { token: true, logprob: true, bytes: true, token_id: true }
const shape = shapeOf({ content: { ...token, top_logprobs: token }, refusal: true })

/**
 * Decodes the log probabilities of a candidate, and reports unknown members.
 *
 * @param at JSON Pointer of `logprobsResult`
 */
export function decodeLogprobs(result: Json | undefined, at: string, report: Report): JsonObject | undefined {
  const decoded = decodeResult(result)
  if (decoded !== undefined && isObject(result)) reportUnknown(result, geminiShape, at, report)
  return decoded
}

/**
 * Encodes log probabilities, and reports members that the format lacks.
 *
 * @param choice index of their choice
 */
export function encodeLogprobs(logprobs: Json | undefined, choice: number, report: Report): JsonObject | undefined {
  if (logprobs === undefined) return undefined
  reportLogprobs(logprobs, shape, choice, report)
  if (isObject(logprobs) && Array.isArray(logprobs.content))
    for (const [index, one] of logprobs.content.entries())
      if (isObject(one) && ![one, ...arrayOrEmpty(one.top_logprobs)].every(hasBytesOfText))
        reportField('bytes', pointer(`/choices/${choice}/logprobs/content`, index), report)
  return encodeResult(logprobs)
}

/** Returns whether a token's bytes are those of its text. The bytes of one character can span several tokens. */
function hasBytesOfText(one: Json): boolean {
  const { token: text, bytes } = isObject(one) ? one : {}
  if (!Array.isArray(bytes) || typeof text !== 'string' || bytes.length === text.length) return true
  return bytes.length === encoder.encode(text).length
}

const arrayOrEmpty = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])
const encoder = new TextEncoder()

/** Converts to the IR's shape, which is that of chat: `{content: [{token, logprob, bytes, top_logprobs}], refusal}`. */
function decodeResult(result: Json | undefined): JsonObject | undefined {
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
  const text = typeof candidate.token === 'string' ? candidate.token : ''
  const out: JsonObject = {
    token: text,
    logprob: isNumber(candidate.logProbability) ? (candidate.logProbability as number) : 0,
    bytes: [...encoder.encode(text)],
  }
  if (isNumber(candidate.tokenId)) out.token_id = candidate.tokenId as number
  return out
}

function encodeResult(logprobs: Json | undefined): JsonObject | undefined {
  if (!isObject(logprobs) || !Array.isArray(logprobs.content)) return undefined
  const tokens = logprobs.content.filter(isObject)
  if (tokens.length === 0) return undefined
  const out: JsonObject = { chosenCandidates: tokens.map(encodeToken) }
  const tops = tokens.map(({ top_logprobs: top }) => (Array.isArray(top) ? top.filter(isObject) : []))
  if (tops.some((list) => list.length > 0))
    out.topCandidates = tops.map((list) => ({ candidates: list.map(encodeToken) }))
  return out
}

function encodeToken({ token: text = '', logprob = 0, token_id: id }: JsonObject): JsonObject {
  const out: JsonObject = { token: text, logProbability: logprob }
  if (isNumber(id)) out.tokenId = id as number
  return out
}

/** Concatenates two lists of log probabilities. */
export function joinLogprobs(first: JsonObject | undefined, second: JsonObject | undefined): JsonObject | undefined {
  if (first === undefined || second === undefined) return first ?? second
  const list = (value: JsonObject): Json[] => (Array.isArray(value.content) ? value.content : [])
  return { ...first, content: [...list(first), ...list(second)] }
}
