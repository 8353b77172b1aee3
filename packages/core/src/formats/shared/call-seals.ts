import { isObject } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { Format } from '../../base/names.ts'
import type { CodecContext } from '../codec.ts'
import type { Part, ReasoningPart, Sealed, ToolCallPart } from '../ir.ts'
import { drop, type Unread } from './json-fields.ts'
import { loss } from './report.ts'
import { readSeal, writeSeal } from './seals.ts'

/**
 * In dialects whose tool calls have no field that clients send back untouched, a call's seal travels in an empty piece of
 * reasoning beside it, with the call's id in front of its data.
 */
const mark = '@call:'

/** Whether a mark says what a seal belongs to: something else than the reasoning that carries it. No vendor's seal begins so. */
export const isCarriedSeal = ({ data }: Sealed): boolean => data.startsWith('@')

/** The seal of the reasoning that carries a call's seal. */
export const sealForCarrier = (call: Pick<ToolCallPart, 'id'>, { issuer, data }: Sealed): Sealed => ({
  issuer,
  data: `${mark}${encodeURIComponent(call.id)}:${data}`,
})

/**
 * A call's seal in a field of the call itself: the one in which Google's own endpoint for chat has its signatures, because some
 * SDKs send back that one and no other. In messages and responses it is for clients that did not ask for reasoning: they
 * read the first block of an answer as text or a call.
 */
export function callSealFields(seal: Sealed, format: Format): { extra_content: JsonObject } {
  const text = writeSeal(seal, format)
  // A bare one in Google's field would be read as one of an upstream that speaks chat.
  return { extra_content: seal.issuer === format ? { seal: text } : { google: { thought_signature: text } } }
}

/** The seal in such a field; undefined for what was not written here. */
export function foreignSealIn(content: JsonObject, format: Format): Sealed | undefined {
  const { google, seal = isObject(google) ? google.thought_signature : undefined } = content
  if (typeof seal !== 'string' || Object.keys(content).length > 1) return undefined
  const read = readSeal(seal, format)
  return content.seal === undefined && read.issuer === format ? undefined : read
}

/** Takes such a seal off a call. What else may stand in that field stays. */
export function takeCallSeal(fields: Unread, format: Format): Sealed | undefined {
  const content = fields.extra_content
  const seal = isObject(content) ? foreignSealIn(content, format) : undefined
  if (seal !== undefined) drop(fields, 'extra_content')
  return seal
}

export const reportLostSeal = (at: string, context: CodecContext): void =>
  context.report.add(
    loss(
      at,
      'a signature without reasoning is left out: the request does not ask for reasoning',
      'unsupported',
      'note',
    ),
  )

/** Puts carried seals back onto their calls, and takes their carriers out; `own` seals of the dialect carry nothing. */
export function attachCallSeals(parts: Part[], own: Format, context: CodecContext): Part[] {
  const carries = (part: Part): part is ReasoningPart & { seal: Sealed } =>
    part.type === 'reasoning' &&
    part.text === '' &&
    part.seal !== undefined &&
    part.seal.issuer !== own &&
    part.seal.data.startsWith(mark)
  if (!parts.some(carries)) return parts
  const calls = new Map<string, ToolCallPart>()
  for (const part of parts) if (part.type === 'tool-call') calls.set(encodeURIComponent(part.id), part)
  return parts.filter((part) => {
    if (!carries(part)) return true
    const { issuer, data } = part.seal
    const colon = data.indexOf(':', mark.length)
    const call = calls.get(data.slice(mark.length, colon))
    if (call !== undefined) call.seal = { issuer, data: data.slice(colon + 1) }
    else {
      const detail = 'the tool call that this signature belongs to is gone'
      context.report.add(loss(part.at ?? '', detail, 'unsupported', 'note'))
    }
    return false
  })
}
