import type { Format, UpstreamFormat } from '@modelgate/core'
import { streamedEvents } from '@modelgate/core/test-support'
import { readSse } from '../base/client-events.ts'
import { type JsonObject, parseJson } from '../base/json.ts'
import type { StreamEvent } from './injection.ts'
import { chatUsage } from './injection-samples.ts'
import { writtenStreams } from './streams.ts'

// The streams of the fuzz tests, with events that vendors and newer servers add.

const eventsOf = (text: string): readonly StreamEvent[] =>
  readSse(text).map(({ event, data }) => ({ event, data: parseJson(data) ?? data }))
const written = (format: Format): readonly (readonly StreamEvent[])[] =>
  writtenStreams.filter((one) => one.format === format).map(({ text }) => eventsOf(text))

const events = (...list: readonly JsonObject[]): readonly StreamEvent[] =>
  list.map((data) => ({ event: typeof data.type === 'string' ? data.type : '', data }))
const chunk = (delta: JsonObject, more: JsonObject = {}): StreamEvent => ({
  event: '',
  data: {
    ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'recorded' },
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  },
})
const vendorChat: readonly StreamEvent[] = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'hm', format: 'f', index: 0 }] }),
  chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'ZA==', index: 1 }] }),
  chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }),
  chunk({ content: 'so' }),
  chunk({ annotations: [{ type: 'url_citation', url_citation: { url: 'https://e.example', title: 't' } }] }),
  chunk({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0K' } }] }),
  chunk({ audio: { id: 'a', data: 'UklG', transcript: 't' } }),
  chunk({ audio: { data: 'Rg==', expires_at: 1 } }),
  chunk({ tool_calls: [{ index: 0, id: 'x', type: 'custom', custom: { name: 'run', input: '' } }] }),
  chunk({ tool_calls: [{ index: 0, custom: { input: 'a' } }] }),
  chunk({}, { finish_reason: 'tool_calls' }),
  { event: '', data: { id: 'c', object: 'chat.completion.chunk', model: 'recorded', choices: [], usage: chatUsage } },
  { event: '', data: '[DONE]' },
]
const legacyChat: readonly StreamEvent[] = [
  chunk({ role: 'assistant', content: null, function_call: { name: 'old', arguments: '' } }),
  chunk({ function_call: { arguments: '{}' } }),
  chunk({}, { finish_reason: 'function_call' }),
  { event: '', data: '[DONE]' },
]
const endingMessages = events(
  {
    type: 'message_start',
    message: {
      ...{ id: 'm', type: 'message', role: 'assistant', model: 'recorded', content: [], stop_reason: null },
      usage: { input_tokens: 3, output_tokens: 1, cache_creation: { ephemeral_5m_input_tokens: 1 } },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'compaction', content: null } },
  { type: 'content_block_delta', index: 0, delta: { type: 'compaction_delta', content: 'all before' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: {
      ...{ stop_reason: 'refusal', stop_sequence: null, container: { id: 'c' } },
      stop_details: { type: 'refusal', category: 'cyber', explanation: 'no' },
    },
    usage: { output_tokens: 9 },
    context_management: { applied_edits: [{ type: 'clear_tool_uses_20250919' }] },
    input_transformations: [{ type: 'thinking_removed', count: 1 }],
  },
  { type: 'message_stop' },
)
const item = { id: 'msg_1', type: 'message', role: 'assistant' }
const text = { type: 'output_text', text: 'so', annotations: [], logprobs: [] }
const token = { token: 'so', logprob: -1, bytes: [115, 111], top_logprobs: [] }
const otherResponses = events(
  { type: 'response.created', response: { id: 'r', model: 'recorded', status: 'in_progress', output: [] } },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { id: 'ws', type: 'web_search_call', status: 'in_progress' },
  },
  { type: 'response.web_search_call.searching', output_index: 0, item_id: 'ws' },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: { id: 'ws', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
  },
  { type: 'response.output_item.added', output_index: 1, item: { id: 'rs', type: 'reasoning', summary: [] } },
  { type: 'response.reasoning_text.delta', output_index: 1, item_id: 'rs', content_index: 0, delta: 'hm' },
  { type: 'response.reasoning_text.done', output_index: 1, item_id: 'rs', content_index: 0, text: 'hm' },
  {
    type: 'response.output_item.done',
    output_index: 1,
    item: { id: 'rs', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
  },
  { type: 'response.output_item.added', output_index: 2, item: { ...item, status: 'in_progress', content: [] } },
  { type: 'response.content_part.added', output_index: 2, content_index: 0, part: { ...text, text: '' } },
  { type: 'response.output_text.delta', output_index: 2, content_index: 0, delta: 'so', logprobs: [token] },
  { type: 'response.output_text.done', output_index: 2, content_index: 0, text: 'so', logprobs: [token] },
  { type: 'response.content_part.done', output_index: 2, content_index: 0, part: { ...text, logprobs: [token] } },
  { type: 'response.content_part.added', output_index: 2, content_index: 1, part: { type: 'refusal', refusal: '' } },
  { type: 'response.refusal.delta', output_index: 2, content_index: 1, delta: 'no' },
  { type: 'response.refusal.done', output_index: 2, content_index: 1, refusal: 'no' },
  { type: 'response.content_part.done', output_index: 2, content_index: 1, part: { type: 'refusal', refusal: 'no' } },
  {
    type: 'response.output_item.done',
    output_index: 2,
    item: {
      ...item,
      phase: 'final_answer',
      content: [
        { ...text, logprobs: [token] },
        { type: 'refusal', refusal: 'no' },
      ],
    },
  },
  {
    type: 'response.output_item.added',
    output_index: 3,
    item: { id: 'ctc', type: 'custom_tool_call', call_id: 'b', name: 'run', input: '' },
  },
  { type: 'response.custom_tool_call_input.delta', output_index: 3, item_id: 'ctc', delta: 'a' },
  { type: 'response.custom_tool_call_input.done', output_index: 3, item_id: 'ctc', input: 'a' },
  {
    type: 'response.output_item.done',
    output_index: 3,
    item: { id: 'ctc', type: 'custom_tool_call', call_id: 'b', name: 'run', input: 'a' },
  },
  {
    type: 'response.incomplete',
    response: {
      ...{ id: 'r', model: 'recorded', status: 'incomplete', output: [] },
      incomplete_details: { reason: 'max_output_tokens' },
      tool_usage: { web_search: { num_requests: 1 } },
      usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12, input_tokens_details: { cached_tokens: 1 } },
    },
  },
)

export const streamsOf: { readonly [F in UpstreamFormat]: readonly (readonly StreamEvent[])[] } = {
  chat: [...written('chat'), vendorChat, legacyChat],
  messages: [...written('messages'), endingMessages],
  gemini: written('gemini'),
  responses: [...written('responses'), otherResponses],
  converse: [streamedEvents.map(([event, data]) => ({ event, data }))],
}
