import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import type { Report } from '../ir.ts'
import { type Members, shapeOf } from '../shared/report.ts'
import { reportLogprobs } from '../shared/response-losses.ts'

const token: Members = { token: true, logprob: true, bytes: true }
const shape = shapeOf({ content: { ...token, top_logprobs: token }, refusal: true })

/** Encodes log probabilities as a list of tokens, and reports members that Ollama lacks. */
export function encodeLogprobs(logprobs: Json | undefined, report: Report): JsonObject[] | undefined {
  if (!isObject(logprobs)) return undefined
  reportLogprobs(logprobs, shape, 0, report)
  const { content } = logprobs
  const tokens = Array.isArray(content) ? content.filter(isObject) : []
  return tokens.length === 0 ? undefined : tokens.map(encodeToken)
}

function encodeToken(source: JsonObject): JsonObject {
  const { token: text = '', logprob = 0, bytes, top_logprobs: others } = source
  const out: JsonObject = { token: text, logprob }
  put(out, 'bytes', bytes ?? undefined)
  if (Array.isArray(others) && others.length > 0) out.top_logprobs = others.filter(isObject).map(encodeToken)
  return out
}
