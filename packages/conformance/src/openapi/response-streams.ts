import type { SharedFormat } from '@modelgate/core'
import type { JsonObject } from '@modelgate/core/test-support'
import { isObject, type Json, listOf, objectOf } from '../base/json.ts'

const named = (event: JsonObject): string => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`
const unnamed = (event: JsonObject): string => `data: ${JSON.stringify(event)}\n\n`

function chat({ usage, ...body }: JsonObject): string {
  const choices = listOf(body.choices).map(objectOf)
  const frame = { ...body, object: 'chat.completion.chunk' }
  const text = choices.map(({ message, finish_reason: _, ...choice }) => ({ ...choice, delta: deltaOf(message) }))
  const ended = choices.map(({ index = 0, finish_reason = null }) => ({ index, delta: {}, finish_reason }))
  const chunks: JsonObject[] = [
    { ...frame, choices: text },
    { ...frame, choices: ended },
  ]
  if (usage !== undefined) chunks.push({ ...frame, choices: [], usage })
  return `${chunks.map(unnamed).join('')}data: [DONE]\n\n`
}

function deltaOf(message: Json | undefined): JsonObject {
  const { tool_calls: calls, ...rest } = objectOf(message)
  if (!Array.isArray(calls)) return rest
  return { ...rest, tool_calls: calls.map((call, index) => ({ index, ...objectOf(call) })) }
}

function messages({ content, stop_reason, stop_sequence, stop_details, container, ...body }: JsonObject): string {
  const message = { ...body, content: [], stop_reason: null, stop_sequence: null, container: null }
  const delta: JsonObject = {}
  for (const [key, value] of Object.entries({ stop_reason, stop_sequence, stop_details, container }))
    if (value !== undefined) delta[key] = value
  const events: JsonObject[] = [{ type: 'message_start', message }]
  for (const [index, block] of listOf(content).map(objectOf).entries()) {
    const { citations, ...rest } = block
    const texts = block.type === 'text' ? { ...rest, text: '' } : block
    events.push({ type: 'content_block_start', index, content_block: texts })
    if (block.type === 'text') {
      events.push({ type: 'content_block_delta', index, delta: { type: 'text_delta', text: block.text ?? '' } })
      for (const citation of listOf(citations))
        events.push({ type: 'content_block_delta', index, delta: { type: 'citations_delta', citation } })
    }
    events.push({ type: 'content_block_stop', index })
  }
  events.push({ type: 'message_delta', delta, usage: body.usage ?? {} }, { type: 'message_stop' })
  return events.map(named).join('')
}

/** One chunk may contain the whole response. */
const gemini = (body: JsonObject): string => unnamed(body)

function responses(body: JsonObject): string {
  const events: JsonObject[] = []
  const send = (type: string, fields: JsonObject): void => {
    events.push({ type, sequence_number: events.length, ...fields })
  }
  const { usage: _, incomplete_details: _why, ...begun } = body
  send('response.created', { response: { ...begun, status: 'in_progress', output: [] } })
  for (const [output_index, item] of listOf(body.output).map(objectOf).entries()) {
    const place = { output_index, item_id: item.id ?? '' }
    send('response.output_item.added', {
      output_index,
      item: item.type === 'message' ? { ...item, status: 'in_progress', content: [] } : item,
    })
    if (item.type === 'message')
      for (const [content_index, part] of listOf(item.content).filter(isObject).entries())
        sendPart(part, { ...place, content_index }, send)
    send('response.output_item.done', { output_index, item })
  }
  const { status } = body
  send(status === 'incomplete' || status === 'failed' ? `response.${status}` : 'response.completed', { response: body })
  return events.map(named).join('')
}

function sendPart(part: JsonObject, place: JsonObject, send: (type: string, fields: JsonObject) => void): void {
  if (part.type === 'refusal') {
    send('response.content_part.added', { ...place, part: { ...part, refusal: '' } })
    send('response.refusal.delta', { ...place, delta: part.refusal ?? '' })
    send('response.refusal.done', { ...place, refusal: part.refusal ?? '' })
  } else if (part.type === 'output_text') {
    const { text = '', logprobs = [], annotations } = part
    send('response.content_part.added', { ...place, part: { ...part, text: '', logprobs: [], annotations: [] } })
    send('response.output_text.delta', { ...place, delta: text, logprobs })
    for (const [annotation_index, annotation] of listOf(annotations).entries())
      send('response.output_text.annotation.added', { ...place, annotation_index, annotation })
    send('response.output_text.done', { ...place, text, logprobs })
  } else send('response.content_part.added', { ...place, part })
  send('response.content_part.done', { ...place, part })
}

/** Frames reach the codec as named events. */
function converse({ output, stopReason, additionalModelResponseFields, ...body }: JsonObject): string {
  const { role = 'assistant', content } = objectOf(objectOf(output).message)
  const events: JsonObject[] = [{ messageStart: { role } }]
  for (const [contentBlockIndex, block] of listOf(content).map(objectOf).entries()) {
    for (const event of blockEvents(block)) {
      const [[type = '', fields] = []] = Object.entries(event)
      events.push({ [type]: { contentBlockIndex, ...objectOf(fields) } })
    }
    events.push({ contentBlockStop: { contentBlockIndex } })
  }
  const fields = additionalModelResponseFields === undefined ? {} : { additionalModelResponseFields }
  events.push({ messageStop: { ...(stopReason === undefined ? {} : { stopReason }), ...fields } }, { metadata: body })
  return events
    .flatMap(Object.entries<Json>)
    .map(([type, event]) => `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('')
}

function blockEvents(block: JsonObject): JsonObject[] {
  const delta = (value: JsonObject): JsonObject => ({ contentBlockDelta: { delta: value } })
  const { text, toolUse, toolResult, image, reasoningContent, citationsContent } = block
  if (typeof text === 'string') return [delta({ text })]
  if (isObject(toolUse)) {
    const { input = {}, ...start } = toolUse
    return [{ contentBlockStart: { start: { toolUse: start } } }, delta({ toolUse: { input: JSON.stringify(input) } })]
  }
  if (isObject(toolResult)) {
    const { content, ...start } = toolResult
    return [{ contentBlockStart: { start: { toolResult: start } } }, delta({ toolResult: listOf(content) })]
  }
  if (isObject(image)) {
    const { source, ...start } = image
    return [{ contentBlockStart: { start: { image: start } } }, delta({ image: { source: source ?? {} } })]
  }
  if (isObject(reasoningContent)) {
    const { reasoningText, redactedContent } = reasoningContent
    if (redactedContent !== undefined) return [delta({ reasoningContent: { redactedContent } })]
    return Object.entries(objectOf(reasoningText)).map(([key, value]) => delta({ reasoningContent: { [key]: value } }))
  }
  if (isObject(citationsContent))
    return [
      ...listOf(citationsContent.content).map((part) => delta(objectOf(part))),
      ...listOf(citationsContent.citations).map((citation) => delta({ citation })),
    ]
  return [{ contentBlockStart: { start: block } }]
}

/** Converts an upstream's unstreamed response to a stream. */
export const streamed: { readonly [F in SharedFormat]: (body: JsonObject) => string } = {
  chat,
  messages,
  gemini,
  responses,
  converse,
}
