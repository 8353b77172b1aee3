import { ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { afterAll, describe, expect, test } from 'vitest'
import { sendWithClient } from '../base/all-clients.ts'
import { bedrockRuntime } from '../base/bedrock-client.ts'
import {
  type ClientFormat,
  clientFormatRows,
  clientFormats,
  errorNameIn,
  simpleRequest,
  statusIn,
} from '../base/client-formats.ts'
import { readableText } from '../base/frames.ts'
import { fetchOf, gatewayTo, requestTo, upstreamKey } from '../base/gateways.ts'
import { ollamaClient } from '../base/ollama-client.ts'
import { formats } from '../base/recorded-traffic.ts'
import { anthropicClient, googleClient, openaiClient } from '../base/sdk-clients.ts'
import { onlyError } from '../base/stream-checks.ts'
import {
  bareError,
  errorEvent,
  errorEventWithKey,
  errorMessages,
  good,
  malformed,
  rateLimitBodies,
  type Step,
  scriptedUpstream,
} from '../base/streams.ts'

/** Uses the official client's accumulator, or the chunks of Google's and Ollama's in order. */
const ask = (format: ClientFormat, fetch: typeof globalThis.fetch) =>
  sendWithClient(format, { fetch }, { ...simpleRequest(format, true), stream: true })

/** Uses the SDK's raw iterator instead of its helper. */
async function iterate(format: ClientFormat, fetch: typeof globalThis.fetch): Promise<number> {
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  const model = 'recorded'
  const streams: Readonly<Record<ClientFormat, () => Promise<AsyncIterable<unknown>>>> = {
    chat: () => openaiClient({ fetch }).chat.completions.create({ model, messages, stream: true }),
    messages: () => anthropicClient({ fetch }).messages.create({ model, max_tokens: 64, messages, stream: true }),
    gemini: () => googleClient({ fetch }).models.generateContentStream({ model, contents: 'Hello' }),
    responses: () => openaiClient({ fetch }).responses.create({ model, input: 'Hello', stream: true }),
    ollama: () => ollamaClient({ fetch }).chat({ model, messages, stream: true }),
    async converse() {
      const said = [{ role: 'user' as const, content: [{ text: 'Hello' }] }]
      const { stream } = await bedrockRuntime({ fetch }).send(
        new ConverseStreamCommand({ modelId: model, messages: said }),
      )
      if (stream === undefined) throw new Error('the response has no stream')
      return stream
    },
  }
  let seen = 0
  for await (const _ of await streams[format]()) seen++
  return seen
}

const pairs = clientFormats.flatMap((client) => formats.map((upstream) => ({ client, upstream })))
const request = (format: ClientFormat): Request =>
  requestTo(format, JSON.stringify(simpleRequest(format, true)), {}, { stream: true })
const raw = async (
  format: ClientFormat,
  fetch: typeof globalThis.fetch,
): Promise<{ status: number; text: string; headers: Headers; name: string }> => {
  const response = await fetch(request(format))
  const { status, headers } = response
  const text = readableText(new Uint8Array(await response.arrayBuffer()), headers.get('content-type'))
  return { status, text, headers, name: errorNameIn(format, (name) => headers.get(name) ?? undefined) }
}
/** Heartbeats are comments or events; in lines of JSON they are spaces. */
const betweenBlocks = { events: /\n\n/, lines: /\n| (?=[ {])/, frames: /\n\n/ } as const
let checks = 0
afterAll(() => console.log(`faults: ${checks} faulty streams, every client format × upstream format`))

// Concurrent, because most of the time is waiting.
describe.concurrent.each(pairs)('faulty stream for a $client client from $upstream', ({ client, upstream }) => {
  const events = good[upstream]
  const broken: Readonly<Record<string, readonly Step[]>> = {
    'a reset': [...events.slice(0, 3), 'reset'],
    'a clean end of file': events.slice(0, 3),
    'an end of file within an event': [...events.slice(0, 3), events[3]?.slice(0, 20) ?? ''],
    'a stall': [...events.slice(0, 3), 'hang'],
    'an error event': [...events.slice(0, 3), errorEvent[upstream]],
    'a malformed event': [...events.slice(0, 2), malformed[upstream], ...events.slice(2)],
  }

  test.each(Object.keys(broken))('makes the SDK throw in helper and raw iterator after %s', async (name) => {
    for (const read of [ask, iterate]) {
      const up = scriptedUpstream(broken[name] ?? [])
      const gateway = gatewayTo(upstream, { fetch: up.fetch, limits: { idleMs: 150 } })
      await expect(read(client, fetchOf(gateway))).rejects.toThrow()
      checks++
    }
  })

  test.each(Object.keys(broken).filter((name) => name !== 'a malformed event' || client !== upstream))(
    'ends in one error of the dialect, without success, after the earlier words: %s',
    async (name) => {
      const up = scriptedUpstream(broken[name] ?? [])
      const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch, limits: { idleMs: 150 } })))
      expect(answer.status).toBe(200)
      expect(answer.text).toContain('one')
      const error = onlyError(client, answer)
      if (name === 'an error event') expect(error.message).toContain('Boom at the provider')
      checks++
    },
  )

  test('keeps the type of an error event if the dialect knows it', async () => {
    const up = scriptedUpstream([...events.slice(0, 3), errorEvent[upstream]])
    const error = onlyError(client, await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch }))))
    expect(error.type).toBe(errorMessages[client](upstream))
  })

  test('drops events after an error event in the same chunk, and redacts the upstream key', async () => {
    const up = scriptedUpstream([[...events.slice(0, 3), errorEventWithKey(upstream), ...events.slice(3)].join('')])
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch })))
    expect(answer.text).toContain('one')
    expect(onlyError(client, answer).message).toContain('at the provider')
    expect(answer.text).not.toContain(upstreamKey)
  })

  test.each(['', '\n'])(
    'reports an error outside of an event, with the upstream key redacted, followed by %j',
    async (end) => {
      const up = scriptedUpstream([...events.slice(0, 3), bareError + end])
      const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch })))
      expect(answer.text).toContain('one')
      expect(onlyError(client, answer).message).toContain('at the provider')
      expect(answer.text).not.toContain(upstreamKey)
    },
  )

  test('returns an error event before any text as a status', async () => {
    const up = scriptedUpstream([errorEvent[upstream]])
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch })))
    expect([500, 502, 503, 504, 529].map((status) => statusIn(client, status))).toContain(answer.status)
    expect(onlyError(client, answer).message).toContain('Boom at the provider')
  })

  test('passes a late 429 with Retry-After to the client as 429', async () => {
    const fetch: typeof globalThis.fetch = async () => {
      await new Promise((resolve) => setTimeout(resolve, 40))
      return Response.json(rateLimitBodies[upstream], { status: 429, headers: { 'retry-after': '9' } })
    }
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch })))
    expect(answer.status).toBe(429)
    expect(answer.headers.get('retry-after')).toBe('9')
  })

  test('sends heartbeats during silence, which the SDK ignores', async () => {
    const steps = events.flatMap((step): Step[] => [step, { wait: 50 }])
    const limits = { heartbeatMs: 12 }
    const gateway = (): typeof globalThis.fetch =>
      fetchOf(gatewayTo(upstream, { fetch: scriptedUpstream(steps).fetch, limits }))
    expect(await ask(client, gateway())).toMatchObject({ text: 'one two three', usage: { input: 3, output: 3 } })
    const quiet = await raw(client, fetchOf(gatewayTo(upstream, { fetch: scriptedUpstream(events).fetch })))
    const beating = await raw(client, gateway())
    const blocksIn = (text: string): number => text.split(betweenBlocks[clientFormatRows[client].framing]).length
    expect(blocksIn(beating.text)).toBeGreaterThan(blocksIn(quiet.text) + 2)
    if (client === 'messages') expect(beating.text).toContain('event: ping\ndata: {"type":"ping"}')
    checks++
  })

  test('starts the response with 200 and heartbeats if the first event is late', async () => {
    const limits = { holdMs: 30, heartbeatMs: 15 }
    // Longer than the test's timeout: the response must start before the first event.
    const silent = scriptedUpstream([{ wait: 120_000 }, ...events])
    const response = await gatewayTo(upstream, { fetch: silent.fetch, limits }).fetch(request(client))
    expect(response.status).toBe(200)
    const steps: Step[] = [{ wait: 600 }, ...events]
    const fetch = fetchOf(gatewayTo(upstream, { fetch: scriptedUpstream(steps).fetch, limits }))
    expect(await ask(client, fetch)).toMatchObject({ text: 'one two three' })
    await response.body?.cancel()
  })

  test("starts the response with 200 and heartbeats if the upstream's headers are late", async () => {
    const limits = { holdMs: 30, heartbeatMs: 15 }
    const response = await gatewayTo(upstream, { fetch: scriptedUpstream(events, 120_000).fetch, limits }).fetch(
      request(client),
    )
    expect(response.status).toBe(200)
    await response.body?.cancel()
    const fetch = fetchOf(gatewayTo(upstream, { fetch: scriptedUpstream(events, 120).fetch, limits }))
    expect(await ask(client, fetch)).toMatchObject({ text: 'one two three' })
  })

  test('returns 504 at the limit if the upstream never starts', async () => {
    const up = scriptedUpstream(events, 120_000)
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch, limits: { firstByteMs: 80 } })))
    expect(answer.status).toBe(statusIn(client, 504))
    expect(up.aborted).toBe(true)
    onlyError(client, answer)
  })
})
