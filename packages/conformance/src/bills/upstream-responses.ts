import type { JsonObject } from '../base/json.ts'
import type { Bill } from './bills.ts'

type Events = readonly JsonObject[]

/** The response of an upstream with the usage of a bill, whole and as the events of a stream. */
interface Recorded {
  readonly whole: JsonObject
  readonly stream: string
}

const asEvents = (events: Events): string =>
  events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join('')
const asData = (events: Events): string => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

function messages({ model, usage, response }: Bill): Recorded {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model, stop_sequence: null, ...response }
  const events: Events = [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
  return {
    whole: { ...message, content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn', usage },
    stream: asEvents(events),
  }
}

function responses({ model, usage, response: members }: Bill): Recorded {
  const part = { type: 'output_text', text: 'Hello', annotations: [] }
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] }
  const isCounted = members?.tool_usage !== undefined || usage.server_side_tool_usage_details !== undefined
  const searches = isCounted ? webSearchItems : []
  const response = { id: 'resp_1', object: 'response', created_at: 1, model, ...members, status: 'completed' }
  const whole = { ...response, output: [...searches, item], usage }
  const at = { item_id: 'msg_1', output_index: searches.length, content_index: 0 }
  const events: Events = [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [], usage: null } },
    ...searches.flatMap((search, index) => [
      { type: 'response.output_item.added', output_index: index, item: search },
      { type: 'response.output_item.done', output_index: index, item: search },
    ]),
    {
      type: 'response.output_item.added',
      output_index: searches.length,
      item: { ...item, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: 'Hello' },
    { type: 'response.output_text.done', ...at, text: 'Hello' },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: searches.length, item },
    { type: 'response.completed', response: whole },
  ]
  return {
    whole,
    stream: asEvents(events.map((event, index) => ({ ...event, sequence_number: index }))),
  }
}

/** Items of searches: more than the requests that the provider bills. */
const webSearchItems = [
  { type: 'search', query: 'weather in Oslo' },
  { type: 'open_page', url: 'https://example.com/' },
  { type: 'search', query: 'Oslo forecast' },
].map((action, index) => ({ id: `ws_${index}`, type: 'web_search_call', status: 'completed', action }))

function chat({ model, usage, response }: Bill): Recorded {
  const frame = { id: 'chatcmpl-1', created: 1, model, ...response }
  const chunk = { ...frame, object: 'chat.completion.chunk' }
  const choice = (delta: JsonObject, finish: string | null): JsonObject => ({ index: 0, delta, finish_reason: finish })
  const events: Events = [
    { ...chunk, choices: [choice({ role: 'assistant', content: 'Hello' }, null)] },
    { ...chunk, choices: [choice({}, 'stop')] },
    { ...chunk, choices: [], usage },
  ]
  const message = { role: 'assistant', content: 'Hello' }
  return {
    whole: { ...frame, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage },
    stream: `${asData(events)}data: [DONE]\n\n`,
  }
}

function gemini({ model, usage, response }: Bill): Recorded {
  const candidate = { content: { role: 'model', parts: [{ text: 'Hello' }] }, index: 0 }
  const frame = { modelVersion: model, responseId: 'r1' }
  const last = { ...candidate, ...response, finishReason: 'STOP' }
  return {
    whole: { ...frame, candidates: [last], usageMetadata: usage },
    stream: asData([
      { ...frame, candidates: [{ ...candidate, content: { role: 'model', parts: [{ text: 'Oh. ' }] } }] },
      { ...frame, candidates: [last], usageMetadata: usage },
    ]),
  }
}

export const recordedResponse = (bill: Bill): Recorded => ({ messages, responses, chat, gemini })[bill.format](bill)
