import type { JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'

export const sse = (data: JsonObject): SseEvent => ({ event: String(data.type), data: JSON.stringify(data) })
export const start = sse({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 9, output_tokens: 1 },
  },
})
export const ending = (stop_reason: string): SseEvent[] => [
  sse({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } }),
  sse({ type: 'message_stop' }),
]
export const block = (index: number, content_block: JsonObject, ...deltas: JsonObject[]): SseEvent[] => [
  sse({ type: 'content_block_start', index, content_block }),
  ...deltas.map((delta) => sse({ type: 'content_block_delta', index, delta })),
  sse({ type: 'content_block_stop', index }),
]
export const ping = sse({ type: 'ping' })
