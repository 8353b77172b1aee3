import { isObject, type Json, type JsonObject, pointer, stringifyExact } from '../../base/json/json.ts'
import { parseInnerObject } from '../../base/json/parse.ts'
import type { ExchangeContext } from '../codec.ts'
import type { ReasoningPart, Report, Sealed } from '../ir.ts'
import { callSealFields, foreignSealIn } from '../shared/call-seals.ts'
import { dropNulls, leftover, putBack, takeNumber, takeString, toText, unread } from '../shared/json-fields.ts'
import { ownExtra } from '../shared/report.ts'
import { readSeal, writeSeal } from '../shared/seals.ts'

/**
 * Chat has no official form for reasoning. This codec uses the two common ones: `reasoning_content` (text) and `reasoning_details` (a list
 * that also holds signatures and encrypted reasoning).
 */

/** Reads `reasoning_details`. Joins fragments and removes repetitions, which clients send that collect a stream by appending. */
export function decodeDetails(details: readonly Json[], at?: string): ReasoningPart[] {
  const parts: ReasoningPart[] = []
  const open = new Map<string, ReasoningPart>()
  const seen = new Set<string>()
  for (const [position, detail] of details.entries()) {
    if (!isObject(detail)) continue
    const part = decodeDetail(detail, at === undefined ? undefined : pointer(at, position))
    const index = typeof detail.index === 'number' ? detail.index : position
    const key = `${index} ${toText(detail.type)}`
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
    if (part.extra !== undefined) earlier.extra = part.extra
    if (part.seal === undefined) continue
    earlier.seal = part.seal
    if (part.seal.issuer === 'chat') delete earlier.extra // the seal says it all
  }
  return parts
}

function decodeDetail(detail: JsonObject, at: string | undefined): ReasoningPart {
  const fields = unread(detail)
  takeNumber(fields, 'index')
  const type = takeString(fields, 'type')
  const part: ReasoningPart = at === undefined ? { type: 'reasoning', text: '' } : { type: 'reasoning', text: '', at }
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
    if (type !== 'reasoning.text' && type !== 'reasoning.summary' && type !== undefined) putBack(fields, 'type', type)
  }
  dropNulls(fields)
  const rest = leftover(fields)
  if (rest === undefined) return part
  // Fields next to a signature of the upstream's own (`format`, `id`) are part of it: without them, it is rejected. So is its
  // kind: some clients keep summaries only, others none.
  if (part.seal?.issuer === 'chat')
    part.seal = {
      issuer: 'chat',
      data: stringifyExact({ [part.redacted ? 'data' : 'signature']: part.seal.data, ...(type && { type }), ...rest }),
    }
  else part.extra = { chat: rest }
  return part
}

/** Returns the fields of a seal: its text under `key`, or the upstream's own object. */
function sealFields(seal: Sealed | undefined, key: 'data' | 'signature'): JsonObject {
  if (seal === undefined) return {}
  return (seal.issuer === 'chat' ? parseInnerObject(seal.data) : undefined) ?? { [key]: writeSeal(seal, 'chat') }
}

const summaryType = 'reasoning.summary'
const textType = 'reasoning.text'

/** Encodes one entry of `reasoning_details`. */
export function encodeDetail(part: ReasoningPart, index: number, report: Report): JsonObject {
  const own = ownExtra(part.extra, 'chat', part.at ?? '', report)
  if (part.redacted) return { type: 'reasoning.encrypted', ...own, data: '', ...sealFields(part.seal, 'data'), index }
  const signature = sealFields(part.seal, 'signature')
  const { type = part.summary ? summaryType : textType } = signature
  if (type === summaryType) return { type, ...own, summary: part.text, ...signature, index }
  return { type: textType, ...own, text: part.text, ...signature, index }
}

/** Returns whether the list holds more than the plain text, so that it must be sent, too. */
export const needsDetails = (part: ReasoningPart): boolean =>
  part.seal !== undefined || part.redacted === true || part.extra?.chat !== undefined

/** Joins reasoning parts to one text. */
export const joinReasoning = (parts: readonly ReasoningPart[]): string =>
  parts
    .map((part) => part.text)
    .filter((text) => text !== '')
    .join('\n\n')

/**
 * Returns a tool call's seal as `extra_content`: unchanged if a chat upstream wrote the object (thought signatures of Google's compatible
 * endpoint), otherwise in the same form.
 */
export const decodeCallSeal = (content: JsonObject): Sealed =>
  foreignSealIn(content, 'chat') ?? { issuer: 'chat', data: stringifyExact(content) }

export const encodeCallSeal = (seal: Sealed): JsonObject =>
  (seal.issuer === 'chat' ? parseInnerObject(seal.data) : undefined) ?? callSealFields(seal, 'chat').extra_content

/** Sends `reasoning_details` in a stream: always the whole list, because official accumulators keep only the last value of unknown fields. */
export interface DetailsSender {
  /** Adds a completed reasoning part. */
  add(part: ReasoningPart): void
  /** Sends the rest at the end of the response. */
  finish(): void
}

/** Characters of repeated lists that every response may use. */
const freeChars = 65_536
/** Bounds the total of sent characters, as a multiple of the list's length. */
const mostRepeats = 4

/** Creates the sender. It sends the list less often once repetitions would take quadratic space, and at the end. */
export function createDetailsSender(context: ExchangeContext, send: (list: JsonObject[]) => void): DetailsSender {
  const details: ReasoningPart[] = []
  let isNeeded = false
  let isComplete = true
  let size = 0
  let sent = 0

  function sendAll(): void {
    sent += size
    isComplete = true
    send(details.map((detail, position) => encodeDetail(detail, position, context.report)))
  }

  return {
    add(part) {
      details.push(part)
      isNeeded ||= needsDetails(part)
      isComplete = false
      size += sizeOf(part)
      if (isNeeded && sent + size <= freeChars + mostRepeats * size) sendAll()
    },
    finish() {
      if (isNeeded && !isComplete) sendAll()
    },
  }
}

/** Estimates the characters of a part in the list. */
const sizeOf = ({ text, seal, extra }: ReasoningPart): number =>
  100 + text.length + (seal?.data.length ?? 0) + (extra === undefined ? 0 : JSON.stringify(extra).length)
