import type { Format } from './recorded-traffic.ts'

/** Valid JSON that no library would write: big integers, duplicate keys, escapes, spaces and an unknown field. */
const oddities = '"new_field":{"a":1.0,"a":2e2,"__proto__":{"x":1}},"big":98765432109876543210'
const oddText = String.raw`\u0041 \/ 🙂 é`

/** Returns a request in each format. Gemini has the model in the path. */
export function oddRequest(format: Format, model: string): string {
  const named = `{ "seed":12345678901234567890 ,\n\t"model"  :"${model}", ${oddities},`
  switch (format) {
    case 'chat':
      return `${named}"messages":[{"role":"user","content":"${oddText}"}] }`
    case 'messages':
      return `${named}"messages":[{"role":"user","content":"${oddText}"}],"max_tokens":7e0 }`
    case 'gemini':
      return `{ ${oddities} ,\n\t"contents"  :[{"parts":[{"text":"${oddText}"}]}],"generation_config":{"max_output_tokens":7e0} }`
    case 'responses':
      return `${named}"input":[{"role":"user","content":"${oddText}"}],"store":false }`
  }
}

const text = String.raw`"\u0041"`

/** A response in each format. */
export const oddResponse: Readonly<Record<Format, string>> = {
  chat: `{ "id":"x",${oddities}, "choices" :[{"index":0,"message":{"role":"assistant","content":${text}},"finish_reason":"stop"}],"a":1,"a":2}\n`,
  messages: `{"type":"message", "id":"m",${oddities},"role":"assistant","content":[{"type":"text","text":${text}}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1.0}}`,
  gemini: `{ "candidates" :[{"content":{"parts":[{"text":${text}}],"role":"model"},"finishReason":"STOP"}],${oddities},"usageMetadata":{"promptTokenCount":1.0},"a":1,"a":2}\r\n`,
  responses: `{ "id":"resp_x",${oddities},"object":"response","status":"completed","output" :[{"type":"message","id":"msg_x","role":"assistant","status":"completed","content":[{"type":"output_text","text":${text},"annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1.0,"total_tokens":2}}`,
}

/** A stream in each format. */
export const oddStream: Readonly<Record<Format, string>> = {
  chat: `: hello\r\n\r\ndata:{"id":"x","choices":[{"index":0,"delta":{"content":${text}},"finish_reason":"stop"}],"big":98765432109876543210}\r\n\r\ndata: [DONE]\r\n\r\n`,
  messages:
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}   }\n\nevent: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"new_block"}}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
  gemini: `data: {"candidates": [{"content": {"parts": [{"text": ${text}}],"role": "model"}}],${oddities}}\r\n\r\ndata: {"candidates": [{"content": {"parts": [{"newPart": {}}],"role": "model"},"finishReason": "NEW_REASON"}],"usageMetadata": {"promptTokenCount": 1.0}}\r\n\r\n`,
  responses: `event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{"id":"resp_x","status":"in_progress",${oddities}}   }\n\nevent: response.new_event.delta\ndata: {"type":"response.new_event.delta","delta":${text},"sequence_number":1}\n\nevent: response.completed\ndata: {"type":"response.completed","sequence_number":2,"response":{"id":"resp_x","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":1.0,"total_tokens":2}}}\n\n`,
}
