import { GatewayError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
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
import { reportFinish } from '../shared/response-losses.ts'
import { writeSeal } from '../shared/seals.ts'
import { inputObject } from '../shared/tools.ts'
import { reportCache } from './cache.ts'
import { encodeCitation } from './citations.ts'
import { encodeFinish, partKindsOf } from './finish.ts'
import { encodeChecks } from './input-transformations.ts'
import { encodeUsage, reportTier } from './usage.ts'

/** Encodes a response. Throws GatewayError for a response that ended in an error, since no stop reason expresses that. */
export function encodeResponse(response: ModelResponse, context: ExchangeContext): JsonObject {
  const { id, model, created: _, choices, usage, serviceTier, reasoningChecks, extra, ...rest } = response
  rest satisfies Nothing
  const [choice, ...others] = choices
  for (const [index] of others.entries())
    context.report.add(loss(`/choices/${index + 1}`, 'messages carries one choice; the others are left out'))
  const { parts, finish, logprobs, extra: choiceExtra, ...choiceRest } = choice ?? noChoice
  choiceRest satisfies Nothing
  const at = '/choices/0'
  if (logprobs !== undefined) context.report.add(loss(`${at}/logprobs`, 'messages has no log probabilities'))
  checkFinish(finish, parts.length > 0)
  reportFinish(finish, { pause: true }, at, context)
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
    content: moveSealsBeforeText(parts).flatMap((part) => encodeResponsePart(part, context)),
    ...encodeFinish(finish, partKindsOf(parts)),
    ...ending,
    usage: encodeUsage(usage, serviceTier),
  }
}

const noChoice: Choice = { parts: [], finish: { reason: 'other' } }

/** Throws GatewayError for a response that ended in an error, and for an empty one that ended for an unknown reason. */
export function checkFinish({ reason, raw, explanation }: Choice['finish'], hasParts: boolean): void {
  if (reason === 'error' || (reason === 'other' && !hasParts && raw?.format !== 'messages'))
    throw new GatewayError('upstream_error', explanation ?? 'The upstream ended its response with an error.')
}

/**
 * Encodes a part of a response as whole blocks, which the stream encoder splits again. A part without a form in messages is reported,
 * and becomes no block.
 */
export function encodeResponsePart(part: Part, context: ExchangeContext): JsonObject[] {
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
      context.report.add(loss(part.at ?? '', `${what} cannot be part of a messages response and is left out`))
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
  if (part.text !== '' || part.redacted === true || acceptsEmptyThinking(part.seal, context.request))
    return thinkingBlocks(part, context)
  ownExtra(part.extra, 'messages', part.at ?? '', context.report)
  if (part.seal !== undefined) reportLostSeal(part.at ?? '', context)
  return []
}

/** Encodes reasoning of any format as thinking. The signature distinguishes Anthropic's seals from others when the block is sent again. */
export function thinkingBlocks(part: ReasoningPart, context: CodecContext): JsonObject[] {
  const { type: _, text, summary: _summary, redacted, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const extraFields = ownExtra(extra, 'messages', at, context.report)
  const signature = seal === undefined ? unsignedSignature : writeSeal(seal, 'messages')
  if (!redacted) return [{ ...extraFields, type: 'thinking', thinking: text, signature }]
  if (seal !== undefined) return [{ ...extraFields, type: 'redacted_thinking', data: signature }]
  context.report.add(loss(at, 'withheld reasoning without a seal is empty and left out', 'unsupported', 'note'))
  return []
}

/** The `signature` of reasoning without a seal. It is recognised, and not mistaken for Anthropic's, when the block comes back. */
export const unsignedSignature = writeSeal({ issuer: 'chat', data: '' }, 'messages')

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
    ? [callSealBlock(call, seal), call]
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
 * Returns whether the client sent `thinking`. Other clients expect text or a call in `content[0]`, so no empty thinking block may come
 * first.
 */
export const expectsThinking = ({ reasoning, extra }: ModelRequest): boolean =>
  reasoning?.adaptive === true || reasoning?.budgetTokens !== undefined || extra?.messages?.thinking !== undefined

/** Returns whether a thinking block without text may be sent. Anthropic's own may: its clients know that thinking can be withheld. */
export const acceptsEmptyThinking = (seal: Sealed | undefined, request: ModelRequest): boolean =>
  seal?.issuer === 'messages' || expectsThinking(request)

/** Returns the thinking block that carries a call's seal. */
export const callSealBlock = (call: Pick<ToolCallPart, 'id'>, seal: Sealed): JsonObject => ({
  type: 'thinking',
  thinking: '',
  signature: writeSeal(sealForCarrier(call, seal), 'messages'),
})

/**
 * Returns whether the part is a seal without text. Agents print the last block of a response, so such a block after the last text would
 * hide it.
 */
export const isSealOnly = (part: Part): boolean =>
  part.type === 'reasoning' && part.text === '' && part.redacted !== true && part.seal !== undefined

/** Moves the seals after the last text in front of it. */
function moveSealsBeforeText(parts: readonly Part[]): readonly Part[] {
  let end = parts.length
  while (end > 0 && isSealOnly(parts[end - 1] as Part)) end--
  if (end === parts.length || parts[end - 1]?.type !== 'text') return parts
  return [...parts.slice(0, end - 1), ...parts.slice(end), parts[end - 1] as Part]
}
