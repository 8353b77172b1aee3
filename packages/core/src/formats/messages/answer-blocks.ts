import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext, ExchangeContext } from '../codec.ts'
import type { ModelRequest, NativePart, Part, ReasoningPart, ToolCallPart } from '../ir.ts'
import { callSealFields, reportLostSeal } from '../shared/call-seals.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { writeSeal } from '../shared/seals.ts'
import type { Nothing } from '../shared/strict.ts'
import { customInput, inputObject, isCustomTool } from '../shared/tool-input.ts'
import { raiseToolName } from '../shared/tool-names.ts'
import { reportCache } from './cache.ts'
import { encodeCitation } from './citations.ts'
import { toolNames } from './fields.ts'
import { carrierOf, expectsThinking, mayBeEmpty, unsigned } from './seal-carrier.ts'

/**
 * An answer's part as the blocks that stand for it; none (and a report) where this format has no form for it. Blocks come
 * whole; the stream's encoder takes them apart again.
 */
export function encodeAnswerPart(part: Part, context: ExchangeContext): JsonObject[] {
  reportCache(part, context)
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

/** A call under the client's own name of the tool; a call of the function that stood for a custom tool is one of that tool. */
export function restoreCall(part: ToolCallPart, request: ModelRequest): ToolCallPart {
  const name = raiseToolName(part.name, request, toolNames)
  const call = name === part.name ? part : { ...part, name }
  return isCustomTool(name, request) ? { ...call, custom: true, input: customInput(part.input) } : call
}
