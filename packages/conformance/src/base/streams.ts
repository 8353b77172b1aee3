import type { ClientFormat } from './client-formats.ts'
import { upstreamKey } from './gateways.ts'
import type { Format } from './recorded-traffic.ts'

/** A step of an upstream: bytes, a wait, or a broken connection. */
export type Step = string | { wait: number } | 'reset' | 'hang'

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'recorded', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const candidates = (text: string, more: object = {}, tokens = 1): string =>
  `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...more }], usageMetadata: { promptTokenCount: 3, candidatesTokenCount: tokens, totalTokenCount: 3 + tokens }, modelVersion: 'recorded', responseId: 'r1' })}\r\n\r\n`

let number = 0
const numbered = (type: string, data: object): string => event(type, { sequence_number: number++, ...data })
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const messageItem = (text: string, status: string): object => ({
  id: 'msg_1',
  type: 'message',
  status,
  role: 'assistant',
  content: text === '' ? [] : [{ type: 'output_text', annotations: [], logprobs: [], text }],
})
const response = (status: string, more: object): object => ({
  response: { id: 'resp_1', object: 'response', created_at: 1, model: 'recorded', status, ...more },
})
const delta = (text: string): string => numbered('response.output_text.delta', { ...place, delta: text, logprobs: [] })

/** The same response in every format, word by word: "one two three". Faults follow the third event. */
export const good: Readonly<Record<Format, readonly string[]>> = {
  chat: [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'one' }),
    chunk({ content: ' two' }),
    chunk({ content: ' three' }),
    chunk({}, 'stop'),
    'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"recorded","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":3,"total_tokens":6}}\n\n',
    'data: [DONE]\n\n',
  ],
  messages: [
    event('message_start', {
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'recorded',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 1 },
      },
    }) + event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'one' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: ' two' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: ' three' } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } }),
    event('message_stop', {}),
  ],
  gemini: [
    candidates('', {}, 0),
    candidates('one'),
    candidates(' two', {}, 2),
    candidates(' three', {}, 3),
    candidates('', { finishReason: 'STOP' }, 3),
  ],
  responses: [
    numbered('response.created', response('in_progress', { output: [], usage: null })) +
      numbered('response.output_item.added', { output_index: 0, item: messageItem('', 'in_progress') }) +
      numbered('response.content_part.added', {
        ...place,
        part: { type: 'output_text', annotations: [], logprobs: [], text: '' },
      }),
    delta('one'),
    delta(' two'),
    delta(' three'),
    numbered('response.output_text.done', { ...place, text: 'one two three', logprobs: [] }) +
      numbered('response.content_part.done', {
        ...place,
        part: { type: 'output_text', annotations: [], logprobs: [], text: 'one two three' },
      }),
    numbered('response.output_item.done', { output_index: 0, item: messageItem('one two three', 'completed') }),
    numbered(
      'response.completed',
      response('completed', {
        output: [messageItem('one two three', 'completed')],
        usage: {
          input_tokens: 3,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 3,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 6,
        },
      }),
    ),
  ],
}

export const errorEvent: Readonly<Record<Format, string>> = {
  chat: 'data: {"error":{"message":"Boom at the provider","type":"server_error","param":null,"code":null}}\n\n',
  messages: event('error', { error: { type: 'overloaded_error', message: 'Boom at the provider' } }),
  gemini: 'data: {"error":{"code":503,"message":"Boom at the provider","status":"UNAVAILABLE"}}\r\n\r\n',
  responses: event('error', {
    error: { type: 'server_error', code: 'server_is_overloaded', message: 'Boom at the provider', param: null },
    sequence_number: 3,
  }),
}
/** Expected error message for `errorEvent` in each client format, by upstream format. */
export const errorMessages: Readonly<Record<ClientFormat, (upstream: Format) => string>> = {
  chat: () => 'server_error',
  messages: (upstream) => (upstream === 'chat' ? 'api_error' : 'overloaded_error'),
  gemini: (upstream) => (upstream === 'chat' ? 'INTERNAL' : 'UNAVAILABLE'),
  responses: (upstream) => (upstream === 'chat' ? 'upstream_error' : 'server_is_overloaded'),
  // Its errors have no type.
  ollama: () => '',
  converse: (upstream) => (upstream === 'chat' ? 'modelStreamErrorException' : 'serviceUnavailableException'),
}

export const malformed: Readonly<Record<Format, string>> = {
  chat: 'data: {"broken": \n\n',
  messages: 'event: content_block_delta\ndata: {"broken": \n\n',
  gemini: 'data: {"broken": \r\n\r\n',
  responses: 'event: response.output_text.delta\ndata: {"broken": \n\n',
}

/** A provider's 429 body, with the retry delay if its bodies have one. */
export const rateLimitBodies: Readonly<Record<Format, object>> = {
  chat: { error: { type: 'requests', code: 'rate_limit_exceeded', message: 'Slow down', param: null } },
  messages: { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down' } },
  gemini: { error: { code: 429, message: 'Slow down', status: 'RESOURCE_EXHAUSTED' } },
  responses: { error: { type: 'requests', code: 'rate_limit_exceeded', message: 'Slow down', param: null } },
}

/** Creates an upstream that plays the steps; `silence` is the delay before its headers. */
export function scriptedUpstream(
  steps: readonly Step[],
  silence = 0,
): { fetch: typeof fetch; readonly aborted: boolean } {
  let aborted = false
  const pause = (ms: number, signal: AbortSignal | null | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms)
      signal?.addEventListener('abort', () => {
        aborted = true
        clearTimeout(timer)
        reject(signal.reason)
      })
    })
  return {
    get aborted() {
      return aborted
    },
    fetch: async (_input, init) => {
      if (silence > 0) await pause(silence, init?.signal)
      const left = [...steps]
      const encoder = new TextEncoder()
      const body = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            for (;;) {
              const step = left.shift()
              if (step === undefined) return controller.close()
              if (step === 'reset') return controller.error(new Error('ECONNRESET'))
              if (step === 'hang') return pause(60_000, init?.signal).catch(() => {})
              if (typeof step === 'string') return controller.enqueue(encoder.encode(step))
              await pause(step.wait, init?.signal).catch(() => {})
            }
          },
          cancel() {
            aborted = true
          },
        },
        { highWaterMark: 0 },
      )
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    },
  }
}

/** Returns the error event with the gateway's API key in its message. */
export const errorEventWithKey = (format: Format): string => errorEvent[format].replace('Boom', `Boom ${upstreamKey}`)

/**
 * An error outside of any event, as Google sends it in mid-stream, in a shape that every format's reader recognises.
 */
export const bareError = `${JSON.stringify(
  {
    type: 'error',
    error: {
      code: 503,
      type: 'overloaded_error',
      status: 'UNAVAILABLE',
      message: `Boom ${upstreamKey} at the provider`,
    },
  },
  null,
  2,
)}\n`
