import { type JsonObject, pointer, put } from '../../base/json/json.ts'
import type { CodecContext } from '../codec.ts'
import type {
  NativePart,
  Nothing,
  Part,
  ReasoningPart,
  RefusalPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../ir.ts'
import { append } from '../shared/json-fields.ts'
import type { ToolIds } from '../shared/names.ts'
import { areToolReferences, loss, ownExtra } from '../shared/report.ts'
import { inputObject } from '../shared/tools.ts'
import { cacheControl, reportCache } from './cache.ts'
import { encodeCitation, isOwnCitation } from './citations.ts'
import { encodeMedia } from './media.ts'
import type { ModelTraits } from './models.ts'
import { type ChangeContext, encodeChanges } from './settings-changes.ts'
import { checkToolName } from './tools.ts'

interface Conversation {
  system?: JsonObject[] | string
  messages: JsonObject[]
  /** The last response called tools, and lacks the thinking that Anthropic requires in front of the calls. */
  lacksReasoning: boolean
}

/** Context for encoding the parts of a request. */
export interface BlockContext extends ChangeContext {
  readonly ids: ToolIds
}

/** A message before it is encoded. */
interface Draft {
  role: 'user' | 'assistant' | 'system'
  blocks: JsonObject[]
  parts: Part[]
  extraFields: JsonObject | undefined
  at: string
}

/**
 * Encodes turns as Anthropic requires them. Leading system turns go to `system`. Users and assistants alternate, and a user begins.
 * Tool results come first in their message, and no message is empty.
 */
export function encodeConversation(turns: readonly Turn[], traits: ModelTraits, context: BlockContext): Conversation {
  const first = turns.findIndex((turn) => !isSystem(turn) || keepsPlace(turn))
  const leading = first < 0 ? turns : turns.slice(0, first)
  const rest = first < 0 ? [] : turns.slice(first)
  const all: Draft[] = []
  for (const turn of rest) {
    const next = encodeTurn(turn, traits, context)
    if (next !== undefined) all.push(next)
  }
  const drafts = mergeNeighbors(placeSystemMessages(all, context))
  const out: Conversation = { messages: [], lacksReasoning: false }

  const systemParts: Part[] = []
  const systemBlocks: JsonObject[] = []
  for (const turn of leading) {
    const parts = systemPartsOf(turn, context)
    append(systemParts, parts)
    append(systemBlocks, encodeParts(turn, parts, 'user', context))
  }
  if (drafts.length === 0 && systemBlocks.length > 0) {
    const at = leading[0]?.at ?? ''
    context.report.add(loss(at, 'a request needs a user message: the system prompt is sent as one', 'moved'))
    drafts.push({ role: 'user', blocks: systemBlocks, parts: systemParts, extraFields: undefined, at })
  } else if (systemBlocks.length > 0) out.system = contentValue(systemBlocks, systemParts)
  normalizeMessages(drafts, context)
  out.messages = drafts.map(({ role, blocks, parts, extraFields }) => ({
    ...extraFields,
    role,
    ...(blocks.length > 0 ? { content: contentValue(blocks, parts) } : {}),
  }))
  out.lacksReasoning = isReasoningMissing(drafts)
  return out
}

const isSystem = (turn: Turn): boolean => turn.role === 'system' || turn.role === 'developer'

/** A message that changes settings (an effort from here on) only works in its place. */
const keepsPlace = (turn: Turn): boolean => turn.extra?.messages !== undefined || turn.changes !== undefined

/** Returns the parts that a system prompt can carry, and reports the others. */
function systemPartsOf(turn: Turn, context: BlockContext): Part[] {
  encodeTurnFields(turn, context)
  return turn.parts.filter((part) => {
    const fits = part.type === 'text' || part.type === 'native' || part.type === 'refusal'
    if (!fits)
      context.report.add(loss(part.at ?? turn.at ?? '', `a system prompt accepts only text: ${part.type} is left out`))
    return fits
  })
}

/** Encodes the fields of a turn other than its role and parts. */
function encodeTurnFields(turn: Turn, context: BlockContext): JsonObject | undefined {
  const { role: _, parts: _parts, name, cache: _cache, extra, at = '', changes: _changes, ...rest } = turn
  rest satisfies Nothing
  if (name !== undefined)
    context.report.add(loss(pointer(at, 'name'), 'messages has no field for the name of a speaker'))
  return ownExtra(extra, 'messages', at, context.report)
}

function encodeTurn(turn: Turn, traits: ModelTraits, context: BlockContext): Draft | undefined {
  const at = turn.at ?? ''
  if (!isSystem(turn)) {
    const role = turn.role === 'assistant' ? 'assistant' : 'user'
    const extraFields = encodeTurnFields(turn, context)
    const blocks = encodeParts(turn, turn.parts, role, context)
    if (blocks.length > 0) return { role, blocks, parts: turn.parts, extraFields, at }
    // A user message that loses all its content changes the question.
    const losesContent = role === 'user' && turn.parts.some((part) => part.type !== 'text' || part.text !== '')
    const detail = losesContent
      ? 'no part of this message can be sent'
      : 'an empty message is not accepted upstream and left out'
    context.report.add(loss(at, detail, 'unsupported', losesContent ? 'fatal' : 'note'))
    return undefined
  }
  const parts = systemPartsOf(turn, context)
  const changes = encodeChanges(turn, traits, context)
  const extraFields =
    turn.extra?.messages === undefined && changes.extraFields === undefined
      ? undefined
      : { ...turn.extra?.messages, ...changes.extraFields }
  const blocks = encodeParts(turn, parts, 'user', context)
  append(blocks, changes.blocks)
  const system: Draft = { role: 'system', blocks, parts, extraFields, at }
  if (traits.systemTurns) return blocks.length === 0 && extraFields === undefined ? undefined : system
  for (const key of Object.keys(extraFields ?? {}))
    context.report.add(
      loss(pointer(at, key), 'it belongs to a system message, which the model does not accept in this place'),
    )
  return blocks.length === 0 ? undefined : asMarkedUserText({ ...system, extraFields: undefined }, context)
}

function encodeParts(
  turn: Turn,
  parts: readonly Part[],
  role: 'user' | 'assistant',
  context: BlockContext,
): JsonObject[] {
  const blocks: JsonObject[] = []
  for (const part of parts) append(blocks, encodePart(part, role, context))
  const last = blocks.at(-1)
  // A cache hint for the whole turn is set on its last block.
  if (last === undefined) reportCache(turn, context)
  else if (turn.cache !== undefined && last.cache_control === undefined) last.cache_control = cacheControl(turn.cache)
  return blocks
}

/** Turns a system message into a user message whose text is marked as `<system>`. */
function asMarkedUserText(draft: Draft, context: BlockContext): Draft {
  context.report.add(
    loss(draft.at, 'a system message is not accepted in this place: it is sent as marked text of the user', 'moved'),
  )
  for (const block of draft.blocks)
    if (block.type === 'text' && typeof block.text === 'string') block.text = `<system>\n${block.text}\n</system>`
  return { ...draft, role: 'user' }
}

/** Anthropic accepts a system message only after a user message. An earlier one moves behind the next user message. */
function placeSystemMessages(drafts: Draft[], context: BlockContext): Draft[] {
  const out: Draft[] = []
  let heldBack: Draft[] = []
  // Only system messages can change tools.
  const atEnd = (message: Draft): Draft =>
    message.blocks.some(isToolChange) ? message : asMarkedUserText(message, context)
  for (const next of drafts) {
    if (
      next.role === 'system' &&
      out.at(-1)?.role !== 'user' &&
      out.at(-1)?.role !== 'system' &&
      !hasExtraFields(next)
    ) {
      heldBack.push(next)
      continue
    }
    if (heldBack.length > 0 && next.role === 'assistant') {
      for (const message of heldBack) out.push(atEnd(message))
      heldBack = []
    }
    out.push(next)
    if (heldBack.length > 0 && next.role === 'user') {
      for (const { at } of heldBack)
        context.report.add(
          loss(at, 'a system message may only follow a user message: it is put behind the next one', 'moved', 'note'),
        )
      append(out, heldBack)
      heldBack = []
    }
  }
  return [...out, ...heldBack.map(atEnd)]
}

const isToolChange = ({ type }: JsonObject): boolean => type === 'tool_addition' || type === 'tool_removal'

const hasExtraFields = (draft: Draft): boolean => draft.extraFields !== undefined

/** Merges neighbouring messages of the same role. System messages stay separate. */
function mergeNeighbors(drafts: readonly Draft[]): Draft[] {
  const out: Draft[] = []
  for (const next of drafts) {
    const last = out.at(-1)
    if (
      last === undefined ||
      last.role !== next.role ||
      next.role === 'system' ||
      last.extraFields ||
      next.extraFields
    ) {
      // The list of parts belongs to the request and must not grow.
      out.push({ ...next, parts: [...next.parts] })
      continue
    }
    append(last.blocks, next.blocks)
    append(last.parts, next.parts)
  }
  return out
}

const isResult = (block: JsonObject): boolean => block.type === 'tool_result'

function normalizeMessages(drafts: Draft[], context: BlockContext): void {
  const { report } = context
  for (const { role, blocks, at } of drafts) {
    if (role !== 'user' || !blocks.some(isResult)) continue
    const firstOther = blocks.findIndex((block) => !isResult(block))
    if (firstOther >= 0 && blocks.findLastIndex(isResult) > firstOther) {
      blocks.sort((a, b) => Number(isResult(b)) - Number(isResult(a)))
      report.add(loss(at, 'tool results are put in front of the message', 'moved', 'note'))
    }
  }
  const [opening] = drafts
  if (opening === undefined || opening.role === 'assistant') {
    report.add(
      loss(
        opening?.at || '/messages',
        "a conversation must begin with a user message: '.' is put in front",
        'approximated',
      ),
    )
    drafts.unshift({ role: 'user', blocks: [{ type: 'text', text: '.' }], parts: [], extraFields: undefined, at: '' })
  }
  trimEnd(drafts, context)
}

/** Trims a last assistant message, which the response continues. Anthropic rejects one that ends in blanks. */
function trimEnd(drafts: Draft[], context: BlockContext): void {
  const last = drafts.at(-1)
  const block = last?.blocks.at(-1)
  if (last?.role !== 'assistant' || block?.type !== 'text' || typeof block.text !== 'string') return
  const trimmed = block.text.trimEnd()
  if (trimmed === block.text) return
  context.report.add(
    loss(last.at, 'blanks at the end of the last assistant message are cut off', 'approximated', 'note'),
  )
  const was = block.text
  block.text = trimmed
  last.parts = last.parts.map((part) => (part.type === 'text' && part.text === was ? { ...part, text: trimmed } : part))
}

const isThinking = (block: JsonObject | undefined): boolean =>
  block?.type === 'thinking' || block?.type === 'redacted_thinking'

function isReasoningMissing(drafts: readonly Draft[]): boolean {
  const position = drafts.findLastIndex(({ role }) => role === 'assistant')
  const blocks = drafts[position]?.blocks ?? []
  if (!blocks.some(({ type }) => type === 'tool_use') || isThinking(blocks[0])) return false
  return drafts.slice(position + 1).some((draft) => draft.blocks.some(isResult))
}

/** Encodes a part of a request as blocks. It returns none for a part that is not sent, and reports the loss unless the part was empty. */
function encodePart(part: Part, role: 'user' | 'assistant', context: BlockContext): JsonObject[] {
  switch (part.type) {
    case 'text':
      return encodeText(part, context)
    case 'refusal':
      return encodeRefusal(part, context)
    case 'media':
      return blocksOf(encodeMedia(part, role, context))
    case 'reasoning':
      return role === 'assistant' ? encodeReasoning(part, context) : reportMisplaced(part, role, context)
    case 'tool-call':
      return role === 'assistant' ? [encodeCall(part, context)] : reportMisplaced(part, role, context)
    case 'tool-result':
      return role === 'user' ? [encodeResult(part, context)] : reportMisplaced(part, role, context)
    case 'native':
      return encodeNative(part, context)
    default:
      return part satisfies never
  }
}

const blocksOf = (block: JsonObject | undefined): JsonObject[] => (block === undefined ? [] : [block])

function reportMisplaced(part: Part, role: string, context: CodecContext): JsonObject[] {
  context.report.add(loss(part.at ?? '', `a ${part.type} part cannot stand in a message of the ${role}`))
  return []
}

/** Anthropic rejects text blocks without a visible character. */
function encodeText(part: TextPart, context: CodecContext): JsonObject[] {
  const { type: _, text, citations, cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const references = extra?.messages?.references
  if (areToolReferences(references)) return references
  if (text.trim() === '') {
    if (text !== '')
      context.report.add(
        loss(at, 'text that consists of blanks is rejected upstream and left out', 'unsupported', 'note'),
      )
    reportCache(part, context)
    return []
  }
  const out: JsonObject = { ...ownExtra(extra, 'messages', at, context.report), type: 'text', text }
  if (citations !== undefined) {
    const extraFields = citations.filter(isOwnCitation)
    if (extraFields.length < citations.length)
      context.report.add(
        loss(pointer(at, 'citations'), 'citations of another provider are not sent back', 'unsupported', 'note'),
      )
    if (extraFields.length > 0)
      out.citations = extraFields.flatMap((citation) => blocksOf(encodeCitation(citation, at, context)))
  }
  if (cache !== undefined) out.cache_control = cacheControl(cache)
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

/** Only Anthropic can read its seals, and it rejects reasoning without one. */
function encodeReasoning(part: ReasoningPart, context: CodecContext): JsonObject[] {
  const { type: _, text, summary: _summary, redacted, seal, cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  if (seal?.issuer !== 'messages' || seal.data === '') {
    const why = seal === undefined || seal.data === '' ? 'it has no signature' : 'another provider signed it'
    context.report.add(loss(at, `earlier reasoning is withheld: ${why}`, 'unsupported', 'note'))
    reportCache(part, context)
    return []
  }
  const extraFields = ownExtra(extra, 'messages', at, context.report)
  const out: JsonObject = redacted
    ? { ...extraFields, type: 'redacted_thinking', data: seal.data }
    : { ...extraFields, type: 'thinking', thinking: text, signature: seal.data }
  if (cache !== undefined) out.cache_control = cacheControl(cache)
  return [out]
}

function encodeCall(part: ToolCallPart, context: BlockContext): JsonObject {
  const { type: _, id, name, input: _input, custom: _custom, seal, cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  checkToolName(name, at, context)
  if (seal !== undefined)
    context.report.add(loss(at, 'only its issuer can read the signature of a tool call', 'unsupported', 'note'))
  const out: JsonObject = {
    ...ownExtra(extra, 'messages', at, context.report),
    type: 'tool_use',
    id: context.ids.ofCall(id),
    name,
    input: inputObject(part, context.report),
  }
  if (cache !== undefined) out.cache_control = cacheControl(cache)
  return out
}

function encodeResult(part: ToolResultPart, context: BlockContext): JsonObject {
  // The call with this id holds the name. Messages does not repeat it.
  const { type: _, callId, name: _name, parts, isError, cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const out: JsonObject = {
    ...ownExtra(extra, 'messages', at, context.report),
    type: 'tool_result',
    tool_use_id: context.ids.ofResult(callId),
  }
  const blocks = parts.flatMap((inner) =>
    inner.type === 'tool-result' ? reportMisplaced(inner, 'tool', context) : encodePart(inner, 'user', context),
  )
  if (blocks.length > 0) out.content = contentValue(blocks, parts)
  put(out, 'is_error', isError)
  if (cache !== undefined) out.cache_control = cacheControl(cache)
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
 * Returns a single plain text as a string if the client wrote it as a string, which the pointer of the part reveals. Both forms mean
 * the same. Keeping the form keeps a rewritten request recognisable.
 */
function contentValue(blocks: JsonObject[], parts: readonly Part[]): JsonObject[] | string {
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
