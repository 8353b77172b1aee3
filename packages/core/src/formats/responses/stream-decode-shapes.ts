import type { Json, JsonObject } from '../../base/json/types.ts'
import type { Report } from '../ir.ts'
import { toText } from '../shared/json-fields.ts'
import { pointer } from '../shared/pointers.ts'
import { loss, type Members, objectsIn, reportUnknown, shapeOf, shapesOf } from '../shared/report.ts'

/** What the events of a stream may hold. Most of them repeat what others said, so that what only they say is easily missed. */

const frame: Members = { type: true, sequence_number: true, obfuscation: true }
const ofItem: Members = { ...frame, output_index: true, item_id: true }
const ofContent: Members = { ...ofItem, content_index: true }
const ofSummary: Members = { ...ofItem, summary_index: true, status: true }
const summaryPart: Members = { type: true, text: true }
/** In what repeats the deltas. */
const token: Members = { token: true, logprob: true, bytes: true }
const tokens: Members = { ...token, top_logprobs: token }
const response: Members = { ...frame, response: true }

const eventShapes = shapesOf({
  'response.created': response,
  'response.queued': response,
  'response.in_progress': response,
  'response.completed': response,
  'response.incomplete': response,
  'response.done': response,
  'response.output_item.added': { ...ofItem, item: true },
  'response.output_item.done': { ...ofItem, item: true },
  'response.content_part.added': { ...ofContent, part: true },
  'response.content_part.done': { ...ofContent, part: true },
  'response.output_text.delta': { ...ofContent, delta: true, logprobs: true },
  'response.output_text.done': { ...ofContent, text: true, logprobs: tokens },
  'response.output_text.annotation.added': { ...ofContent, annotation: true, annotation_index: true },
  'response.refusal.delta': { ...ofContent, delta: true },
  'response.refusal.done': { ...ofContent, refusal: true },
  'response.reasoning_text.delta': { ...ofContent, delta: true },
  'response.reasoning_text.done': { ...ofContent, text: true },
  'response.reasoning.delta': { ...ofContent, delta: true },
  'response.reasoning.done': { ...ofContent, text: true },
  'response.reasoning_summary_part.added': { ...ofSummary, part: summaryPart },
  'response.reasoning_summary_part.done': { ...ofSummary, part: summaryPart },
  'response.reasoning_summary_text.delta': { ...ofSummary, delta: true },
  'response.reasoning_summary_text.done': { ...ofSummary, text: true },
  'response.reasoning_summary.delta': { ...ofSummary, delta: true },
  'response.reasoning_summary.done': { ...ofSummary, text: true },
  'response.function_call_arguments.delta': { ...ofItem, delta: true },
  'response.function_call_arguments.done': { ...ofItem, arguments: true, name: true, call_id: true },
  'response.custom_tool_call_input.delta': { ...ofItem, delta: true },
  'response.custom_tool_call_input.done': { ...ofItem, input: true },
})

/** @param at where what the event is about stands in the whole answer */
export function reportEvent(type: string, event: JsonObject, at: string, report: Report): void {
  const shape = eventShapes.get(type)
  if (shape !== undefined) reportUnknown(event, shape, at, report)
}

const reasoningEntries: Members = { type: true, text: true }
const item: Members = { type: true, id: true, status: true, item_id: true, output_index: true }
const itemShapes = shapesOf({
  message: { ...item, role: true, content: true },
  reasoning: { ...item, summary: reasoningEntries, content: reasoningEntries, encrypted_content: true },
  function_call: { ...item, call_id: true, name: true, arguments: true, namespace: true },
  custom_tool_call: { ...item, call_id: true, name: true, input: true, namespace: true },
})

/** Whether the items of this type are told piece by piece, so that their end may bring something too late. */
const isToldInPieces = (type: string): boolean => itemShapes.has(type)

/**
 * Reports what an item says in the end that no part of it could take along.
 *
 * @param before the item as it was when its parts began: what it said went with them
 */
export function reportItem(type: string, done: JsonObject, before: JsonObject, at: string, report: Report): void {
  const shape = itemShapes.get(type)
  if (shape === undefined) return
  const late: JsonObject = {}
  for (const [key, value] of Object.entries(done))
    if (shape.has(key) || !isSame(value, Object.hasOwn(before, key) ? before[key] : undefined)) late[key] = value
  reportUnknown(late, shape, at, report)
}

const isSame = (a: Json, b: Json | undefined): boolean =>
  a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b))

const partShapes = shapesOf({
  output_text: { type: true, text: true, annotations: true, logprobs: tokens },
  text: { type: true, text: true, annotations: true, logprobs: tokens },
  refusal: { type: true, refusal: true },
  reasoning_text: { type: true, text: true },
})
const untyped = shapeOf({ text: true, annotations: true, logprobs: tokens })

/** Reports what a content part says beyond its text; false for a part that is not known as a whole, which is reported as such. */
export function reportPart(part: JsonObject, at: string, report: Report): boolean {
  const { type } = part
  const shape = type === undefined ? untyped : typeof type === 'string' ? partShapes.get(type) : undefined
  if (shape === undefined && typeof part.text !== 'string') {
    report.add(loss(at, `a content part of the type '${toText(type)}' has no counterpart in the other format`))
    return false
  }
  reportUnknown(part, shape ?? untyped, at, report)
  return true
}

/** Items that stand in a response before the stream told them: they are told by events of their own, or at the end. */
export function reportEarlyItems(output: Json | undefined, report: Report): void {
  if (!Array.isArray(output)) return
  for (const [index, entry] of objectsIn(output, '/output', report).entries())
    if (!isToldInPieces(toText(entry.type)))
      report.add(loss(pointer('/output', index), `an item of the type '${toText(entry.type)}' came before its events`))
}

/** The parts of a content list that are objects; others are reported. */
export const contentIn = (content: Json | undefined, at: string, report: Report): JsonObject[] =>
  Array.isArray(content) ? objectsIn(content, pointer(at, 'content'), report) : []

/** Whether the event tells a step of a server's own tool, of which all is told at the item's end. */
export const isProgress = (event: string, type: string): boolean =>
  type !== '' && !isToldInPieces(type) && event.startsWith(`response.${type}`)
