import { isObject, type JsonObject, pointer } from '../../base/json/json.ts'
import { parseInnerJson } from '../../base/json/parse.ts'
import type { CodecContext } from '../codec.ts'
import type {
  CacheHint,
  Located,
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
import { cachePlace, loss, ownExtra } from '../shared/report.ts'
import { inputObject } from '../shared/tools.ts'
import { encodeCitation } from './citations.ts'
import { encodeMedia, type MediaContext } from './media-encode.ts'
import type { ConverseTraits } from './models.ts'

interface Conversation {
  system: JsonObject[]
  messages: JsonObject[]
  /** Names of the tools that earlier responses called. */
  calledTools: ReadonlySet<string>
  /** The last response called tools, and lacks the reasoning that Claude requires in front of the calls. */
  lacksReasoning: boolean
}

/** A message before it is encoded: each block with its cache point. */
interface Draft {
  role: 'user' | 'assistant' | 'system'
  blocks: JsonObject[][]
  at: string
  /** Fields of the message that only this format has. */
  fields?: JsonObject | undefined
}

/**
 * Encodes turns as Converse requires them. Leading system turns are separate. Users and assistants alternate, a user begins, and no
 * message is empty.
 */
export function encodeConversation(turns: readonly Turn[], context: BlockContext): Conversation {
  const first = turns.findIndex((turn) => !isSystem(turn))
  const leading = first < 0 ? turns : turns.slice(0, first)
  const system = leading.flatMap((turn) => encodeParts(turn, systemParts(turn, context), 'user', context))
  const encoded = (first < 0 ? [] : turns.slice(first)).flatMap((turn) => encodeTurn(turn, context))
  // A client of this format knows what Bedrock requires.
  const drafts = context.isOwn ? encoded : mergeNeighbors(encoded)
  if (drafts.length === 0 && system.length > 0) {
    const at = leading[0]?.at ?? ''
    context.report.add(loss(at, 'a request needs a user message: the system prompt is sent as one', 'moved'))
    drafts.push({ role: 'user', blocks: system.splice(0), at })
  }
  if (!context.isOwn) normalizeMessages(drafts, context)
  return {
    system: system.flat(),
    messages: drafts.map(({ role, blocks, fields }) => ({ ...fields, role, content: blocks.flat() })),
    calledTools: calledToolNames(turns),
    lacksReasoning: isReasoningMissing(drafts),
  }
}

const isSystem = (turn: Turn): boolean => turn.role === 'system' || turn.role === 'developer'

/** Returns the parts that a system prompt can carry, and reports the others. */
function systemParts(turn: Turn, context: BlockContext): Part[] {
  return turn.parts.filter((part) => {
    const fits =
      part.type === 'text' ||
      part.type === 'native' ||
      part.type === 'refusal' ||
      // Bedrock's guardrails check images of the system prompt, too.
      part.extra?.converse?.guardContent !== undefined
    if (!fits)
      context.report.add(loss(part.at ?? turn.at ?? '', `a system prompt accepts only text: ${part.type} is left out`))
    return fits
  })
}

function encodeTurn(turn: Turn, context: BlockContext): Draft[] {
  const at = turn.at ?? ''
  const { report, isOwn } = context
  const fields = turn.extra?.converse
  if (isOwn && turn.role === 'system')
    return [{ role: 'system', blocks: encodeParts(turn, turn.parts, 'user', context), at, fields }]
  if (isSystem(turn)) {
    const blocks = encodeParts(turn, systemParts(turn, context), 'user', context)
    if (blocks.length === 0) return []
    const detail = 'a system message is not accepted in this place: it is sent as marked text of the user'
    report.add(loss(at, detail, 'moved'))
    for (const [block] of blocks)
      if (block !== undefined && typeof block.text === 'string') block.text = `<system>\n${block.text}\n</system>`
    return [{ role: 'user', blocks, at }]
  }
  const role = turn.role === 'assistant' ? 'assistant' : 'user'
  const blocks = encodeParts(turn, turn.parts, role, context)
  if (blocks.length > 0) return [{ role, blocks, at, fields }]
  // A user message that loses all its content changes the question.
  const losesContent = role === 'user' && turn.parts.some((part) => part.type !== 'text' || part.text !== '')
  const detail = losesContent
    ? 'no part of this message can be sent'
    : 'an empty message is not accepted upstream and left out'
  report.add(loss(at, detail, 'unsupported', losesContent ? 'fatal' : 'note'))
  return []
}

function encodeParts(
  turn: Turn,
  parts: readonly Part[],
  role: 'user' | 'assistant',
  context: BlockContext,
): JsonObject[][] {
  // Changes of settings have been applied to the whole request.
  const { role: _, parts: _parts, name, cache, extra, at = '', changes: _changes, ...rest } = turn
  rest satisfies Nothing
  const { report, traits } = context
  if (name !== undefined) report.add(loss(pointer(at, 'name'), 'Converse has no field for the name of a speaker'))
  ownExtra(extra, 'converse', at, report)
  const blocks = parts.map((part) => encodePart(part, role, context)).filter((block) => block.length > 0)
  const last = blocks.at(-1)
  // A cache hint for the whole turn goes after its last block.
  if (cache !== undefined && (last === undefined || last.length === 1)) {
    const cacheTraits = cachePoint(turn, last === undefined || isReasoning(last) ? undefined : traits.cache, context)
    last?.push(...cacheTraits)
  }
  return blocks
}

/** Merges neighbouring messages of the same role. */
function mergeNeighbors(drafts: readonly Draft[]): Draft[] {
  const out: Draft[] = []
  for (const next of drafts) {
    const last = out.at(-1)
    if (last?.role === next.role && next.role !== 'system' && last.fields === undefined && next.fields === undefined)
      append(last.blocks, next.blocks)
    else out.push({ ...next, blocks: [...next.blocks] })
  }
  return out
}

const isResult = ([block]: readonly JsonObject[]): boolean => block?.toolResult !== undefined
const isReasoning = ([block]: readonly JsonObject[]): boolean => block?.reasoningContent !== undefined

function normalizeMessages(drafts: Draft[], { report }: BlockContext): void {
  for (const { role, blocks, at } of drafts) {
    if (role !== 'user') continue
    const firstOther = blocks.findIndex((block) => !isResult(block))
    if (firstOther >= 0 && blocks.findLastIndex(isResult) > firstOther) {
      blocks.sort((a, b) => Number(isResult(b)) - Number(isResult(a)))
      report.add(loss(at, 'tool results are put in front of the message', 'moved', 'note'))
    }
    if (
      blocks.some(([block]) => block?.document !== undefined) &&
      !blocks.some(([block]) => block?.text !== undefined)
    ) {
      report.add(loss(at, "Bedrock requires a text with a document: '.' is added", 'approximated', 'note'))
      blocks.push([{ text: '.' }])
    }
  }
  const [opening] = drafts
  if (opening === undefined || opening.role === 'assistant') {
    const detail = "a conversation must begin with a user message: '.' is put in front"
    report.add(loss(opening?.at || '/messages', detail, 'approximated'))
    drafts.unshift({ role: 'user', blocks: [[{ text: '.' }]], at: '' })
  }
}

function calledToolNames(turns: readonly Turn[]): Set<string> {
  const names = new Set<string>()
  // A call in another place is not sent.
  for (const { role, parts } of turns)
    for (const part of parts) if (role === 'assistant' && part.type === 'tool-call') names.add(part.name)
  return names
}

function isReasoningMissing(drafts: readonly Draft[]): boolean {
  const position = drafts.findLastIndex(({ role }) => role === 'assistant')
  const blocks = drafts[position]?.blocks ?? []
  const [first] = blocks
  if (!blocks.some(([block]) => block?.toolUse !== undefined) || first === undefined || isReasoning(first)) return false
  return drafts.slice(position + 1).some((draft) => draft.blocks.some(isResult))
}

/** Context for encoding the parts of a request. */
export interface BlockContext extends MediaContext {
  readonly ids: ToolIds
  readonly traits: ConverseTraits
}

/** Encodes a part as a block followed by its cache point. It returns no block for a part that is not sent, and reports the loss. */
function encodePart(part: Part, role: 'user' | 'assistant', context: BlockContext): JsonObject[] {
  const block = encodeBlock(part, role, context)
  if (block === undefined) {
    cachePoint(part, undefined, context)
    return []
  }
  // Claude accepts no cache point after its thinking.
  return [block, ...cachePoint(part, part.type === 'reasoning' ? undefined : context.traits.cache, context)]
}

function encodeBlock(part: Part, role: 'user' | 'assistant', context: BlockContext): JsonObject | undefined {
  switch (part.type) {
    case 'text':
      return encodeText(part, context)
    case 'refusal':
      return encodeRefusal(part, context)
    case 'media':
      return encodeMedia(part, role, context)
    case 'reasoning':
      return role === 'assistant' ? encodeReasoning(part, context) : reportMisplaced(part, role, context)
    case 'tool-call':
      return role === 'assistant' ? encodeCall(part, context) : reportMisplaced(part, role, context)
    case 'tool-result':
      return role === 'user' ? encodeResult(part, context) : reportMisplaced(part, role, context)
    case 'native':
      return encodeNative(part, context)
    default:
      return part satisfies never
  }
}

function reportMisplaced(part: Part, role: string, context: CodecContext): undefined {
  context.report.add(loss(part.at ?? '', `a ${part.type} part cannot stand in a message of the ${role}`))
}

/** Bedrock rejects text without a visible character. */
function encodeText(part: TextPart, context: BlockContext): JsonObject | undefined {
  const { type: _, text, citations, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  const fields = ownExtra(extra, 'converse', at, report) ?? {}
  if (fields.jsonBlock === true) return { json: parseInnerJson(text) ?? text }
  if (isObject(fields.guardContent))
    return { guardContent: { text: { ...(isObject(fields.guardContent.text) ? fields.guardContent.text : {}), text } } }
  if (context.isOwn && (citations !== undefined || fields.citationsContent !== undefined))
    return citedText(part, fields, context)
  if (text.trim() === '' && !context.isOwn) {
    if (text !== '')
      report.add(loss(at, 'text that consists of blanks is rejected upstream and left out', 'unsupported', 'note'))
    return undefined
  }
  if (citations !== undefined && citations.length > 0)
    report.add(loss(pointer(at, 'citations'), 'citations are not sent back', 'unsupported', 'note'))
  return { text }
}

/** Encodes text with its sources. A client's own history holds them as Bedrock wrote them. */
export function citedText(
  { text, citations = [], at = '' }: TextPart,
  { citationsContent }: JsonObject,
  context: CodecContext,
): JsonObject {
  const sources = citations.flatMap((citation) => encodeCitation(citation, at, context) ?? [])
  if (sources.length === 0 && citationsContent === undefined && citations.length > 0) return { text }
  const { content, ...fields } = isObject(citationsContent) ? citationsContent : {}
  return {
    citationsContent: {
      ...fields,
      content: [{ text }, ...(Array.isArray(content) ? content : [])],
      citations: sources,
    },
  }
}

function encodeRefusal(part: RefusalPart, context: BlockContext): JsonObject | undefined {
  const { type: _, text, cache: _cache, extra, at, ...rest } = part
  rest satisfies Nothing
  context.report.add(loss(at ?? '', 'an earlier refusal is sent as text', 'approximated', 'note'))
  return encodeText({ type: 'text', text, ...(extra && { extra }), ...(at !== undefined && { at }) }, context)
}

/** Only the issuer of a signature accepts the reasoning back, and most models reject reasoning without a signature. */
function encodeReasoning(part: ReasoningPart, { report, isOwn }: BlockContext): JsonObject | undefined {
  const { type: _, text, summary: _summary, redacted, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const isUnsigned = seal === undefined && isOwn && redacted !== true
  if (!isUnsigned && (seal?.issuer !== 'converse' || seal.data === '')) {
    const why = seal === undefined || seal.data === '' ? 'it has no signature' : 'another provider signed it'
    report.add(loss(at, `earlier reasoning is withheld: ${why}`, 'unsupported', 'note'))
    return undefined
  }
  const { reasoningText, ...fields } = fieldsOf('reasoningContent', ownExtra(extra, 'converse', at, report))
  if (redacted) return { reasoningContent: { ...fields, redactedContent: seal?.data ?? '' } }
  const signature = seal === undefined ? {} : { signature: seal.data }
  const own = isObject(reasoningText) ? reasoningText : {}
  return { reasoningContent: { ...fields, reasoningText: { ...own, text, ...signature } } }
}

function encodeCall(part: ToolCallPart, context: BlockContext): JsonObject {
  const { type: _, id, name, input: _input, custom: _custom, seal, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report } = context
  if (name === '') report.add(loss(at, 'a tool without a name is not accepted', 'unsupported', 'fatal'))
  if (seal !== undefined)
    report.add(loss(at, 'only its issuer can read the signature of a tool call', 'unsupported', 'note'))
  const fields = fieldsOf('toolUse', ownExtra(extra, 'converse', at, report))
  return { toolUse: { ...fields, toolUseId: context.ids.ofCall(id), name, input: inputObject(part, report) } }
}

function encodeResult(part: ToolResultPart, context: BlockContext): JsonObject {
  // The call with this id holds the name. Converse does not repeat it.
  const { type: _, callId, name: _name, parts, isError, cache: _cache, extra, at = '', ...rest } = part
  rest satisfies Nothing
  const { report, traits } = context
  const content = parts.flatMap((inner): JsonObject[] => {
    cachePoint(inner, undefined, context)
    const block =
      inner.type === 'tool-result' ? reportMisplaced(inner, 'tool', context) : encodeBlock(inner, 'user', context)
    return block === undefined ? [] : [block]
  })
  const result: JsonObject = {
    ...fieldsOf('toolResult', ownExtra(extra, 'converse', at, report)),
    toolUseId: context.ids.ofResult(callId),
    content,
  }
  // Success is the default status of a result.
  if (isError === true && (traits.resultStatus || context.isOwn)) result.status = 'error'
  else if (isError === true)
    report.add(loss(at, 'the result has no error mark; only its text shows that the tool failed'))
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

interface Cached extends Located {
  cache?: CacheHint
}

/** Returns the fields of a block that other formats lack. Decoders keep them under the block's kind. */
function fieldsOf(kind: string, extra: JsonObject | undefined): JsonObject {
  const fields = extra?.[kind]
  return isObject(fields) ? fields : {}
}

/** Returns the cache point that follows a node with a cache hint. Where the model accepts none, it reports a note and returns none. */
export function cachePoint(node: Cached, cacheTraits: ConverseTraits['cache'], { report }: CodecContext): JsonObject[] {
  const { cache } = node
  if (cache === undefined) return []
  const place = cachePlace(node)
  if (cacheTraits === undefined) {
    report.add(loss(place, 'the model does not accept a cache point in this place', 'unsupported', 'note'))
    return []
  }
  const isLong = cache.ttl === '1h' || cache.ttl === '12h'
  if (isLong && !cacheTraits.hour)
    report.add(loss(place, 'the model caches for five minutes, not for an hour', 'approximated', 'note'))
  const ttl = isLong ? '1h' : cache.ttl === '5m' ? '5m' : undefined
  return [{ cachePoint: { type: 'default', ...(ttl !== undefined && cacheTraits.hour ? { ttl } : {}) } }]
}
