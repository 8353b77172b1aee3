import { isObject, put } from '../../base/json/object.ts'
import type { Json, JsonObject } from '../../base/json/types.ts'
import type { Part, ReasoningPart, TextPart, Turn } from '../ir.ts'
import { append } from '../shared/append.ts'
import { pointer } from '../shared/pointer.ts'
import { leftover, takeAny, takeString } from '../shared/reader.ts'
import { createCallIds } from './call-ids.ts'
import { decodeParts, type PartScope } from './parts-decode.ts'
import { signed } from './signature.ts'
import { respell, spelt } from './spelling.ts'

/**
 * The conversation as turns. Neighbouring contents of the model are one answer, and those that hold nothing but function
 * responses answer the same turn: they become one.
 */
export function decodeContents(contents: Json | undefined, at: string): Turn[] {
  const list = Array.isArray(contents) ? contents : contents === undefined ? [] : [contents]
  const turns: Turn[] = []
  const ids = createCallIds()
  let answers: Turn | undefined
  for (const [index, content] of list.entries()) {
    const place = Array.isArray(contents) ? pointer(at, index) : at
    const turn = decodeContent(content, place, {
      callId: (id, name, part) => ids.ofCall(id, name, index, part),
      responseId: (id, name, part) => ids.ofResponse(id, name, index, part),
    })
    if (turn === undefined) continue
    const last = turns.at(-1)
    if (turn.role === 'assistant') {
      const same = last?.role === 'assistant' && last.extra === undefined && turn.extra === undefined
      const target: Turn = same ? last : { ...turn, parts: [] }
      continueAnswer(target.parts, turn.parts)
      if (!same) turns.push(target)
      answers = undefined
      continue
    }
    const pure = turn.role === 'user' && turn.extra === undefined && isAllResults(turn)
    if (pure && answers !== undefined) {
      append(answers.parts, turn.parts)
      continue
    }
    answers = pure ? turn : undefined
    turns.push(turn)
  }
  return turns
}

/**
 * Chats keep a streamed answer as they got it, one content for each chunk. Adds the next to those before: texts go on,
 * thoughts go on until their signature, and what only filled up is left out.
 */
function continueAnswer(parts: Part[], next: readonly Part[]): void {
  for (const [position, part] of next.entries()) {
    // An answer of nothing but an empty text stays one.
    if (parts.length > 0 && isPlainText(part) && part.text === '') continue
    const [only, second] = parts
    if (only !== undefined && second === undefined && isPlainText(only) && only.text === '') parts.pop()
    const last = parts.at(-1)
    const goesOn = position === 0
    if (goesOn && last !== undefined && isPlainText(last) && isPlainText(part) && !isSignedText(next[position + 1]))
      last.text += part.text
    else if (last?.type === 'reasoning' && part.type === 'reasoning' && continues(last, part, goesOn)) {
      last.text += part.text
      put(last, 'seal', part.seal)
      put(last, 'summary', part.summary)
      if (!goesOn) foldThoughts(parts)
    } else parts.push(part)
  }
}

/** A streamed answer may also be kept as one content, a part for each piece: a foreign signature is for all of them. */
function foldThoughts(parts: Part[]): void {
  for (;;) {
    const [before, last] = parts.slice(-2)
    if (before?.type !== 'reasoning' || last?.type !== 'reasoning' || !continues(before, last, true)) return
    before.text += last.text
    put(before, 'seal', last.seal)
    put(before, 'summary', last.summary)
    parts.pop()
  }
}

const isPlainText = (part: Part): part is TextPart => part.type === 'text' && part.extra === undefined
const isSignedText = (part: Part | undefined): boolean => part?.type === 'reasoning' && signed(part)?.kind === 'text'

/** Within one content, only a foreign signature by itself belongs to the thought before: Google signs its own parts. */
function continues(last: ReasoningPart, next: ReasoningPart, goesOn: boolean): boolean {
  if (last.seal !== undefined || last.redacted || next.redacted) return false
  if (last.extra !== undefined || next.extra !== undefined || signed(next) !== undefined) return false
  return goesOn || (next.text === '' && next.seal !== undefined && next.seal.issuer !== 'gemini')
}

const isAllResults = ({ parts }: Turn): boolean =>
  parts.length > 0 && parts.every((part) => part.type === 'tool-result')

/** A content is an object with parts; SDKs also write a bare text or a bare part, and servers take them. */
function decodeContent(content: Json, at: string, scope: PartScope): Turn | undefined {
  if (typeof content === 'string') return { role: 'user', parts: [{ type: 'text', text: content, at }], at }
  if (!isObject(content)) return undefined
  if (content.parts === undefined && content.role === undefined)
    return { role: 'user', parts: decodeParts([content], at, scope).map((part) => ({ ...part, at })), at }
  const fields = respell(content)
  const role = takeString(fields, 'role')?.toLowerCase()
  const parts = decodeParts(takeAny(fields, 'parts'), pointer(at, 'parts'), scope)
  const turn: Turn = { role: role === 'model' || role === 'assistant' ? 'assistant' : 'user', parts, at }
  const rest = leftover(fields)
  if (rest !== undefined) turn.extra = { gemini: rest }
  return turn
}

/** The system instruction: a content, whose role says nothing, or a text. */
export function decodeSystem(value: Json | undefined, at: string): Turn | undefined {
  if (value === undefined || value === null) return undefined
  const scope: PartScope = { callId: (id) => id ?? '', responseId: (id) => id ?? '' }
  const turn = Array.isArray(value)
    ? { role: 'system' as const, parts: decodeParts(value, at, scope), at }
    : decodeContent(value, at, scope)
  if (turn === undefined) return undefined
  return { ...turn, role: 'system' }
}

/** Where the client wrote the contents and the instruction. */
export const placeOf = (body: JsonObject, name: 'contents' | 'systemInstruction'): string => `/${spelt(body, name)}`
