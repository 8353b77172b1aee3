import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext, ExchangeContext } from '../codec.ts'
import type {
  Choice,
  ModelRequest,
  ModelResponse,
  NativePart,
  Nothing,
  Part,
  ReasoningPart,
  Sealed,
  ToolCallPart,
} from '../ir.ts'
import { callSealFields, reportLostSeal, sealForCarrier } from '../shared/call-seals.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { reportEnding } from '../shared/response-losses.ts'
import { writeSeal } from '../shared/seals.ts'
import { inputObject } from '../shared/tools.ts'
import { reportCache } from './cache.ts'
import { encodeCitation } from './citations.ts'
import { encodeFinish, heldBy } from './finish.ts'
import { encodeChecks } from './input-transformations.ts'
import { encodeUsage, reportTier } from './usage.ts'

/** Throws GatewayError for an answer that ended in an error: there is no stop reason that says so. */
export function encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject {
  const { id, model, created: _, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  const [choice, ...others] = choices
  for (const [index] of others.entries())
    context.report.add(loss(`/choices/${index + 1}`, 'messages carries one answer; the others are left out'))
  const { parts, finish, logprobs, extra: choiceExtra, ...choiceRest } = choice ?? noChoice
  choiceRest satisfies Nothing
  const at = '/choices/0'
  if (logprobs !== undefined) context.report.add(loss(`${at}/logprobs`, 'messages has no log probabilities'))
  checkFinish(finish, parts.length > 0)
  reportEnding(finish, { pause: true }, at, context)
  reportTier(serviceTier, usage, context.report)
  const ending = ownExtra(choiceExtra, 'messages', at, context.report)
  ownExtra(finish.extra, 'messages', at, context.report)
  return {
    ...encodeChecks(reasoningChecks, context),
    ...ownExtra(extra, 'messages', '', context.report),
    id: id || context.newId('msg_'),
    type: 'message',
    role: 'assistant',
    model: model || context.request.model,
    content: sealsBeforeText(parts).flatMap((part) => encodeAnswerPart(part, context)),
    ...encodeFinish(finish, heldBy(parts)),
    ...ending,
    usage: encodeUsage(usage, serviceTier),
  }
}

const noChoice: Choice = { parts: [], finish: { reason: 'other' } }

/** An answer that ended in an error is told as one, and so is one that says nothing and ended for no reason known here. */
export function checkFinish({ reason, raw, explanation }: Choice['finish'], said: boolean): void {
  if (reason === 'error' || (reason === 'other' && !said && raw?.format !== 'messages'))
    throw new GatewayError('upstream_error', explanation ?? 'The upstream ended its answer with an error.')
}

/**
 * An answer's part as the blocks that stand for it; none (and a report) where this format has no form for it. Blocks come
 * whole; the stream's encoder takes them apart again.
 */
export function encodeAnswerPart(part: Part, context: ExchangeContext): JsonObject[] {
  if (part.cache !== undefined) reportCache(part, context)
  switch (part.type) {
    case 'text':
      return [encodeText(part, context)]
    case 'refusal': {
      const { type: _, text, cache: _cache, extra, at = '', ...rest } = part
      rest satisfies Nothing
      return [{ ...ownExtra(extra, 'messages', at, context.report), type: 'text', text }]
    }
    case 'reasoning':
      return encodeReasoning(part, context)
    case 'tool-call':
      return encodeCall(part, context)
    case 'native':
      return encodeNative(part, context)
    case 'media':
    case 'tool-result': {
      const what = part.type === 'media' ? part.kind : 'a tool result'
      context.report.add(loss(part.at ?? '', `${what} has no form in an answer of messages and is left out`))
      return []
    }
    default:
      return part satisfies never
  }
}

function encodeText(part: Part & { type: 'text' }, context: CodecContext): JsonObject {
  const { type: _, text, citations, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const out: JsonObject = { ...ownExtra(extra, 'messages', at, context.report), type: 'text', text }
  const wire = (citations ?? []).flatMap((citation) => encodeCitation(citation, at, context) ?? [])
  if (wire.length > 0) out.citations = wire
  return out
}

function encodeReasoning(part: ReasoningPart, context: ExchangeContext): JsonObject[] {
  if (part.text !== '' || part.redacted === true || mayBeEmpty(part.seal, context.request))
    return thinkingBlocks(part, context)
  ownExtra(part.extra, 'messages', part.at ?? '', context.report)
  if (part.seal !== undefined) reportLostSeal(part.at ?? '', context)
  return []
}

/** Reasoning of other formats becomes thinking, with a signature that tells Anthropic's from theirs when it comes back. */
export function thinkingBlocks(part: ReasoningPart, context: CodecContext): JsonObject[] {
  const { type: _, text, summary: _summary, redacted, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const own = ownExtra(extra, 'messages', at, context.report)
  const signature = seal === undefined ? unsigned : writeSeal(seal, 'messages')
  if (!redacted) return [{ ...own, type: 'thinking', thinking: text, signature }]
  if (seal !== undefined) return [{ ...own, type: 'redacted_thinking', data: signature }]
  context.report.add(loss(at, 'withheld reasoning without a seal says nothing and is left out', 'unsupported', 'note'))
  return []
}

/** The `signature` for reasoning that has none: recognised, and not taken for Anthropic's, when it comes back. */
export const unsigned = writeSeal({ issuer: 'chat', data: '' }, 'messages')

function encodeCall(part: ToolCallPart, context: ExchangeContext): JsonObject[] {
  const { type: _, id, name, input: _input, custom: _custom, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const call = {
    ...ownExtra(extra, 'messages', at, context.report),
    type: 'tool_use',
    id: id || context.newId('toolu_'),
    name,
    input: inputObject(part, context.report),
  }
  if (seal === undefined) return [call]
  return expectsThinking(context.request)
    ? [carrierOf(call, seal), call]
    : [{ ...call, ...callSealFields(seal, 'messages') }]
}

function encodeNative(part: NativePart, context: CodecContext): JsonObject[] {
  const { type: _, format, value, incidental, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  ownExtra(extra, 'messages', at, context.report)
  if (format === 'messages') return [value]
  const what = typeof value.type === 'string' ? `a ${value.type} block` : 'a block of another format'
  context.report.add(loss(at, `${what} has no counterpart in messages`, 'unsupported', incidental ? 'note' : 'warn'))
  return []
}

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

/** The block that carries a call's seal. */
export const carrierOf = (call: Pick<ToolCallPart, 'id'>, seal: Sealed): JsonObject => ({
  type: 'thinking',
  thinking: '',
  signature: writeSeal(sealForCarrier(call, seal), 'messages'),
})

/**
 * A seal on the text before it. Agents take the last block of an answer for what it says: behind the last text such a block
 * would hide it.
 */
export const isBareSeal = (part: Part): boolean =>
  part.type === 'reasoning' && part.text === '' && part.redacted !== true && part.seal !== undefined

/** The parts with the seals behind the last text in front of it. */
function sealsBeforeText(parts: readonly Part[]): readonly Part[] {
  let end = parts.length
  while (end > 0 && isBareSeal(parts[end - 1] as Part)) end--
  if (end === parts.length || parts[end - 1]?.type !== 'text') return parts
  return [...parts.slice(0, end - 1), ...parts.slice(end), parts[end - 1] as Part]
}
