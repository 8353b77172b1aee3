import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createCanceller } from '../base/async.ts'
import type { Plugin } from '../config/plugin.ts'
import type { Inbound } from '../http/inbound.ts'
import type { Transport } from '../http/transport.ts'
import { anthropic } from '../upstreams/anthropic.ts'
import { openai } from '../upstreams/openai.ts'
import { adapterFunctions } from './adapter.ts'
import { chunk } from './create-gateway.test-support.ts'
import { createGateway } from './create-gateway.ts'
import type { Gateway } from './gateway.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const gatewayWith = (plugins: readonly Plugin[]) =>
  createGateway({
    auth: 'none',
    upstreams: { a: openai({ apiKey: 'k' }), m: anthropic({ apiKey: 'k' }) },
    models: { same: { upstream: 'a', model: 'real' }, other: { upstream: 'm', model: 'claude-x' } },
    plugins,
    logger: false,
  })
const gateways = {
  'without a capture': gatewayWith([]),
  'with captured bodies': gatewayWith([{ name: 'bodies', onBodies() {}, bodyLimits: { maxBodyBytes: 1000 } }]),
} as const
const encoder = new TextEncoder()
const first = {
  same: chunk({ role: 'assistant', content: 'hel' }),
  other:
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n' +
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
} as const

const bodyFor = (model: string): Uint8Array =>
  encoder.encode(JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'x'.repeat(100_000) }] }))

/** An agent's conversation: texts, calls of tools and their results. */
const conversation = Array.from({ length: 50 }, (_, n) => [
  { role: 'user', content: `${n} ${'x'.repeat(1000)}` },
  { role: 'assistant', content: 'y'.repeat(1000), tool_calls: [callOf(n)] },
  { role: 'tool', tool_call_id: `call_${n}`, content: 'z'.repeat(1000) },
]).flat()

function callOf(n: number) {
  return {
    id: `call_${n}`,
    type: 'function',
    function: { name: 'f', arguments: JSON.stringify({ a: 'w'.repeat(1000) }) },
  }
}

/** Begins a call whose response sends one event and then stalls; the returned references to its request are weak. */
async function begin(model: keyof typeof first, gateway: Gateway, body = bodyFor(model)) {
  const bytes = new WeakRef(body)
  let sent: WeakRef<object> | undefined
  let held: Uint8Array | undefined = body
  const signal = createCanceller()
  const inbound: Inbound = {
    method: 'POST',
    path: '/v1/chat/completions',
    query: '',
    header: (name) => (name === 'content-type' ? 'application/json' : undefined),
    async read() {
      const content = held as Uint8Array
      held = undefined
      return content
    },
    signal,
  }
  const transport: Transport = async (request) => {
    sent = new WeakRef(request)
    return {
      status: 200,
      header: (name) => (name === 'content-type' ? 'text/event-stream' : undefined),
      bytes: () => Promise.reject(new Error('This answer is a stream.')),
      async *stream() {
        yield encoder.encode(first[model])
        await new Promise(() => {})
      },
      discard() {},
    }
  }
  const reply = await adapterFunctions(gateway).handle(inbound, transport)
  const events = (reply.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
  expect((await events.next()).done).toBe(false)
  return { bytes, sent: sent as WeakRef<object> | undefined, events, signal }
}

describe('a running stream', () => {
  it.each([
    ['same', 'without a capture'],
    ['other', 'without a capture'],
    ['same', 'with captured bodies'],
    ['other', 'with captured bodies'],
  ] as const)('does not keep its request in memory (upstream of the %s format, %s)', async (model, kind) => {
    const running = await begin(model, gateways[kind])
    // The microtask queue may keep awaited values for a few more turns.
    const left = (): boolean => running.bytes.deref() !== undefined || running.sent?.deref() !== undefined
    for (let turns = 0; turns < 50 && left(); turns++) {
      await new Promise((resolve) => setTimeout(resolve, 10))
      collect()
    }
    expect(left()).toBe(false)
    running.signal.abort()
    await running.events.return?.()
  })
})

it('keeps neither the text nor the translated text of large requests while their upstream works', async () => {
  const gateway = gateways['without a capture']
  const messages = Array.from({ length: 200 }, (_, n) => ({ role: 'user', content: `${n} Łódź ${'x'.repeat(1000)}` }))
  const body = encoder.encode(JSON.stringify({ model: 'other', messages }))
  let pending = 0
  const transport: Transport = () => {
    pending++
    return new Promise(() => {})
  }
  const signal = createCanceller()
  const begun = async (calls: number): Promise<number> => {
    const before = pending
    for (let n = 0; n < calls; n++) {
      const copy = body.slice()
      const inbound: Inbound = {
        method: 'POST',
        path: '/v1/chat/completions',
        query: '',
        header: (name) => (name === 'content-type' ? 'application/json' : undefined),
        read: async () => copy,
        signal,
      }
      adapterFunctions(gateway)
        .handle(inbound, transport)
        .catch(() => {})
    }
    while (pending < before + calls) await new Promise((resolve) => setTimeout(resolve, 5))
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = await begun(5)
  const heldByCall = ((await begun(20)) - before) / 20
  signal.abort()
  // As text, with two bytes for each character, the request and its translation would each hold twice the size of the body.
  expect(heldByCall / body.length).toBeLessThan(4.5)
})

it.each(['same', 'other'] as const)(
  'a stream holds no large conversation (upstream of the %s format)',
  async (model) => {
    const gateway = gateways['without a capture']
    const body = encoder.encode(JSON.stringify({ model, stream: true, messages: conversation }))
    const running: Awaited<ReturnType<typeof begin>>[] = []
    const open = async (calls: number): Promise<number> => {
      for (let n = 0; n < calls; n++) running.push(await begin(model, gateway, body.slice()))
      collect()
      return process.memoryUsage().heapUsed
    }
    const before = await open(5)
    const heldByStream = ((await open(20)) - before) / 20
    // What remains are the stream itself, and the names of tools.
    expect(heldByStream / body.length).toBeLessThan(0.4)
    for (const { signal, events } of running) {
      signal.abort()
      await events.return?.()
    }
  },
)

it.each([10, 100_000])('a translated stream repeats the instructions of a request with %i characters', async (size) => {
  const request = { model: 'other', stream: true, instructions: 'Be brief.', input: 'x'.repeat(size) }
  const transport: Transport = async () => ({
    status: 200,
    header: (name) => (name === 'content-type' ? 'text/event-stream' : undefined),
    bytes: () => Promise.reject(new Error('This response is a stream.')),
    async *stream() {
      yield encoder.encode(first.other)
      yield encoder.encode('event: message_stop\ndata: {"type":"message_stop"}\n\n')
    },
    discard() {},
  })
  const inbound: Inbound = {
    method: 'POST',
    path: '/v1/responses',
    query: '',
    header: (name) => (name === 'content-type' ? 'application/json' : undefined),
    read: async () => encoder.encode(JSON.stringify(request)),
    signal: createCanceller(),
  }
  const { body } = await adapterFunctions(gateways['without a capture']).handle(inbound, transport)
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body as AsyncIterable<Uint8Array>) text += decoder.decode(chunk, { stream: true })
  expect(text.match(/"instructions":"Be brief\."/g)?.length).toBeGreaterThan(1)
  expect(text).not.toContain('"instructions":null')
})
