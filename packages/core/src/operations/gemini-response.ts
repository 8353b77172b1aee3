import { GatewayError } from '../base/errors.ts'
import { isObject, type Json, type JsonObject, pointer } from '../base/json/json.ts'
import { copyInCamelCase } from '../formats/gemini/spelling.ts'

/** Returns all parts of a generateContent response, with their pointers. */
export function candidateParts(body: Json): { readonly part: JsonObject; readonly at: string }[] {
  const { candidates } = isObject(body) ? body : {}
  return (Array.isArray(candidates) ? candidates : []).flatMap((candidate, index) => {
    const { content } = isObject(candidate) ? candidate : {}
    const { parts } = isObject(content) ? content : {}
    const at = `/candidates/${index}/content/parts`
    return (Array.isArray(parts) ? parts : []).flatMap((part, place) =>
      isObject(part) ? [{ part, at: pointer(at, place) }] : [],
    )
  })
}

const blocks: ReadonlySet<string> = new Set([
  'SAFETY',
  'RECITATION',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
])

/** Returns the error for a response without the requested content: the upstream's refusal, or an unusable response. */
export function refusalOf(body: Json, what: string): GatewayError {
  const fields = isObject(body) ? copyInCamelCase(body) : {}
  const feedback = isObject(fields.promptFeedback) ? copyInCamelCase(fields.promptFeedback) : {}
  const [candidate] = Array.isArray(fields.candidates) ? fields.candidates : []
  const { finishReason, finishMessage } = isObject(candidate) ? copyInCamelCase(candidate) : {}
  const reason = typeof feedback.blockReason === 'string' ? feedback.blockReason : finishReason
  const message = [feedback.blockReasonMessage, finishMessage].find((text) => typeof text === 'string')
  if (typeof feedback.blockReason === 'string' || (typeof reason === 'string' && blocks.has(reason)))
    return new GatewayError('invalid_request', message ?? `The upstream rejected this prompt (${String(reason)}).`, {
      code: 'moderation_blocked',
    })
  const word = typeof reason === 'string' ? ` (${reason})` : ''
  const detail = message === undefined ? '' : `: ${message}`
  return new GatewayError('upstream_bad_response', `The upstream responded without ${what}${word}${detail}.`)
}
