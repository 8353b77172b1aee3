import { newId } from '../../base/bytes.ts'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { Adaptation, EventEditor, RequestChanges } from './adaptation.ts'
import { chunkOf, eventOf, objectsIn, withoutNulls, withUsage } from './chat-stream.ts'
import { ToolCallCollector } from './tool-call-collector.ts'

/**
 * Clients of Mistral. Its API is OpenAI's with other names of some fields. Its SDK rejects pieces of a tool call, and its users read usage
 * and finish reason from the same, last chunk.
 */
export const mistral: Adaptation = {
  generate: { editRequest, editResponse, openEvents, clientFields: { seed: 'random_seed' } },
  embeddings: { editResponse: (body) => ({ id: newId('embd-'), ...body }) },
}

function editRequest(body: JsonObject): RequestChanges | undefined {
  const set: JsonObject = withUsage(body)
  const drop: string[] = []
  if (body.random_seed !== undefined) {
    drop.push('random_seed')
    if (body.random_seed !== null && body.seed === undefined) set.seed = body.random_seed
  }
  if (body.tool_choice === 'any') set.tool_choice = 'required'
  const { messages } = body
  if (Array.isArray(messages) && messages.some(differs))
    set.messages = messages.map((message) => (isObject(message) ? toChatMessage(message) : message))
  return Object.keys(set).length === 0 && drop.length === 0 ? undefined : { set, drop }
}

const differs = (message: Json): boolean =>
  isObject(message) &&
  (message.prefix === false || Array.isArray(message.tool_calls) || objectsIn(message.content).some(hasPlainUrl))

/** Mistral's SDK sends defaults that the format does not have, and images as plain URLs. */
function toChatMessage({ prefix, ...message }: JsonObject): JsonObject {
  const out: JsonObject = prefix === undefined || prefix === false ? message : { prefix, ...message }
  if (Array.isArray(message.content)) out.content = message.content.map(toChatPart)
  if (Array.isArray(message.tool_calls)) out.tool_calls = message.tool_calls.map(toChatCall)
  return out
}

const hasPlainUrl = (part: JsonObject): boolean => part.type === 'image_url' && typeof part.image_url === 'string'

const toChatPart = (part: Json): Json =>
  isObject(part) && hasPlainUrl(part) ? { ...part, image_url: { url: part.image_url ?? '' } } : part

/** The arguments may be an object. */
function toChatCall(call: Json): Json {
  if (!isObject(call)) return call
  const { index: _, ...others } = call
  const { function: called } = call
  if (!isObject(called) || !isObject(called.arguments)) return { type: 'function', ...others }
  return { type: 'function', ...others, function: { ...called, arguments: JSON.stringify(called.arguments) } }
}

function editResponse(body: JsonObject): JsonObject {
  const choices = objectsIn(body.choices).map((choice) =>
    isObject(choice.message) ? { ...choice, message: editMessage(choice.message) } : choice,
  )
  return { ...body, choices }
}

function editMessage(message: JsonObject): JsonObject {
  const out = withThinking(withoutNulls(message, 'content', 'refusal'))
  if (Array.isArray(out.tool_calls))
    out.tool_calls = objectsIn(out.tool_calls).map((call, index) => ({ index, ...call }))
  return { ...out, prefix: false }
}

/** Mistral's models return a text of reasoning as the first part of the content. */
function withThinking({ reasoning_content: thought, ...message }: JsonObject): JsonObject {
  if (typeof thought !== 'string' || thought === '') return message
  const parts: Json[] = [{ type: 'thinking', thinking: [{ type: 'text', text: thought }] }]
  if (typeof message.content === 'string' && message.content !== '') parts.push({ type: 'text', text: message.content })
  else if (Array.isArray(message.content)) parts.push(...message.content)
  return { ...message, content: parts }
}

/** Holds the end of each choice until the usage is known, and the tool calls until they are whole. */
function openEvents(): EventEditor {
  const calls = new ToolCallCollector()
  /** The chunk that ends the stream's choices. */
  let last: JsonObject | undefined
  let hasFailed = false

  const flush = () => {
    const events = last === undefined ? [] : [eventOf(last)]
    last = undefined
    return events
  }
  return {
    push(event) {
      const chunk = chunkOf(event)
      if (chunk === undefined) return event.event === ':' ? [event] : [...flush(), event]
      if (chunk.error !== undefined && chunk.error !== null) {
        hasFailed = true
        return [event]
      }
      const choices = objectsIn(chunk.choices)
      const usage = isObject(chunk.usage) ? { usage: chunk.usage } : {}
      if (choices.length === 0 && last !== undefined) {
        last = { ...last, ...usage }
        return flush()
      }
      const edited: JsonObject[] = []
      for (const choice of choices) {
        const one = editDelta(choice, calls)
        if (one !== undefined) edited.push(one)
      }
      if (edited.length === 0 && choices.length > 0 && chunk.usage == null) return []
      const frame = { ...withoutNulls(chunk), choices: edited }
      if (!edited.some(({ finish_reason: finish }) => typeof finish === 'string')) return [eventOf(frame)]
      // Choices end one after the other.
      const ended = flush()
      last = frame
      return chunk.usage == null ? ended : [...ended, ...flush()]
    },
    end: () => (hasFailed ? [] : flush()),
  }
}

/** Returns a choice of a chunk, with its tool calls if it is the last one. Undefined if nothing is left of it. */
function editDelta(choice: JsonObject, calls: ToolCallCollector): JsonObject | undefined {
  const { tool_calls: pieces, ...delta } = isObject(choice.delta) ? withoutNulls(choice.delta) : {}
  const at = typeof choice.index === 'number' ? choice.index : 0
  calls.add(at, objectsIn(pieces))
  const edited = withThinking(delta)
  if (typeof choice.finish_reason === 'string') {
    const whole = calls.take(at)
    return { ...choice, delta: { content: '', ...edited, ...(whole.length === 0 ? {} : { tool_calls: [...whole] }) } }
  }
  const onlyCalls = pieces !== undefined && Object.keys(edited).every((key) => key === 'role')
  return onlyCalls ? undefined : { ...choice, delta: edited }
}
