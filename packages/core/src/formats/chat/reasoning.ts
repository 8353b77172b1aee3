import type { Json, JsonObject, ReasoningPart, Report, Sealed, ToolCallPart } from '../ir.ts'
import { pointer } from '../shared/pointer.ts'
import { isObject, leftover, takeNumber, takeString, unread } from '../shared/reader.ts'
import { ownExtra } from '../shared/report.ts'
import { readSeal, writeSeal } from '../shared/seals.ts'

/**
 * Chat has no official form for reasoning. Two unofficial ones are understood everywhere and spoken here:
 * `reasoning_content` (text) and `reasoning_details` (a list that also holds signatures and encrypted reasoning).
 */

/** Reads `reasoning_details`. Clients that collect a stream by appending send fragments and repetitions; both are undone. */
export function decodeDetails(details: readonly Json[], at: string): ReasoningPart[] {
  const parts: ReasoningPart[] = []
  const open = new Map<string, ReasoningPart>()
  const seen = new Set<string>()
  for (const [position, detail] of details.entries()) {
    if (!isObject(detail)) continue
    const part = decodeDetail(detail, pointer(at, position))
    const index = typeof detail.index === 'number' ? detail.index : position
    const key = `${index} ${String(detail.type)}`
    const earlier = open.get(key)
    if (part.seal !== undefined) {
      if (seen.has(part.seal.data)) continue
      seen.add(part.seal.data)
    }
    if (earlier === undefined || earlier.seal !== undefined) {
      parts.push(part)
      open.set(key, part)
      continue
    }
    // The same entry again: a cumulative list repeats the text from its start, a stream continues it.
    earlier.text = part.text !== '' && part.text.startsWith(earlier.text) ? part.text : earlier.text + part.text
    if (part.seal !== undefined) earlier.seal = part.seal
    if (part.extra !== undefined) earlier.extra = part.extra
  }
  return parts
}

function decodeDetail(detail: JsonObject, at: string): ReasoningPart {
  const fields = unread(detail)
  takeNumber(fields, 'index')
  const type = takeString(fields, 'type')
  const part: ReasoningPart = { type: 'reasoning', text: '', at }
  if (type === 'reasoning.encrypted') {
    const data = takeString(fields, 'data')
    part.redacted = true
    if (data !== undefined) part.seal = readSeal(data, 'chat')
  } else {
    const summary = takeString(fields, 'summary')
    if (type === 'reasoning.summary') part.summary = true
    part.text = takeString(fields, 'text') ?? summary ?? ''
    const signature = takeString(fields, 'signature')
    if (signature !== undefined && signature !== '') part.seal = readSeal(signature, 'chat')
    if (type !== 'reasoning.text' && type !== 'reasoning.summary' && type !== undefined) fields.type = type
  }
  for (const key of Object.keys(fields)) if (fields[key] === null) delete fields[key]
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { chat: rest }
  return part
}

/** One entry of `reasoning_details`. */
export function encodeDetail(part: ReasoningPart, index: number, report: Report): JsonObject {
  const own = ownExtra(part.extra, 'chat', part.at ?? '', report)
  const seal = part.seal === undefined ? undefined : writeSeal(part.seal, 'chat')
  if (part.redacted) return { type: 'reasoning.encrypted', ...own, data: seal ?? '', index }
  const signature = seal === undefined ? {} : { signature: seal }
  if (part.summary) return { type: 'reasoning.summary', ...own, summary: part.text, ...signature, index }
  return { type: 'reasoning.text', ...own, text: part.text, ...signature, index }
}

/** True if the list says more than the plain text does: then it has to go along. */
export const needsDetails = (part: ReasoningPart): boolean =>
  part.seal !== undefined || part.redacted === true || part.extra?.chat !== undefined

/** Several pieces of reasoning as one text. */
export const joinReasoning = (parts: readonly ReasoningPart[]): string =>
  parts
    .map((part) => part.text)
    .filter((text) => text !== '')
    .join('\n\n')

/**
 * A tool call's seal stands in its `extra_content`: as `{seal}` if another format issued it, else exactly as the chat
 * upstream wrote the object (Google's compatible endpoint keeps thought signatures there).
 */
export function decodeCallSeal(content: JsonObject): Sealed {
  const { seal, ...others } = content
  if (typeof seal === 'string' && leftover(others) === undefined) return readSeal(seal, 'chat')
  return { issuer: 'chat', data: JSON.stringify(content) }
}

export function encodeCallSeal(seal: NonNullable<ToolCallPart['seal']>): JsonObject {
  if (seal.issuer === 'chat') {
    try {
      const content: unknown = JSON.parse(seal.data)
      if (isObject(content)) return content
    } catch {
      // not ours after all: falls through to the plain form
    }
  }
  return { seal: writeSeal(seal, 'chat') }
}
