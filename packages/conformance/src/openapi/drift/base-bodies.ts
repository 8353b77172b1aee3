import type { JsonObject } from '../../base/json.ts'
import type { Format } from '../../base/recorded-traffic.ts'

/** The smallest request of each format. Formats with the model in the path omit it. */
export const baseRequests: Readonly<Record<Format, JsonObject>> = {
  chat: { model: 'recorded', messages: [{ role: 'user', content: 'Hi' }] },
  messages: { model: 'recorded', max_tokens: 99, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'recorded', input: [{ role: 'user', content: 'Hi' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
}

const text = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
} satisfies JsonObject

const response = (status: string, output: JsonObject[]): JsonObject => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status,
  model: 'recorded',
  output,
  usage: status === 'completed' ? { input_tokens: 3, output_tokens: 2, total_tokens: 5 } : null,
})

const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'recorded' } satisfies JsonObject
const chunk = (delta: JsonObject, finish: string | null): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'recorded',
  choices: [{ index: 0, delta, finish_reason: finish }],
})

/** An unstreamed response of each format. */
export const baseAnswers: Readonly<Record<Format, JsonObject>> = {
  chat: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'recorded',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  },
  messages: {
    ...message,
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 2 },
  },
  responses: response('completed', [text]),
  gemini: {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    modelVersion: 'recorded',
    responseId: 'r1',
  },
}

/** A stream of each format in two halves; the tested event goes between them. */
export const baseEvents: Readonly<Record<Format, { readonly before: JsonObject[]; readonly after: JsonObject[] }>> = {
  chat: { before: [chunk({ role: 'assistant', content: 'Hello' }, null)], after: [chunk({}, 'stop')] },
  messages: {
    before: [
      {
        type: 'message_start',
        message: {
          ...message,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 3, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
      { type: 'content_block_stop', index: 0 },
    ],
    after: [
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ],
  },
  responses: {
    before: [
      { type: 'response.created', sequence_number: 0, response: response('in_progress', []) },
      {
        type: 'response.output_item.added',
        sequence_number: 1,
        output_index: 0,
        item: { ...text, status: 'in_progress', content: [] },
      },
      {
        type: 'response.output_text.delta',
        sequence_number: 2,
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta: 'Hello',
      },
      { type: 'response.output_item.done', sequence_number: 3, output_index: 0, item: text },
    ],
    after: [{ type: 'response.completed', sequence_number: 9, response: response('completed', [text]) }],
  },
  gemini: { before: [], after: [] },
}
