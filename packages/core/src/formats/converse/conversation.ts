import type { JsonObject } from '../../base/json/types.ts'
import type { Part, Turn } from '../ir.ts'
import { append } from '../shared/append.ts'
import { pointer } from '../shared/pointer.ts'
import { loss, ownExtra } from '../shared/report.ts'
import type { Nothing } from '../shared/strict.ts'
import { type BlockContext, encodePart } from './blocks-encode.ts'
import { cachePoint } from './cache.ts'

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
