import type { GatewayConfig } from '../config/config.ts'
import type { FinishEvent } from '../config/finish-event.ts'
import { memoryResponseStore } from '../operations/responses/store.ts'
import { anthropic } from '../upstreams/anthropic.ts'
import { gemini } from '../upstreams/gemini.ts'
import { openai } from '../upstreams/openai.ts'
import { createGateway } from './create-gateway.ts'

export const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'real',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
}
export const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 1 },
}
export const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'real', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
export const sse = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'hel' }),
  chunk({ content: 'lo' }),
  chunk({}, 'stop'),
  'data: [DONE]\n\n',
]

export const generated = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
  modelVersion: 'gemini-x',
  responseId: 'r1',
}
/** The same response as two events with Google's line endings. */
export const generatedEvents = ['hel', 'lo'].map(
  (text, index) =>
    `data: ${JSON.stringify({
      candidates: [
        { content: { role: 'model', parts: [{ text }] }, index: 0, ...(index === 1 ? { finishReason: 'STOP' } : {}) },
      ],
      usageMetadata: generated.usageMetadata,
      modelVersion: 'gemini-x',
      responseId: 'r1',
    })}\r\n\r\n`,
)

export interface Seen {
  url: string
  headers: Headers
  body: string
}
export type Answer = (seen: Seen, signal: AbortSignal | undefined) => Response | Promise<Response>
export const asJson =
  (body: unknown, init?: ResponseInit): Answer =>
  () =>
    new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' }, ...init })
export const asStream =
  (parts: readonly string[], pauseMs = 0): Answer =>
  () => {
    const bytes = parts.map((part) => new TextEncoder().encode(part))
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const next = bytes.shift()
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
        if (next === undefined) controller.close()
        else controller.enqueue(next)
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

/** Creates a gateway over canned upstreams, identified by host: `http://a`, `http://b` (chat, responses), `http://m` (messages) and `http://g` (generateContent). */
export function setUp(answers: { [host: string]: Answer }, config: Partial<GatewayConfig> = {}) {
  const seen: Seen[] = []
  const finished: FinishEvent[] = []
  const logged: unknown[] = []
  const gateway = createGateway({
    auth: (token) => (token === 'good' ? { id: 'me' } : null),
    upstreams: {
      a: openai({ apiKey: 'sk-canary-aaaaaaaa', baseURL: 'http://a/v1' }),
      b: openai({ apiKey: 'sk-canary-bbbbbbbb', baseURL: 'http://b/v1' }),
      m: anthropic({ apiKey: 'sk-canary-mmmmmmmm', baseURL: 'http://m' }),
      g: gemini({ apiKey: 'sk-canary-gggggggg', baseURL: 'http://g' }),
    },
    models: {
      real: 'a',
      alias: { upstream: 'a', model: 'real' },
      both: ['a', 'b'],
      'claude*': 'm',
      mixed: ['m', 'a'],
      'gemini*': 'g',
      'org/*': 'g',
      short: { upstream: 'g', model: 'gemini-long' },
      careful: { upstream: 'g', model: 'gemini-x', onLoss: 'reject' },
    },
    plugins: [{ name: 'test', onFinish: (event) => void finished.push(event) }],
    // An explicit store prevents a warning about the default store.
    responses: { store: memoryResponseStore() },
    logger: { warn: (...all) => logged.push(all), error: (...all) => logged.push(all) },
    fetch: (async (input: string, init: RequestInit) => {
      const call: Seen = {
        url: input,
        headers: new Headers(init.headers),
        body: typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body as Uint8Array),
      }
      seen.push(call)
      const answer = answers[new URL(input).host]
      if (answer === undefined) throw new TypeError('fetch failed: getaddrinfo ENOTFOUND internal-host')
      return answer(call, init.signal ?? undefined)
    }) as typeof fetch,
    ...config,
  } as GatewayConfig)
  const post = (path: string, body: unknown, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    gateway.fetch(
      new Request(`http://gw${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer good', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...init,
      }),
    )
  const chat = (extra: object = {}, headers = {}, init: RequestInit = {}) =>
    post(
      '/v1/chat/completions',
      { model: 'real', messages: [{ role: 'user', content: 'hi' }], ...extra },
      headers,
      init,
    )
  const messages = (extra: object = {}, headers = {}) =>
    post(
      '/v1/messages',
      { model: 'claude-x', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], ...extra },
      { 'anthropic-version': '2023-06-01', ...headers },
    )
  return { gateway, seen, finished, logged, post, chat, messages }
}
