import type { Format, UpstreamFormat } from '../base/names.ts'
import type { ModelResponse, ToolCallPart, ToolResultPart } from '../formats/ir.ts'
import { sealPrefix, writeSeal } from '../formats/shared/seals.ts'

/**
 * Most SDKs send back only the id, name and arguments of a tool call. A seal that fits is therefore put into the id; a longer one stays in
 * the fields of the client's format, which fewer SDKs send back:
 *
 *     mgs1.<issuer>.<seal data>.<end of the call's own id>      at most 64 characters
 */

/** The longest id of a call that providers accept. */
const maxIdChars = 64
/** Characters of a call's own id that keep calls distinct. */
const minOwnChars = 6

const plain = /^[A-Za-z0-9+/=_-]+$/
const sealedId = /^mgs1\.([a-z]+)\.([A-Za-z0-9+/=_-]+)\.([A-Za-z0-9_-]+)$/

/** Returns the call with its seal in its id, if another format issued the seal and it fits. */
export function sealInId(part: ToolCallPart, format: Format): ToolCallPart {
  const { seal, ...call } = part
  if (seal === undefined || seal.issuer === format || !plain.test(seal.data)) return part
  const head = `${writeSeal(seal, format)}.`
  const room = maxIdChars - head.length
  const own = room < minOwnChars ? '' : call.id.replaceAll(/[^A-Za-z0-9_-]/g, '').slice(-room)
  return own === '' ? part : { ...call, id: head + own }
}

/** Does the same for all calls of a whole response. */
export function sealCallIds(response: ModelResponse, format: Format): ModelResponse {
  const isSealed = response.choices.some(({ parts }) => parts.some((part) => part.type === 'tool-call' && part.seal))
  if (!isSealed) return response
  const choices = response.choices.map((choice) => ({
    ...choice,
    parts: choice.parts.map((part) => (part.type === 'tool-call' ? sealInId(part, format) : part)),
  }))
  return { ...response, choices }
}

/** Removes the seal from the id of a call or result, and restores it. */
export function unsealCallId(part: ToolCallPart | ToolResultPart): void {
  if (part.type === 'tool-result') {
    if (part.callId.startsWith(sealPrefix)) part.callId = sealedId.exec(part.callId)?.[3] ?? part.callId
    return
  }
  const found = part.id.startsWith(sealPrefix) ? sealedId.exec(part.id) : null
  if (found === null) return
  const [, issuer = '', data = '', id = ''] = found
  part.id = id
  part.seal ??= { issuer: issuer as UpstreamFormat, data }
}
