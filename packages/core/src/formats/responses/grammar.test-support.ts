import { expect } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'

/** The open item or part and its place; only one is open at a time. */
interface Open {
  item: JsonObject
  index: number
  content: number
  summary: number
  part: boolean
  text: string
}

/** Asserts that the strictest official accumulator accepts a stream: order, places, ids, sums and numbers. */
export function checkGrammar(events: readonly SseEvent[], name: string): void {
  const wire = events
    .filter(({ data }) => data !== '[DONE]')
    .map(({ event, data }) => ({ event, value: JSON.parse(data) as JsonObject }))
  const done: JsonObject[] = []
  let open: Open | undefined
  let id: Json | undefined
  const fail = (why: string, value: JsonObject): never => {
    throw new Error(`${name}: ${why}: ${JSON.stringify(value).slice(0, 400)}`)
  }
  for (const [number, { event, value }] of wire.entries()) {
    const type = String(value.type)
    if (event !== type) fail('the event and its data have different names', value)
    if (value.sequence_number !== number) fail(`number ${String(value.sequence_number)} in place of ${number}`, value)
    if (number === 0 && type !== 'response.created' && type !== 'error') fail('not the first event', value)
    if (isObject(value.response)) {
      id ??= value.response.id
      if (value.response.id !== id || !id) fail('another response id', value)
    }
    if (value.output_index !== undefined && value.output_index !== done.length)
      fail(`not at place ${done.length}`, value)
    if (value.item_id !== undefined && value.item_id !== open?.item.id)
      fail('an event of an item that is not open', value)
    switch (type) {
      case 'response.output_item.added':
        if (open !== undefined || !isObject(value.item)) fail('added within another item', value)
        open = { item: value.item as JsonObject, index: done.length, content: 0, summary: 0, part: false, text: '' }
        if (!open.item.id || done.some((item) => item.id === open?.item.id)) fail('no id of its own', value)
        break
      case 'response.content_part.added':
      case 'response.reasoning_summary_part.added': {
        const place = type.includes('summary') ? value.summary_index : value.content_index
        if (open === undefined || open.part) fail('added within another part', value)
        else {
          if (place !== (type.includes('summary') ? open.summary : open.content)) fail('a wrong place', value)
          open.part = true
          open.text = ''
        }
        break
      }
      case 'response.content_part.done':
      case 'response.reasoning_summary_part.done': {
        const part = value.part as JsonObject
        if (open === undefined || !open.part) fail('nothing to end', value)
        else {
          if ((part.text ?? part.refusal) !== open.text) fail('another text than was streamed', value)
          open.part = false
          if (type.includes('summary')) open.summary++
          else open.content++
        }
        break
      }
      case 'response.output_text.delta':
      case 'response.refusal.delta':
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        if (open === undefined || !open.part) fail('a delta outside of a part', value)
        else open.text += String(value.delta)
        break
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        if (open === undefined) fail('a delta outside of an item', value)
        else open.text += String(value.delta)
        break
      case 'response.output_item.done': {
        const item = value.item as JsonObject
        if (open === undefined || open.part) fail('not open, or not ended', value)
        else {
          for (const key of ['id', 'type', 'call_id', 'role', 'name'])
            if (item[key] !== open.item[key]) fail(`another ${key}`, value)
          const input =
            item.type === 'function_call' ? item.arguments : item.type === 'custom_tool_call' ? item.input : undefined
          if (input !== undefined && input !== open.text) fail('another input than was streamed', value)
          if (item.status === 'in_progress') fail('done and in progress', value)
        }
        done.push(item)
        open = undefined
        break
      }
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        if (number !== wire.length - 1) fail('events after the last', value)
        expect((value.response as JsonObject).output, name).toEqual(done)
        if (type !== 'response.failed') {
          if (open !== undefined) fail('ended within an item', value)
          const { usage } = value.response as JsonObject
          expect(usage, name).toMatchObject({ input_tokens: expect.any(Number), total_tokens: expect.any(Number) })
        }
        break
      default:
    }
  }
  const last = String(wire.at(-1)?.value.type)
  if (!['response.completed', 'response.incomplete', 'response.failed'].includes(last))
    fail('no ending', wire.at(-1)?.value ?? {})
  expect(events.at(-1)?.data === '[DONE]', name).toBe(last !== 'response.failed')
}
