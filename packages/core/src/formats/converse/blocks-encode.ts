import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type { NativePart, Part, ReasoningPart, RefusalPart, TextPart, ToolCallPart, ToolResultPart } from '../ir.ts'
import type { ToolIds } from '../messages/tool-ids.ts'
import { loss, ownExtra } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import { inputObject } from '../shared/tool-input.ts'
import { cachePoint } from './cache.ts'
import { type DocumentNames, encodeMedia } from './media.ts'
import type { ConverseTraits } from './models.ts'

/** What encoding a request's parts needs beside the report. */
export interface BlockContext extends CodecContext {
  readonly ids: ToolIds
  readonly names: DocumentNames
  readonly traits: ConverseTraits
}

/** A part's block, with the mark for the cache behind it; nothing where nothing is to be sent, and the report says what. */
export function encodePart(part: Part, role: 'user' | 'assistant', context: BlockContext): JsonObject[] {
  const block = encodeBlock(part, role, context)
  if (block === undefined) {
    cachePoint(part, undefined, context)
    return []
  }
  // Claude takes no mark behind its own thinking.
  return [block, ...cachePoint(part, part.type === 'reasoning' ? undefined : context.traits.cache, context)]
}

function encodeBlock(part: Part, role: 'user' | 'assistant', context: BlockContext): JsonObject | undefined {
  switch (part.type) {
    case 'text':
      return encodeText(part, context)
    case 'refusal':
      return encodeRefusal(part, context)
    case 'media':
      return encodeMedia(part, role, context.names, context)
    case 'reasoning':
      return role === 'assistant' ? encodeReasoning(part, context) : misplaced(part, role, context)
    case 'tool-call':
      return role === 'assistant' ? encodeCall(part, context) : misplaced(part, role, context)
    case 'tool-result':
      return role === 'user' ? encodeResult(part, context) : misplaced(part, role, context)
    case 'native':
      return encodeNative(part, context)
    default:
      return part satisfies never
  }
}

function misplaced(part: Part, role: string, context: CodecContext): undefined {
  context.report.add(loss(part.at ?? '', `a ${part.type} part cannot stand in a message of the ${role}`))
}

/** Bedrock refuses text without a visible character. */
function encodeText(part: TextPart, { report }: CodecContext): JsonObject | undefined {
  const { type: _, text, citations, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const own = ownExtra(extra, 'converse', at, report)
  if (text.trim() === '') {
    if (text !== '')
      report.add(loss(at, 'text of blanks alone is refused upstream and left out', 'unsupported', 'note'))
    return undefined
  }
  if (citations !== undefined && citations.length > 0)
    report.add(loss(at, 'citations are not sent back', 'unsupported', 'note'))
  return { ...own, text }
}

function encodeRefusal(part: RefusalPart, context: CodecContext): JsonObject | undefined {
  const { type: _, text, cache: _cache, extra, at, ...rest } = part
  rest satisfies Nothing
  context.report.add(loss(at ?? '', 'an earlier refusal is sent as text', 'approximated', 'note'))
  return encodeText({ type: 'text', text, ...(extra && { extra }), ...(at !== undefined && { at }) }, context)
}

/** Only who signed reasoning takes it back, and what came without a signature is refused by most models. */
function encodeReasoning(part: ReasoningPart, { report }: CodecContext): JsonObject | undefined {
  const { type: _, text, summary: _summary, redacted, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  if (seal?.issuer !== 'converse' || seal.data === '') {
    const why = seal === undefined || seal.data === '' ? 'nobody signed it' : 'another provider signed it'
    report.add(loss(at, `earlier reasoning is withheld: ${why}`, 'unsupported', 'note'))
    return undefined
  }
  const own = ownExtra(extra, 'converse', at, report)
  return {
    reasoningContent: redacted
      ? { ...own, redactedContent: seal.data }
      : { ...own, reasoningText: { text, signature: seal.data } },
  }
}

function encodeCall(part: ToolCallPart, context: BlockContext): JsonObject {
  const { type: _, id, name, input: _input, custom: _custom, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  if (name === '') report.add(loss(at, 'a tool needs a name, this one has none', 'unsupported', 'fatal'))
  if (seal !== undefined)
    report.add(loss(at, 'the signature of a tool call can be read by its issuer only', 'unsupported', 'note'))
  const own = ownExtra(extra, 'converse', at, report)
  return { toolUse: { ...own, toolUseId: context.ids.ofCall(id), name, input: inputObject(part, report) } }
}

function encodeResult(part: ToolResultPart, context: BlockContext): JsonObject {
  // The name stands in the call that the id names; Converse does not repeat it.
  const { type: _, callId, name: _name, parts, isError, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report, traits } = context
  const content = parts.flatMap((inner): JsonObject[] => {
    cachePoint(inner, undefined, context)
    const block = inner.type === 'tool-result' ? misplaced(inner, 'tool', context) : encodeBlock(inner, 'user', context)
    return block === undefined ? [] : [block]
  })
  const result: JsonObject = {
    ...ownExtra(extra, 'converse', at, report),
    toolUseId: context.ids.ofResult(callId),
    content,
  }
  // That a call went well is what a result says anyway.
  if (isError === true && traits.resultStatus) result.status = 'error'
  else if (isError === true) report.add(loss(at, 'the model is not told that the tool failed, but by its words'))
  return { toolResult: result }
}

function encodeNative(part: NativePart, { report }: CodecContext): JsonObject | undefined {
  const { type: _, format, value, incidental, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  ownExtra(extra, 'converse', at, report)
  if (format === 'converse') return value
  const what = typeof value.type === 'string' ? `a ${value.type} block` : 'a block of another format'
  report.add(loss(at, `${what} has no counterpart in Converse`, 'unsupported', incidental ? 'note' : 'warn'))
  return undefined
}
