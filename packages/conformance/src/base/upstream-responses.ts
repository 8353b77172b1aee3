import type { Play, UpstreamCall } from './raw-upstream.ts'
import type { Format } from './recorded-traffic.ts'
import { good, rateLimitBodies } from './streams.ts'

/** Returns a response head as raw bytes, for responses that no HTTP library would write. */
export const rawHead = (status: number, headers: Readonly<Record<string, string>>, reason = 'OK'): string =>
  `HTTP/1.1 ${status} ${reason}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

/** An unstreamed response in each format: "one two three", three input and three output tokens. */
export const wholeResponse: Readonly<Record<Format, object>> = {
  chat: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'recorded',
    choices: [{ index: 0, message: { role: 'assistant', content: 'one two three' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
  },
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'recorded',
    content: [{ type: 'text', text: 'one two three' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 3 },
  },
  gemini: {
    candidates: [{ content: { parts: [{ text: 'one two three' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 3, totalTokenCount: 6 },
    modelVersion: 'recorded',
    responseId: 'r1',
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    model: 'recorded',
    status: 'completed',
    output: [
      {
        id: 'msg_1',
        type: 'message',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', annotations: [], logprobs: [], text: 'one two three' }],
      },
    ],
    usage: {
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 6,
    },
  },
}

/** Returns the format of a generation call; throws for other calls. */
export function formatOf(call: UpstreamCall): Format {
  if (call.format === undefined) throw new Error(`${call.method} ${call.path} is not a generation path`)
  return call.format
}

/** Sends an ordinary response, streamed if requested. */
export function sendGoodResponse(call: UpstreamCall): void {
  const format = formatOf(call)
  if (call.stream) {
    beginStream(call)
    for (const event of good[format]) call.response.write(event)
    call.response.end()
  } else sendJson(call, 200, wholeResponse[format])
}

/** @param body a string is sent unchanged */
export function sendJson(
  call: UpstreamCall,
  status: number,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  call.response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  call.response.end(text)
}

/** Starts an event stream; events are written to `call.response`. */
export function beginStream(call: UpstreamCall): void {
  call.response.writeHead(200, { 'content-type': 'text/event-stream' })
  call.response.flushHeaders()
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Resolves with the promise's value, or undefined after this time. */
export async function resultWithin<T>(ms: number, what: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([what, timeout])
  } finally {
    clearTimeout(timer)
  }
}

// Replacements for the words of the ordinary responses, "one two three".

type Words = Readonly<Record<'one' | 'two' | 'three', string>>

const inOtherWords = (text: string, words: Words): string =>
  text.replace(/\b(one|two|three)\b/g, (word) => JSON.stringify(words[word as keyof Words]).slice(1, -1))

/** Returns the events of an ordinary stream with these words. */
export const eventsWithWords = (format: Format, words: Words): string[] =>
  good[format].map((event) => inOtherWords(event, words))

/** Returns an ordinary unstreamed body with these words. */
export const bodyWithWords = (format: Format, words: Words): string =>
  inOtherWords(JSON.stringify(wholeResponse[format]), words)

/** Replaces the token counts of an ordinary response, which are three and three. */
export const withTokenCounts = (text: string, input: number, output: number): string =>
  text
    .replace(/"(prompt_tokens|input_tokens|promptTokenCount)":3\b/g, `"$1":${input}`)
    .replace(/"(completion_tokens|output_tokens|candidatesTokenCount)":3\b/g, `"$1":${output}`)
    .replace(/"(total_tokens|totalTokenCount)":6\b/g, `"$1":${input + output}`)

/** Returns an error status with a minimal body. */
export const failWithStatus =
  (status: number, headers: Readonly<Record<string, string>> = {}): Play =>
  (call) =>
    sendJson(call, status, { type: 'error', error: { message: `Failed with ${status}.` } }, headers)

/** Returns a rate limit error in the call's format. */
export const failWithRateLimit =
  (headers: Readonly<Record<string, string>> = {}): Play =>
  (call) =>
    sendJson(call, 429, rateLimitBodies[formatOf(call)], headers)

export const resetConnection: Play = ({ socket }: UpstreamCall) => void socket.resetAndDestroy()
export const neverRespond: Play = () => {}
