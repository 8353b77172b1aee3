import { isObject, type JsonObject } from '../../base/json/json.ts'
import type { SharedFormat } from '../../base/names.ts'
import type { CodecContext } from '../codec.ts'
import type { Part, ReasoningPart, Sealed, ToolCallPart } from '../ir.ts'
import { drop, type Unread } from './json-fields.ts'
import { loss } from './report.ts'
import { readSeal, writeSeal } from './seals.ts'

/**
 * Seals of tool calls. Some formats have no field in a call that clients send back unchanged. There an empty reasoning part next to the
 * call carries the call's seal, with the id of the call in front of the data: `@call:<id>:<data>`.
 */
const mark = '@call:'

/** Returns whether a seal belongs to a part other than the reasoning that carries it. No provider's seal begins with `@`. */
export const isCarriedSeal = ({ data }: Sealed): boolean => data.startsWith('@')

/** Creates the seal of the reasoning part that carries a call's seal. */
export const sealForCarrier = (call: Pick<ToolCallPart, 'id'>, { issuer, data }: Sealed): Sealed => ({
  issuer,
  data: `${mark}${encodeURIComponent(call.id)}:${data}`,
})

/**
 * Returns a call's seal as a field of the call. Google's chat endpoint uses the same field for its signatures, and some SDKs send back only
 * that field. Clients of messages and responses get it if they did not ask for reasoning: they expect no reasoning block.
 */
export function callSealFields(seal: Sealed, format: SharedFormat): { extra_content: JsonObject } {
  const text = writeSeal(seal, format)
  // A bare seal in Google's field would look like a seal of a chat upstream.
  return { extra_content: seal.issuer === format ? { seal: text } : { google: { thought_signature: text } } }
}

/** Reads the seal from such a field; undefined if `callSealFields` did not write it. */
export function foreignSealIn(content: JsonObject, format: SharedFormat): Sealed | undefined {
  const { google, seal = isObject(google) ? google.thought_signature : undefined } = content
  if (typeof seal !== 'string' || Object.keys(content).length > 1) return undefined
  const read = readSeal(seal, format)
  return content.seal === undefined && read.issuer === format ? undefined : read
}

/** Removes such a seal from a call's fields and returns it. Other values of the field stay. */
export function takeCallSeal(fields: Unread, format: SharedFormat): Sealed | undefined {
  const content = fields.extra_content
  const seal = isObject(content) ? foreignSealIn(content, format) : undefined
  if (seal !== undefined) drop(fields, 'extra_content')
  return seal
}

export const reportLostSeal = (at: string, context: CodecContext): void =>
  context.report.add(
    loss(at, 'a signature without reasoning is left out: the request does not enable reasoning', 'unsupported', 'note'),
  )

/** Moves carried seals back to their calls and removes the parts that carried them. Seals that `own` issued carry nothing. */
export function attachCallSeals(parts: Part[], own: SharedFormat, context: CodecContext): Part[] {
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
