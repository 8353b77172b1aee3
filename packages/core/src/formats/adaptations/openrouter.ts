import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import { decodeError } from '../chat/error.ts'
import type { Adaptation, EventEditor, RequestChanges } from './adaptation.ts'
import { chunkOf, eventOf, objectsIn, withoutNulls, withUsage } from './chat-stream.ts'
import { openRouterError } from './openrouter-error.ts'

/**
 * Clients of OpenRouter. Its SDK rejects a response without `system_fingerprint`, and null where OpenAI's format permits it. Every stream
 * ends with the usage, and an error in it is a chunk.
 */
export const openrouter: Adaptation = {
  generate: { editRequest, editResponse, openEvents },
}

function editRequest(body: JsonObject): RequestChanges | undefined {
  const set: JsonObject = withUsage(body)
  const drop: string[] = []
  // Usage is always part of a response.
  if (body.usage !== undefined) drop.push('usage')
  // The form that all upstreams know.
  const effort = isObject(body.reasoning) ? body.reasoning.effort : undefined
  const isEffortAlone = isObject(body.reasoning) && Object.keys(body.reasoning).length === 1
  if (isEffortAlone && typeof effort === 'string' && body.reasoning_effort === undefined) {
    set.reasoning_effort = effort
    drop.push('reasoning')
  }
  return Object.keys(set).length === 0 && drop.length === 0 ? undefined : { set, drop }
}

function editResponse(body: JsonObject): JsonObject {
  const out: JsonObject = { ...editFrame(body), system_fingerprint: body.system_fingerprint ?? null }
  out.choices = objectsIn(body.choices).map((choice) =>
    isObject(choice.message) ? { ...choice, message: editMessage(choice.message) } : choice,
  )
  return out
}

/** Edits the members that responses and chunks share. */
function editFrame(body: JsonObject): JsonObject {
  const out = withoutNulls(body)
  if (isObject(out.usage)) out.usage = editUsage(out.usage)
  return out
}

/** Removes nulls, which the SDK accepts in none of the counts of the prompt. */
const editUsage = (usage: JsonObject): JsonObject => {
  const out = withoutNulls(usage)
  if (isObject(out.prompt_tokens_details)) out.prompt_tokens_details = withoutNulls(out.prompt_tokens_details)
  return out
}

/** OpenRouter's name of a text of reasoning is `reasoning`. */
function editMessage(message: JsonObject): JsonObject {
  const { reasoning_content: thought, ...others } = withoutNulls(message, 'content', 'refusal')
  return thought === undefined ? others : { reasoning: thought, ...others }
}

function openEvents(): EventEditor {
  let frame: JsonObject = { id: '', object: 'chat.completion.chunk', created: 0, model: '' }
  return {
    push(event) {
      const chunk = chunkOf(event)
      if (chunk === undefined) return [event]
      const { id, object, created, model } = chunk
      if (id !== undefined && created !== undefined) frame = { id, object, created, model } as JsonObject
      const choices = objectsIn(chunk.choices)
      if (isObject(chunk.error) || typeof chunk.error === 'string') return [eventOf(errorChunk(frame, chunk, choices))]
      return [eventOf({ ...editFrame(chunk), choices: choices.map(editChoice) })]
    },
    end: () => [],
  }
}

const editChoice = (choice: JsonObject): Json =>
  isObject(choice.delta) ? { ...choice, delta: editMessage(choice.delta) } : choice

/** An error is a chunk whose choice ends with `error`. */
function errorChunk(frame: JsonObject, chunk: JsonObject, choices: readonly JsonObject[]): JsonObject {
  const delta = { role: 'assistant', content: '' }
  const [first = { index: 0, delta }] = choices.map(editChoice).filter(isObject)
  return {
    ...frame,
    error: openRouterError(decodeError(200, { error: chunk.error ?? null })),
    choices: [{ ...first, finish_reason: 'error' }],
  }
}
