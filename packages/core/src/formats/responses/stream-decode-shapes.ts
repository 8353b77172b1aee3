import { type Json, type JsonObject, pointer } from '../../base/json/json.ts'
import type { Report } from '../ir.ts'
import { toText } from '../shared/json-fields.ts'
import { loss, type Members, objectsIn, reportUnknown, shapeOf, shapesOf } from '../shared/report.ts'

/**
 * The known members of stream events, items and content parts. Other members are reported. Most events repeat content of
 * earlier events, so content that only one of them holds would otherwise be lost silently.
 */

const frame: Members = { type: true, sequence_number: true, obfuscation: true }
const ofItem: Members = { ...frame, output_index: true, item_id: true }
const ofContent: Members = { ...ofItem, content_index: true }
const ofSummary: Members = { ...ofItem, summary_index: true, status: true }
const summaryPart: Members = { type: true, text: true }
/** Log probabilities in events that repeat the deltas. */
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

/**
 * Reports unknown members of an event.
 *
 * @param at JSON Pointer of the event's item in the whole response
 */
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

/** Returns whether items of this type arrive in pieces, so that their final event may add content too late. */
const isStreamedItem = (type: string): boolean => itemShapes.has(type)

/**
 * Reports members of a final item that arrived too late for its parts.
 *
 * @param before the item when its parts started, whose members the parts carry
 */
export function reportItem(type: string, done: JsonObject, before: JsonObject, at: string, report: Report): void {
  const shape = itemShapes.get(type)
  if (shape === undefined) return
  const lateMembers: JsonObject = {}
  for (const [key, value] of Object.entries(done))
    if (shape.has(key) || !isSame(value, Object.hasOwn(before, key) ? before[key] : undefined)) lateMembers[key] = value
  reportUnknown(lateMembers, shape, at, report)
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

/** Reports unknown members of a content part. Returns false for a part of an unknown type, which is reported as a whole. */
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

/** Reports items in the `output` of the first event that no later event repeats. */
export function reportEarlyItems(output: Json | undefined, report: Report): void {
  if (!Array.isArray(output)) return
  for (const [index, entry] of objectsIn(output, '/output', report).entries())
    if (!isStreamedItem(toText(entry.type)))
      report.add(
        loss(pointer('/output', index), `an item of the type '${toText(entry.type)}' arrived before its events`),
      )
}

/** Returns the objects of a content list, and reports other entries. */
export const contentObjects = (content: Json | undefined, at: string, report: Report): JsonObject[] =>
  Array.isArray(content) ? objectsIn(content, pointer(at, 'content'), report) : []

/** Returns whether an event reports progress of a server-side tool, all of which the final item repeats. */
export const isProgressEvent = (event: string, type: string): boolean =>
  type !== '' && !isStreamedItem(type) && event.startsWith(`response.${type}`)
