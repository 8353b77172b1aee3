import type { CodecContext } from '../codec.ts'
import type { Format, JsonObject, Part, ReasoningPart, Sealed, ToolCallPart } from '../ir.ts'
import { drop, isObject, type Unread } from './reader.ts'
import { loss } from './report.ts'
import { readSeal, writeSeal } from './seals.ts'

/**
 * In dialects whose tool calls have no field that clients send back untouched, a call's seal travels in an empty piece of
 * reasoning beside it, with the call's id in front of its data.
 */
const mark = '@call:'

/** Whether a mark says what a seal belongs to: something else than the reasoning that carries it. No vendor's seal begins so. */
export const isMarked = ({ data }: Sealed): boolean => data.startsWith('@')

/** The seal of the reasoning that carries a call's seal. */
export const carriedSeal = (call: Pick<ToolCallPart, 'id'>, { issuer, data }: Sealed): Sealed => ({
  issuer,
  data: `${mark}${encodeURIComponent(call.id)}:${data}`,
})

/**
 * Clients that did not ask for reasoning read the first block of an answer as text or a call. For them a call's seal stands in
 * a field of the call itself, the one that chat has for it. SDKs that send calls back as they came keep it.
 */
export const callSealFields = (seal: Sealed, format: Format): { extra_content: JsonObject } => ({
  extra_content: { seal: writeSeal(seal, format) },
})

/** Takes such a seal off a call. What else may stand in that field stays. */
export function takeCallSeal(fields: Unread, format: Format): Sealed | undefined {
  const content = fields.extra_content
  if (!isObject(content) || typeof content.seal !== 'string' || Object.keys(content).length > 1) return undefined
  drop(fields, 'extra_content')
  return readSeal(content.seal, format)
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
