import { put } from '../../base/json/object.ts'
import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type {
  NativePart,
  Part,
  ReasoningPart,
  RefusalPart,
  TextPart,
  Tool,
  ToolCallPart,
  ToolResultPart,
} from '../ir.ts'
import { areReferences } from '../shared/found-tools.ts'
import { loss, ownExtra } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import { inputObject } from '../shared/tool-input.ts'
import { encodeCache, reportCache } from './cache.ts'
import { encodeCitation, isOwnCitation } from './citations.ts'
import { encodeMedia } from './media.ts'
import type { ToolIds } from './tool-ids.ts'

/** What encoding a request's parts needs beside the report. */
export interface BlockContext extends CodecContext {
  readonly ids: ToolIds
  readonly tools: ToolContext
}

/** What encoding the tools that turns add needs. */
interface ToolContext {
  /** The client speaks messages itself. */
  readonly isOwn: boolean
  /** Names of tools that are known to the upstream so far. */
  readonly offered: Set<string>
  encode(tool: Tool): JsonObject[]
}

/** A part of a request's message as blocks; none where nothing is to be sent (and the report says what, unless it said nothing). */
export function encodePart(part: Part, role: 'user' | 'assistant', context: BlockContext): JsonObject[] {
  switch (part.type) {
    case 'text':
      return encodeText(part, context)
    case 'refusal':
      return encodeRefusal(part, context)
    case 'media':
      return list(encodeMedia(part, role, context))
    case 'reasoning':
      return role === 'assistant' ? encodeReasoning(part, context) : misplaced(part, role, context)
    case 'tool-call':
      return role === 'assistant' ? [encodeCall(part, context)] : misplaced(part, role, context)
    case 'tool-result':
      return role === 'user' ? [encodeResult(part, context)] : misplaced(part, role, context)
    case 'native':
      return encodeNative(part, context)
    default:
      return part satisfies never
  }
}

const list = (block: JsonObject | undefined): JsonObject[] => (block === undefined ? [] : [block])

function misplaced(part: Part, role: string, context: CodecContext): JsonObject[] {
  context.report.add(loss(part.at ?? '', `a ${part.type} part cannot stand in a message of the ${role}`))
  return []
}

/** Anthropic refuses text blocks without a visible character. */
function encodeText(part: TextPart, context: CodecContext): JsonObject[] {
  const { type: _, text, citations, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const references = extra?.messages?.references
  if (areReferences(references)) return references
  if (text.trim() === '') {
    if (text !== '')
      context.report.add(loss(at, 'text of blanks alone is refused upstream and left out', 'unsupported', 'note'))
    reportCache(part, context)
    return []
  }
  const out: JsonObject = { ...ownExtra(extra, 'messages', at, context.report), type: 'text', text }
  if (citations !== undefined) {
    const own = citations.filter(isOwnCitation)
    if (own.length < citations.length)
      context.report.add(loss(at, 'citations of another provider are not sent back', 'unsupported', 'note'))
    if (own.length > 0) out.citations = own.flatMap((citation) => list(encodeCitation(citation, at, context)))
  }
  encodeCache(out, part)
  return [out]
}

function encodeRefusal(part: RefusalPart, context: CodecContext): JsonObject[] {
  const { type: _, text, cache, extra, at, ...rest } = part
  rest satisfies Nothing
  context.report.add(loss(at ?? '', 'an earlier refusal is sent as text', 'approximated', 'note'))
  return encodeText(
    { type: 'text', text, ...(cache && { cache }), ...(extra && { extra }), ...(at !== undefined && { at }) },
    context,
  )
}

/** Only Anthropic can read its seals, and it takes no reasoning without one. */
function encodeReasoning(part: ReasoningPart, context: CodecContext): JsonObject[] {
  const { type: _, text, summary: _summary, redacted, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  if (seal?.issuer !== 'messages' || seal.data === '') {
    const why = seal === undefined || seal.data === '' ? 'nobody signed it' : 'another provider signed it'
    context.report.add(loss(at, `earlier reasoning is withheld: ${why}`, 'unsupported', 'note'))
    reportCache(part, context)
    return []
  }
  const own = ownExtra(extra, 'messages', at, context.report)
  const out: JsonObject = redacted
    ? { ...own, type: 'redacted_thinking', data: seal.data }
    : { ...own, type: 'thinking', thinking: text, signature: seal.data }
  encodeCache(out, part)
  return [out]
}

/** Other names are made to fit; of none there is nothing to be made. */
export function checkToolName(name: string, at: string, context: CodecContext): void {
  if (name === '') context.report.add(loss(at, 'a tool needs a name, this one has none', 'unsupported', 'fatal'))
}

function encodeCall(part: ToolCallPart, context: BlockContext): JsonObject {
  const { type: _, id, name, input: _input, custom: _custom, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  checkToolName(name, at, context)
  if (seal !== undefined)
    context.report.add(loss(at, 'the signature of a tool call can be read by its issuer only', 'unsupported', 'note'))
  const out: JsonObject = {
    ...ownExtra(extra, 'messages', at, context.report),
    type: 'tool_use',
    id: context.ids.ofCall(id),
    name,
    input: inputObject(part, context.report),
  }
  encodeCache(out, part)
  return out
}

function encodeResult(part: ToolResultPart, context: BlockContext): JsonObject {
  // The name stands in the call that the id names; messages does not repeat it.
  const { type: _, callId, name: _name, parts, isError, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const out: JsonObject = {
    ...ownExtra(extra, 'messages', at, context.report),
    type: 'tool_result',
    tool_use_id: context.ids.ofResult(callId),
  }
  const blocks = parts.flatMap((inner) =>
    inner.type === 'tool-result' ? misplaced(inner, 'tool', context) : encodePart(inner, 'user', context),
  )
  if (blocks.length > 0) out.content = collapse(blocks, parts)
  put(out, 'is_error', isError)
  encodeCache(out, part)
  return out
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
 * One bare text is written as a string if it was written so: where it stood says which. Both mean the same; keeping the
 * spelling keeps a rewritten request recognisable.
 */
export function collapse(blocks: JsonObject[], parts: readonly Part[]): JsonObject[] | string {
  const [first] = blocks
  if (blocks.length !== 1 || first?.type !== 'text' || typeof first.text !== 'string') return blocks
  if (Object.keys(first).length !== 2) return blocks
  const source = parts.find((part) => part.type === 'text' && part.text === first.text)
  return isListItem(source?.at) ? blocks : first.text
}

function isListItem(at: string | undefined): boolean {
  const last = at?.charCodeAt(at.length - 1) ?? 0
  return last >= 48 && last <= 57
}
