import { afterAll, describe, expect, test } from 'vitest'
import { simpleRequest, type WireFormat } from './fixtures.ts'
import { fetchOf, gatewayTo, requestTo, upstreamKey } from './gateways.ts'
import { eventData } from './reading.ts'
import { anthropicClient, askChat, askMessages, openaiClient } from './sdk.ts'
import { onlyError } from './stream-checks.ts'

/** What an upstream does, step by step: bytes, or waiting, or breaking off. */
type Step = string | { wait: number } | 'reset' | 'hang'

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'recorded', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`

/** The same answer in both formats: "one two three". */
const good: Readonly<Record<WireFormat, readonly string[]>> = {
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
}
const errorEvent: Readonly<Record<WireFormat, string>> = {
  chat: 'data: {"error":{"message":"Boom at the provider","type":"server_error","param":null,"code":null}}\n\n',
  messages: event('error', { error: { type: 'overloaded_error', message: 'Boom at the provider' } }),
}

const malformed: Readonly<Record<WireFormat, string>> = {
  chat: 'data: {"broken": \n\n',
  messages: 'event: content_block_delta\ndata: {"broken": \n\n',
}

/** An upstream that plays the steps; `silence` passes before its headers. */
function playing(steps: readonly Step[], silence = 0): { fetch: typeof fetch; readonly aborted: boolean } {
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

const ask = (format: WireFormat, fetch: typeof globalThis.fetch) =>
  format === 'chat'
    ? askChat(openaiClient({ fetch }), simpleRequest(format, true))
    : askMessages(anthropicClient({ fetch }), simpleRequest(format, true))

/** The SDK's raw iterator, for those who use no helper. */
async function iterate(format: WireFormat, fetch: typeof globalThis.fetch): Promise<number> {
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  const stream: AsyncIterable<unknown> =
    format === 'chat'
      ? await openaiClient({ fetch }).chat.completions.create({ model: 'recorded', messages, stream: true })
      : await anthropicClient({ fetch }).messages.create({ model: 'recorded', max_tokens: 64, messages, stream: true })
  let seen = 0
  for await (const _ of stream) seen++
  return seen
}

const pairs = (['chat', 'messages'] as const).flatMap((client) =>
  (['chat', 'messages'] as const).map((upstream) => ({ client, upstream })),
)
const raw = async (
  format: WireFormat,
  fetch: typeof globalThis.fetch,
): Promise<{ status: number; text: string; headers: Headers }> => {
  const response = await fetch(requestTo(format, JSON.stringify(simpleRequest(format, true))))
  return { status: response.status, text: await response.text(), headers: response.headers }
}
let checks = 0
afterAll(() => console.log(`faults: ${checks} faulty streams, every client format × upstream format`))

describe.each(pairs)('$client from $upstream', ({ client, upstream }) => {
  const events = good[upstream]
  const broken: Readonly<Record<string, readonly Step[]>> = {
    'a reset': [...events.slice(0, 3), 'reset'],
    'a clean end of file': events.slice(0, 3),
    'an end of file in an event': [...events.slice(0, 3), events[3]?.slice(0, 20) ?? ''],
    'a stall': [...events.slice(0, 3), 'hang'],
    'an error event': [...events.slice(0, 3), errorEvent[upstream]],
    'a malformed event': [...events.slice(0, 2), malformed[upstream], ...events.slice(2)],
  }

  test.each(Object.keys(broken))('%s in mid-stream: the SDK throws, helper and raw iterator', async (name) => {
    for (const read of [ask, iterate]) {
      const up = playing(broken[name] ?? [])
      const gateway = gatewayTo(upstream, { fetch: up.fetch, limits: { idleMs: 150 } })
      await expect(read(client, fetchOf(gateway))).rejects.toThrow()
      checks++
    }
  })

  test.each(Object.keys(broken).filter((name) => name !== 'a malformed event' || client !== upstream))(
    '%s in mid-stream: one error in the dialect, no success, and the words before it',
    async (name) => {
      const up = playing(broken[name] ?? [])
      const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch, limits: { idleMs: 150 } })))
      expect(answer.status).toBe(200)
      expect(answer.text).toContain('one')
      const error = onlyError(client, answer)
      if (name === 'an error event') expect(error.message).toContain('Boom at the provider')
      checks++
    },
  )

  test('an error event keeps its type where the dialect knows it', async () => {
    const up = playing([...events.slice(0, 3), errorEvent[upstream]])
    const error = onlyError(client, await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch }))))
    if (client === upstream) expect(error.type).toBe(client === 'chat' ? 'server_error' : 'overloaded_error')
    else expect(error.type).toBe(client === 'chat' ? 'server_error' : 'api_error')
  })

  test('what stands behind an error event in the same chunk is not passed on, and the upstream key is taken out', async () => {
    const telling = errorEvent[upstream].replace('Boom', `Boom ${upstreamKey}`)
    const up = playing([[...events.slice(0, 3), telling, ...events.slice(3)].join('')])
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch })))
    expect(answer.text).toContain('one')
    expect(onlyError(client, answer).message).toContain('at the provider')
    expect(answer.text).not.toContain(upstreamKey)
  })

  test('an error event before any word is a status', async () => {
    const up = playing([errorEvent[upstream]])
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch })))
    expect(answer.status).toBeGreaterThanOrEqual(500)
    expect(onlyError(client, answer).message).toContain('Boom at the provider')
  })

  test('429 with Retry-After reaches the client as 429, however late', async () => {
    const fetch: typeof globalThis.fetch = async () => {
      await new Promise((resolve) => setTimeout(resolve, 40))
      return Response.json(
        { error: { type: 'rate_limit_error', message: 'Slow down' } },
        { status: 429, headers: { 'retry-after': '9' } },
      )
    }
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch })))
    expect(answer.status).toBe(429)
    expect(answer.headers.get('retry-after')).toBe('9')
  })

  test('heartbeats while the upstream is silent, and the SDK does not mind them', async () => {
    const steps = events.flatMap((step): Step[] => [step, { wait: 50 }])
    const limits = { heartbeatMs: 12 }
    const gateway = (): typeof globalThis.fetch => fetchOf(gatewayTo(upstream, { fetch: playing(steps).fetch, limits }))
    expect(await ask(client, gateway())).toMatchObject({ text: 'one two three', usage: { input: 3, output: 3 } })
    const quiet = await raw(client, fetchOf(gatewayTo(upstream, { fetch: playing(events).fetch })))
    const beating = await raw(client, gateway())
    expect(eventData(beating.text).length).toBeGreaterThan(eventData(quiet.text).length + 5)
    if (client === 'messages') expect(beating.text).toContain('event: ping\ndata: {"type":"ping"}')
    checks++
  })

  test('an upstream without a first event is held back only so long: then 200 and heartbeats', async () => {
    const limits = { holdMs: 30, heartbeatMs: 15 }
    const started = Date.now()
    const steps: Step[] = [{ wait: 600 }, ...events]
    const response = await gatewayTo(upstream, { fetch: playing(steps).fetch, limits }).fetch(
      requestTo(client, JSON.stringify(simpleRequest(client, true))),
    )
    expect(response.status).toBe(200)
    expect(Date.now() - started).toBeLessThan(400)
    const fetch = fetchOf(gatewayTo(upstream, { fetch: playing(steps).fetch, limits }))
    expect(await ask(client, fetch)).toMatchObject({ text: 'one two three' })
    await response.body?.cancel()
  })

  test('an upstream that sends not even headers is held back only so long, too', async () => {
    const limits = { holdMs: 30, heartbeatMs: 15 }
    const started = Date.now()
    const response = await gatewayTo(upstream, { fetch: playing(events, 600).fetch, limits }).fetch(
      requestTo(client, JSON.stringify(simpleRequest(client, true))),
    )
    expect(response.status).toBe(200)
    expect(Date.now() - started).toBeLessThan(400)
    await response.body?.cancel()
    const fetch = fetchOf(gatewayTo(upstream, { fetch: playing(events, 120).fetch, limits }))
    expect(await ask(client, fetch)).toMatchObject({ text: 'one two three' })
  })

  test('an upstream that never begins is 504 at its limit', async () => {
    const up = playing(events, 60_000)
    const started = Date.now()
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch, limits: { firstByteMs: 80 } })))
    expect(answer.status).toBe(504)
    expect(Date.now() - started).toBeLessThan(400)
    expect(up.aborted).toBe(true)
    onlyError(client, answer)
  })
})
