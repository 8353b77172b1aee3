import { afterAll, describe, expect, test } from 'vitest'
import { fetchOf, gatewayTo, requestTo, upstreamKey } from '../base/gateways.ts'
import { type Format, formats, simpleRequest } from '../base/recorded-traffic.ts'
import { anthropicClient, askAs, googleClient, openaiClient } from '../base/sdk-clients.ts'
import { onlyError } from '../base/stream-checks.ts'
import {
  bareError,
  errorEvent,
  errorWords,
  good,
  malformed,
  playing,
  type Step,
  slowDown,
  telling,
} from '../base/streams.ts'

/** The official client's own accumulator, or for Google's the chunks in order. */
const ask = (format: Format, fetch: typeof globalThis.fetch) =>
  askAs(format, { fetch }, { ...simpleRequest(format, true), stream: true })

/** The SDK's raw iterator, for those who use no helper. */
async function iterate(format: Format, fetch: typeof globalThis.fetch): Promise<number> {
  const messages = [{ role: 'user' as const, content: 'Hello' }]
  const model = 'recorded'
  const streams: Readonly<Record<Format, () => Promise<AsyncIterable<unknown>>>> = {
    chat: () => openaiClient({ fetch }).chat.completions.create({ model, messages, stream: true }),
    messages: () => anthropicClient({ fetch }).messages.create({ model, max_tokens: 64, messages, stream: true }),
    gemini: () => googleClient({ fetch }).models.generateContentStream({ model, contents: 'Hello' }),
    responses: () => openaiClient({ fetch }).responses.create({ model, input: 'Hello', stream: true }),
  }
  let seen = 0
  for await (const _ of await streams[format]()) seen++
  return seen
}

const pairs = formats.flatMap((client) => formats.map((upstream) => ({ client, upstream })))
const request = (format: Format): Request =>
  requestTo(format, JSON.stringify(simpleRequest(format, true)), {}, { stream: true })
const raw = async (
  format: Format,
  fetch: typeof globalThis.fetch,
): Promise<{ status: number; text: string; headers: Headers }> => {
  const response = await fetch(request(format))
  return { status: response.status, text: await response.text(), headers: response.headers }
}
let checks = 0
afterAll(() => console.log(`faults: ${checks} faulty streams, every client format × upstream format`))

// Most of it is waiting: what runs side by side waits side by side.
describe.concurrent.each(pairs)('$client from $upstream', ({ client, upstream }) => {
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
    expect(error.type).toBe(errorWords[client](upstream))
  })

  test('what stands behind an error event in the same chunk is not passed on, and the upstream key is taken out', async () => {
    const up = playing([[...events.slice(0, 3), telling(upstream), ...events.slice(3)].join('')])
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch })))
    expect(answer.text).toContain('one')
    expect(onlyError(client, answer).message).toContain('at the provider')
    expect(answer.text).not.toContain(upstreamKey)
  })

  test.each(['', '\n'])(
    'an error that is no event is told as one, without the upstream key, with %j behind it',
    async (end) => {
      const up = playing([...events.slice(0, 3), bareError + end])
      const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch })))
      expect(answer.text).toContain('one')
      expect(onlyError(client, answer).message).toContain('at the provider')
      expect(answer.text).not.toContain(upstreamKey)
    },
  )

  test('an error event before any word is a status', async () => {
    const up = playing([errorEvent[upstream]])
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch })))
    expect(answer.status).toBeGreaterThanOrEqual(500)
    expect(onlyError(client, answer).message).toContain('Boom at the provider')
  })

  test('429 with Retry-After reaches the client as 429, however late', async () => {
    const fetch: typeof globalThis.fetch = async () => {
      await new Promise((resolve) => setTimeout(resolve, 40))
      return Response.json(slowDown[upstream], { status: 429, headers: { 'retry-after': '9' } })
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
    // Responses clients get comments.
    const blocksIn = (text: string): number => text.split('\n\n').length
    expect(blocksIn(beating.text)).toBeGreaterThan(blocksIn(quiet.text) + 5)
    if (client === 'messages') expect(beating.text).toContain('event: ping\ndata: {"type":"ping"}')
    checks++
  })

  test('an upstream without a first event is held back only so long: then 200 and heartbeats', async () => {
    const limits = { holdMs: 30, heartbeatMs: 15 }
    // Longer than a test may take: the response comes before the first event.
    const silent = playing([{ wait: 120_000 }, ...events])
    const response = await gatewayTo(upstream, { fetch: silent.fetch, limits }).fetch(request(client))
    expect(response.status).toBe(200)
    const steps: Step[] = [{ wait: 600 }, ...events]
    const fetch = fetchOf(gatewayTo(upstream, { fetch: playing(steps).fetch, limits }))
    expect(await ask(client, fetch)).toMatchObject({ text: 'one two three' })
    await response.body?.cancel()
  })

  test('an upstream that sends not even headers is held back only so long, too', async () => {
    const limits = { holdMs: 30, heartbeatMs: 15 }
    const response = await gatewayTo(upstream, { fetch: playing(events, 120_000).fetch, limits }).fetch(request(client))
    expect(response.status).toBe(200)
    await response.body?.cancel()
    const fetch = fetchOf(gatewayTo(upstream, { fetch: playing(events, 120).fetch, limits }))
    expect(await ask(client, fetch)).toMatchObject({ text: 'one two three' })
  })

  test('an upstream that never begins is 504 at its limit', async () => {
    const up = playing(events, 120_000)
    const answer = await raw(client, fetchOf(gatewayTo(upstream, { fetch: up.fetch, limits: { firstByteMs: 80 } })))
    expect(answer.status).toBe(504)
    expect(up.aborted).toBe(true)
    onlyError(client, answer)
  })
})
