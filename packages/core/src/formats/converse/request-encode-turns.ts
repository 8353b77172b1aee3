import type { JsonObject } from '../../base/json/types.ts'
import type { CodecContext } from '../codec.ts'
import type {
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
import type { ToolIds } from '../messages/tool-ids.ts'
import { append } from '../shared/json-fields.ts'
import { pointer } from '../shared/pointers.ts'
import { loss, ownExtra } from '../shared/report.ts'
import { inputObject } from '../shared/tools.ts'
import { type DocumentNames, encodeMedia } from './media.ts'
import type { ConverseTraits } from './models.ts'

export interface Conversation {
  system: JsonObject[]
  messages: JsonObject[]
  /** Names of the tools that earlier answers called. */
  called: ReadonlySet<string>
  /** The last answer called tools, and does not begin with the reasoning that Claude wants back in that case. */
  brokenLoop: boolean
}

/** A message on its way to the wire: each block with its mark for the cache. */
interface Draft {
  role: 'user' | 'assistant'
  blocks: JsonObject[][]
  at: string
}

/** Turns as Converse wants them: the system apart, users and assistants in turn, begun by a user, and none empty. */
export function encodeConversation(turns: readonly Turn[], context: BlockContext): Conversation {
  const first = turns.findIndex((turn) => !isSystem(turn))
  const leading = first < 0 ? turns : turns.slice(0, first)
  const system = leading.flatMap((turn) => encodeParts(turn, systemParts(turn, context), 'user', context))
  const drafts = join((first < 0 ? [] : turns.slice(first)).flatMap((turn) => draft(turn, context)))
  if (drafts.length === 0 && system.length > 0) {
    const at = leading[0]?.at ?? ''
    context.report.add(loss(at, 'a request needs a user message: the system prompt is sent as one', 'moved'))
    drafts.push({ role: 'user', blocks: system.splice(0), at })
  }
  finish(drafts, context)
  return {
    system: system.flat(),
    messages: drafts.map(({ role, blocks }) => ({ role, content: blocks.flat() })),
    called: namesCalled(turns),
    brokenLoop: isBroken(drafts),
  }
}

const isSystem = (turn: Turn): boolean => turn.role === 'system' || turn.role === 'developer'

/** The parts of a system turn that can be sent as such. */
function systemParts(turn: Turn, context: BlockContext): Part[] {
  return turn.parts.filter((part) => {
    const fits = part.type === 'text' || part.type === 'native' || part.type === 'refusal'
    if (!fits)
      context.report.add(loss(part.at ?? turn.at ?? '', `a system prompt takes text only: ${part.type} is left out`))
    return fits
  })
}

function draft(turn: Turn, context: BlockContext): Draft[] {
  const at = turn.at ?? ''
  const { report } = context
  if (isSystem(turn)) {
    const blocks = encodeParts(turn, systemParts(turn, context), 'user', context)
    if (blocks.length === 0) return []
    const detail = 'a system message in this place is not taken: it is sent as marked text of the user'
    report.add(loss(at, detail, 'moved'))
    for (const [block] of blocks)
      if (block !== undefined && typeof block.text === 'string') block.text = `<system>\n${block.text}\n</system>`
    return [{ role: 'user', blocks, at }]
  }
  const role = turn.role === 'assistant' ? 'assistant' : 'user'
  const blocks = encodeParts(turn, turn.parts, role, context)
  if (blocks.length > 0) return [{ role, blocks, at }]
  // A question of which nothing is left would be another question.
  const emptied = role === 'user' && turn.parts.some((part) => part.type !== 'text' || part.text !== '')
  const detail = emptied
    ? 'nothing of this message can be carried'
    : 'an empty message is not accepted upstream and left out'
  report.add(loss(at, detail, 'unsupported', emptied ? 'fatal' : 'note'))
  return []
}

function encodeParts(
  turn: Turn,
  parts: readonly Part[],
  role: 'user' | 'assistant',
  context: BlockContext,
): JsonObject[][] {
  // The changes of settings have been applied to the whole request.
  const { role: _, parts: _parts, name, cache, extra, at = '', changes: _changes, ...rest } = turn
  rest satisfies Nothing
  const { report, traits } = context
  if (name !== undefined) report.add(loss(pointer(at, 'name'), 'Converse does not tell speakers apart by name'))
  ownExtra(extra, 'converse', at, report)
  const blocks = parts.map((part) => encodePart(part, role, context)).filter((block) => block.length > 0)
  const last = blocks.at(-1)
  // A mark on a whole turn stands behind its last block here.
  if (cache !== undefined && (last === undefined || last.length === 1)) {
    const marks = cachePoint(turn, last === undefined || isReasoning(last) ? undefined : traits.cache, context)
    last?.push(...marks)
  }
  return blocks
}

/** Neighbours of the same role become one message. */
function join(drafts: readonly Draft[]): Draft[] {
  const out: Draft[] = []
  for (const next of drafts) {
    const last = out.at(-1)
    if (last?.role === next.role) append(last.blocks, next.blocks)
    else out.push({ ...next, blocks: [...next.blocks] })
  }
  return out
}

const isResult = ([block]: readonly JsonObject[]): boolean => block?.toolResult !== undefined
const isReasoning = ([block]: readonly JsonObject[]): boolean => block?.reasoningContent !== undefined

function finish(drafts: Draft[], { report }: BlockContext): void {
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
      report.add(loss(at, "a document does not go without a text: '.' is put behind it", 'approximated', 'note'))
      blocks.push([{ text: '.' }])
    }
  }
  const [opening] = drafts
  if (opening === undefined || opening.role === 'assistant') {
    const detail = "a conversation begins with a user message: '.' is put in front"
    report.add(loss(opening?.at || '/messages', detail, 'approximated'))
    drafts.unshift({ role: 'user', blocks: [[{ text: '.' }]], at: '' })
  }
}

function namesCalled(turns: readonly Turn[]): Set<string> {
  const names = new Set<string>()
  for (const { parts } of turns) for (const part of parts) if (part.type === 'tool-call') names.add(part.name)
  return names
}

function isBroken(drafts: readonly Draft[]): boolean {
  const position = drafts.findLastIndex(({ role }) => role === 'assistant')
  const blocks = drafts[position]?.blocks ?? []
  const [first] = blocks
  if (!blocks.some(([block]) => block?.toolUse !== undefined) || first === undefined || isReasoning(first)) return false
  return drafts.slice(position + 1).some((draft) => draft.blocks.some(isResult))
}

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

interface Cached extends Located {
  cache?: { ttl?: '5m' | '1h' }
}

/** The mark that goes behind a node that is to be cached; none, and a note, where the model takes none. */
export function cachePoint(
  { cache, at = '' }: Cached,
  marks: ConverseTraits['cache'],
  { report }: CodecContext,
): JsonObject[] {
  if (cache === undefined) return []
  const place = pointer(at, 'cache_control')
  if (marks === undefined) {
    report.add(loss(place, 'the model takes no marks for a cache here', 'unsupported', 'note'))
    return []
  }
  if (cache.ttl === '1h' && !marks.hour)
    report.add(loss(place, 'the model caches for five minutes, not for an hour', 'approximated', 'note'))
  const ttl = cache.ttl !== undefined && marks.hour ? { ttl: cache.ttl } : {}
  return [{ cachePoint: { type: 'default', ...ttl } }]
}
