import type { CodecContext } from '../codec.ts'
import type { Format, Part, ReasoningPart, Sealed, ToolCallPart } from '../ir.ts'
import { loss } from './report.ts'

/**
 * In dialects whose tool calls have no field that clients send back untouched, a call's seal travels in an empty piece of
 * reasoning beside it, with the call's id in front of its data.
 */
const mark = '@call:'

/** The seal of the reasoning that carries a call's seal. */
export const carriedSeal = (call: Pick<ToolCallPart, 'id'>, { issuer, data }: Sealed): Sealed => ({
  issuer,
  data: `${mark}${encodeURIComponent(call.id)}:${data}`,
})

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
