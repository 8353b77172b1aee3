import type { JsonObject } from '../../base/json/types.ts'
import type { ModelRequest, Part, Sealed, ToolCallPart } from '../ir.ts'
import { carriedSeal } from '../shared/call-seals.ts'
import { readSeal, writeSeal } from '../shared/seals.ts'

/**
 * Seals in this dialect. A thinking block's `signature` holds a foreign seal as it is; that of a tool call is carried by an
 * empty thinking block beside it, or by the call itself for clients that did not ask for thinking.
 */

/** Whether the client sent `thinking`. Others read `content[0]` as text or a call: no empty block may stand in front. */
export const expectsThinking = ({ reasoning, extra }: ModelRequest): boolean =>
  reasoning?.adaptive === true || reasoning?.budgetTokens !== undefined || extra?.messages?.thinking !== undefined

/**
 * Whether a thinking block without text may stand in an answer. Anthropic's own may: its clients know that thinking can be
 * withheld.
 */
export const mayBeEmpty = (seal: Sealed | undefined, request: ModelRequest): boolean =>
  seal?.issuer === 'messages' || expectsThinking(request)

/** What a `signature` or `data` stands for. Undefined: reasoning of another format that nobody sealed. */
export function openSeal(text: string): Sealed | undefined {
  const seal = readSeal(text, 'messages')
  return seal.issuer !== 'messages' && seal.data === '' ? undefined : seal
}

/** The `signature` for reasoning that has none: recognised, and not taken for Anthropic's, when it comes back. */
export const unsigned = writeSeal({ issuer: 'chat', data: '' }, 'messages')

/**
 * A seal on the text before it. Agents take the last block of an answer for what it says: behind the last text such a block
 * would hide it.
 */
export const isBareSeal = (part: Part): boolean =>
  part.type === 'reasoning' && part.text === '' && part.redacted !== true && part.seal !== undefined

/** The parts with the seals behind the last text in front of it. */
export function sealsBeforeText(parts: readonly Part[]): readonly Part[] {
  let end = parts.length
  while (end > 0 && isBareSeal(parts[end - 1] as Part)) end--
  if (end === parts.length || parts[end - 1]?.type !== 'text') return parts
  return [...parts.slice(0, end - 1), ...parts.slice(end), parts[end - 1] as Part]
}

/** The block that carries a call's seal. */
export const carrierOf = (call: Pick<ToolCallPart, 'id'>, seal: Sealed): JsonObject => ({
  type: 'thinking',
  thinking: '',
  signature: writeSeal(carriedSeal(call, seal), 'messages'),
})
