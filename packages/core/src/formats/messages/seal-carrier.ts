import type { CodecContext } from '../codec.ts'
import type { JsonObject, Part, ReasoningPart, Sealed, ToolCallPart } from '../ir.ts'
import { loss } from '../shared/report.ts'
import { readSeal, writeSeal } from '../shared/seals.ts'

/**
 * Seals in this dialect. A thinking block's `signature` holds a foreign seal as it is. A tool call has no field that
 * clients send back untouched, so its seal travels in an empty thinking block beside it, with the call's id in front.
 */
const callMark = '@call:'

/** What a `signature` or `data` stands for. Undefined: reasoning of another format that nobody sealed. */
export function openSeal(text: string): Sealed | undefined {
  const seal = readSeal(text, 'messages')
  return seal.issuer !== 'messages' && seal.data === '' ? undefined : seal
}

/** The `signature` for reasoning that has none: recognised, and not taken for Anthropic's, when it comes back. */
export const unsigned = writeSeal({ issuer: 'chat', data: '' }, 'messages')

/** The block that carries a call's seal. */
export const carrierOf = (call: Pick<ToolCallPart, 'id'>, seal: Sealed): JsonObject => ({
  type: 'thinking',
  thinking: '',
  signature: writeSeal(
    { issuer: seal.issuer, data: `${callMark}${encodeURIComponent(call.id)}:${seal.data}` },
    'messages',
  ),
})

/** Puts carried seals back onto their calls, and takes their carriers out. */
export function attachCallSeals(parts: Part[], context: CodecContext): Part[] {
  if (!parts.some(isCarrier)) return parts
  const calls = new Map<string, ToolCallPart>()
  for (const part of parts) if (part.type === 'tool-call') calls.set(encodeURIComponent(part.id), part)
  return parts.filter((part) => {
    if (!isCarrier(part)) return true
    const { issuer, data } = part.seal
    const colon = data.indexOf(':', callMark.length)
    const call = calls.get(data.slice(callMark.length, colon))
    if (call === undefined)
      context.report.add(
        loss(part.at ?? '', 'the tool call that this signature belongs to is gone', 'unsupported', 'note'),
      )
    else call.seal = { issuer, data: data.slice(colon + 1) }
    return false
  })
}

const isCarrier = (part: Part): part is ReasoningPart & { seal: Sealed } =>
  part.type === 'reasoning' &&
  part.text === '' &&
  part.seal !== undefined &&
  part.seal.issuer !== 'messages' &&
  part.seal.data.startsWith(callMark)
