import { isObject, type Json, pointer, put, stringifyExact } from '../../base/json/json.ts'
import type { Part, ToolCallPart, Turn } from '../ir.ts'
import { type CallIds, createCallIds } from '../shared/call-ids.ts'
import { drop, leftover, putBack, takeArray, takeString, type Unread, unread } from '../shared/json-fields.ts'
import { decodeImage } from './media.ts'

/**
 * Decodes messages as turns. Adjacent results of tools become one user turn. Few clients send the ids of calls: a result without one
 * belongs to the first open call of its tool, otherwise to the first open call.
 */
export function decodeMessages(messages: readonly Json[]): Turn[] {
  const turns: Turn[] = []
  const ids = createCallIds()
  let results: Turn | undefined
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) continue // the validator has refused it
    const at = `/messages/${index}`
    const fields = unread(message)
    const role = takeString(fields, 'role')?.toLowerCase()
    if (role !== 'tool') {
      results = undefined
      turns.push(decodeTurn(role, fields, index, at, ids))
      continue
    }
    if (results === undefined) {
      results = { role: 'user', parts: [], at }
      turns.push(results)
    }
    results.parts.push(decodeResult(fields, index, at, ids))
  }
  return turns
}

function decodeTurn(role: string | undefined, fields: Unread, index: number, at: string, ids: CallIds): Turn {
  const known = role === 'system' || role === 'assistant' ? role : 'user'
  const turn: Turn = { role: known, parts: [], at }
  const thinking = takeString(fields, 'thinking')
  if (thinking) turn.parts.push({ type: 'reasoning', text: thinking, at: pointer(at, 'thinking') })
  const calls = takeArray(fields, 'tool_calls') ?? []
  turn.parts.push(...decodeContent(fields, at, calls.length === 0 && turn.parts.length === 0))
  for (const [position, call] of calls.entries()) {
    const part = decodeCall(call, index, position, pointer(pointer(at, 'tool_calls'), position), ids)
    if (part !== undefined) turn.parts.push(part)
  }
  const rest = leftover(fields)
  if (rest !== undefined) turn.extra = { ollama: rest }
  return turn
}

/**
 * Takes the images and the text of a message or a request. Ollama puts images in front of the text.
 *
 * @param keepsEmpty a message without anything else consists of its empty text
 * @param key the field with the text
 */
export function decodeContent(fields: Unread, at: string, keepsEmpty: boolean, key = 'content'): Part[] {
  const parts: Part[] = []
  const images = takeArray(fields, 'images') ?? []
  for (const [position, image] of images.entries()) {
    const part = decodeImage(image, pointer(`${at}/images`, position))
    if (part !== undefined) parts.push(part)
  }
  const text = takeString(fields, key) ?? ''
  if (text !== '' || (keepsEmpty && parts.length === 0)) parts.push({ type: 'text', text, at: pointer(at, key) })
  return parts
}

function decodeCall(call: Json, message: number, position: number, at: string, ids: CallIds): ToolCallPart | undefined {
  if (!isObject(call)) return undefined
  const fields = unread(call)
  const inner = unread(isObject(call.function) ? call.function : {})
  drop(fields, 'function')
  const name = takeString(inner, 'name') ?? ''
  const given = takeString(fields, 'id') || undefined
  const part: ToolCallPart = {
    type: 'tool-call',
    id: ids.callId(given, name, message, position),
    name,
    input: inputOf(inner.arguments),
    at,
  }
  drop(inner, 'arguments')
  // Its place in the list says the same.
  drop(inner, 'index')
  if (fields.type === 'function') drop(fields, 'type')
  const innerRest = leftover(inner)
  if (innerRest !== undefined) putBack(fields, 'function', innerRest)
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { ollama: rest }
  return part
}

/** Some clients send the text that other formats have here. */
const inputOf = (value: Json | undefined): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : stringifyExact(value)

function decodeResult(fields: Unread, index: number, at: string, ids: CallIds): Part {
  const name = takeString(fields, 'tool_name') ?? takeString(fields, 'name')
  const id = takeString(fields, 'tool_call_id') || undefined
  const part: Part = {
    type: 'tool-result',
    callId: ids.responseId(id, name ?? '', index, 0),
    parts: decodeContent(fields, at, true),
    at,
  }
  put(part, 'name', name)
  const rest = leftover(fields)
  if (rest !== undefined) part.extra = { ollama: rest }
  return part
}

/** Returns a turn of the system; none for an empty text. */
export function systemTurn(text: string | undefined, at: string): Turn[] {
  return text ? [{ role: 'system', parts: [{ type: 'text', text, at }], at }] : []
}
