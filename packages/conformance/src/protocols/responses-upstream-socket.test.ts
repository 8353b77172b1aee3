import type { Upstream } from '@modelgate/core'
import { createFakeProvider, createResponsesSockets, listen } from '@modelgate/testing'
import { until } from '@modelgate/testing/test-support'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { upstreamKey, upstreamOf } from '../base/gateways.ts'
import { realtimeServers } from './realtime-fixture.ts'
import { otherToken, type SocketFixture, socketUpstream, startSockets } from './responses-socket-fixture.ts'

const slow = '[[words:5000]] [[slow:5]]'

/** Opens a client's WebSocket to a gateway whose upstream accepts one too. */
async function connected(options: Parameters<typeof startSockets>[0] = {}) {
  const fixture = await startSockets({ upstream: 'socket', ...options })
  const client = fixture.ws()
  await client.opened
  return { ...fixture, client }
}

/** Returns the messages that the upstream received on one of its WebSockets. */
const receivedBy = ({ upstream }: Pick<SocketFixture, 'upstream'>, index = 0) =>
  (upstream.sockets[index]?.received ?? []).map((text) => JSON.parse(text) as Record<string, unknown>)

describe('an upstream that accepts a WebSocket', () => {
  it.each(realtimeServers)('gets all responses of a client of $name on one WebSocket', async ({ start }) => {
    const { client, upstream, fake, finished } = await connected({ start })
    client.create({ input: '[[say:first]]' })
    await client.ended(1)
    client.create({ input: '[[say:second]]' })
    const ended = await client.ended(2)
    expect(JSON.stringify(ended.map(({ response }) => response?.output))).toMatch(/first.*second/)
    expect(upstream.sockets).toHaveLength(1)
    expect(receivedBy({ upstream }).map(({ type, stream }) => [type, stream])).toEqual([
      ['response.create', undefined],
      ['response.create', undefined],
    ])
    expect(fake.requests).toHaveLength(2)
    await until(() => finished.length === 2, 'two settlements')
    expect(finished.map(({ outcome, usage }) => [outcome, (usage?.output.total ?? 0) > 0])).toEqual([
      ['finished', true],
      ['finished', true],
    ])
    expect(new Set(finished.map(({ requestId }) => requestId)).size).toBe(2)
  })

  it('sends the same bytes as over HTTP', async () => {
    const fakeOptions = { seed: 7, now: () => 1_764_000_000_000 }
    const received = await Promise.all(
      (['socket', 'responses'] as const).map(async (upstream) => {
        const { client } = await connected({ upstream, fakeOptions })
        client.create({ input: 'Think about it. [[think:hm]] [[say:größer\\n2^53]]' })
        await client.ended(1)
        // The gateway's own headers of the response.
        return client.texts.map((text) => text.replace(/"headers":\{[^}]*\},/, ''))
      }),
    )
    expect(received[0]?.length).toBeGreaterThan(5)
    expect(received[0]).toEqual(received[1])
  })

  it('gets only the new items of a conversation that its WebSocket knows', async () => {
    const { client, upstream } = await connected()
    client.create({ input: 'My word is nutmeg.' })
    const [first] = await client.ended(1)
    client.create({ input: '[[recall]]', previous_response_id: first?.response?.id })
    const second = (await client.ended(2))[1]
    expect(second?.type).toBe('response.completed')
    expect(receivedBy({ upstream })[1]).toMatchObject({
      previous_response_id: first?.response?.id,
      input: [{ role: 'user', content: '[[recall]]' }],
    })
    // A new WebSocket knows nothing: it gets the whole conversation.
    upstream.sockets[0]?.drop()
    await until(() => upstream.sockets[0]?.closeCode !== undefined, 'the end of the first WebSocket')
    await new Promise((resolve) => setTimeout(resolve, 20))
    client.create({ input: 'And now?', previous_response_id: second?.response?.id })
    expect((await client.ended(3))[2]?.type).toBe('response.completed')
    expect(upstream.sockets).toHaveLength(2)
    const [third] = receivedBy({ upstream }, 1)
    expect(third?.previous_response_id).toBeNull()
    expect(JSON.stringify(third?.input)).toMatch(/nutmeg.*recall.*And now/)
  })

  it('gets the whole conversation if it has forgotten the previous response', async () => {
    const { client, upstream } = await connected()
    client.create({ input: 'My word is nutmeg.' })
    const [first] = await client.ended(1)
    upstream.sockets[0]?.forget()
    client.create({ input: 'Go on.', previous_response_id: first?.response?.id })
    expect((await client.ended(2))[1]?.type).toBe('response.completed')
    expect(upstream.sockets).toHaveLength(1)
    expect(receivedBy({ upstream }).map(({ previous_response_id }) => previous_response_id)).toEqual([
      undefined,
      first?.response?.id,
      null,
    ])
  })

  it('continues a response that it stores', async () => {
    const { client, upstream } = await connected()
    client.create({ input: 'My word is nutmeg.', store: true })
    const [first] = await client.ended(1)
    client.create({ input: 'Go on.', store: true, previous_response_id: first?.response?.id })
    expect((await client.ended(2))[1]?.type).toBe('response.completed')
    expect(receivedBy({ upstream })[1]).toMatchObject({
      input: 'Go on.',
      previous_response_id: first?.response?.id,
    })
  })

  it('has a WebSocket for each lane that runs at the same time', async () => {
    const { client, upstream } = await connected()
    client.create({ input: slow, stream_id: 'one' })
    client.create({ input: '[[say:beside]]', stream_id: 'two' })
    const [ended] = await client.ended(1)
    expect(ended?.stream_id).toBe('two')
    expect(upstream.sockets).toHaveLength(2)
    expect(upstream.sockets.flatMap(({ received }) => received).join()).not.toContain('stream_id')
  })

  it('has a WebSocket for each client, and one client cannot continue the response of another', async () => {
    const fixture = await connected()
    const other = fixture.ws({ headers: { authorization: `Bearer ${otherToken}` } })
    await other.opened
    fixture.client.create({ input: 'My word is nutmeg.' })
    const [first] = await fixture.client.ended(1)
    other.create({ input: 'What is my word?', previous_response_id: first?.response?.id })
    expect((await other.ended(1))[0]).toMatchObject({ status: 400, error: { code: 'previous_response_not_found' } })
    other.create({ input: 'hello' })
    expect((await other.ended(2))[1]?.type).toBe('response.completed')
    expect(fixture.upstream.sockets).toHaveLength(2)
    expect(receivedBy(fixture, 1)).toHaveLength(1)
  })

  it('closes with the WebSocket of its client', async () => {
    const { client, upstream, finished } = await connected()
    client.create({ input: 'hello' })
    await client.ended(1)
    client.create({ input: slow })
    await until(() => client.messages.some(({ type, delta }) => type.endsWith('.delta') && delta !== ''), 'a delta')
    await until(() => receivedBy({ upstream }).length === 2, 'the second request')
    client.socket.terminate()
    await until(() => upstream.sockets[0]?.closeCode !== undefined, 'the end of the WebSocket')
    await until(() => finished.length === 2, 'two settlements')
    expect(finished.map(({ outcome }) => outcome)).toEqual(['finished', 'aborted'])
  })

  it('has a WebSocket for a minute after its last response', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
    onTestFinished(() => void vi.useRealTimers())
    const { client, upstream } = await connected()
    client.create({ input: 'My word is nutmeg.' })
    const [first] = await client.ended(1)
    vi.advanceTimersByTime(60_000)
    await until(() => upstream.sockets[0]?.closeCode !== undefined, 'the end of the WebSocket')
    client.create({ input: 'Go on.', previous_response_id: first?.response?.id })
    expect((await client.ended(2))[1]?.type).toBe('response.completed')
    expect(upstream.sockets).toHaveLength(2)
    expect(JSON.stringify(receivedBy({ upstream }, 1)[0]?.input)).toContain('nutmeg')
  })

  it('has at most 64 WebSockets for one caller, whose other requests use HTTP', async () => {
    const fixture = await connected()
    const { upstream, fake } = fixture
    for (let clients = 0; clients < 5; clients++) {
      const client = clients === 0 ? fixture.client : fixture.ws()
      await client.opened
      for (let lane = 0; lane < 16; lane++) client.create({ stream_id: `lane-${lane}` })
      const ended = await client.ended(16)
      expect(new Set(ended.map(({ type }) => type))).toEqual(new Set(['response.completed']))
    }
    expect([upstream.sockets.length, fake.requests.length]).toEqual([64, 80])
    const other = fixture.ws({ headers: { authorization: `Bearer ${otherToken}` } })
    await other.opened
    other.create()
    await other.ended(1)
    expect(upstream.sockets).toHaveLength(65)
  })
})

describe('a WebSocket to an upstream that fails', () => {
  it.each([401, 404, 426, 503])('is replaced by HTTP if the upstream refuses it with %i', async (status) => {
    const { client, upstream, fake, finished } = await connected()
    upstream.refuse({ status })
    client.create({ input: '[[say:over HTTP]]' })
    client.create({ input: '[[say:again]]' })
    expect((await client.ended(2)).map(({ type }) => type)).toEqual(['response.completed', 'response.completed'])
    // An upstream that has refused is not asked again.
    expect(upstream.sockets).toHaveLength(0)
    expect(fake.requests).toHaveLength(2)
    await until(() => finished.length === 2, 'two settlements')
    expect(finished.map(({ attempts }) => attempts.length)).toEqual([1, 1])
  })

  it('is replaced by HTTP if it closes before the first event of a response', async () => {
    const { client, upstream, fake, finished } = await connected()
    client.create({ input: 'hello' })
    await client.ended(1)
    fake.reply({ fault: { type: 'reset' } })
    client.create({ input: '[[say:over HTTP]]' })
    const ended = await client.ended(2)
    expect(JSON.stringify(ended[1]?.response?.output)).toContain('over HTTP')
    expect(upstream.sockets).toHaveLength(1)
    await until(() => finished.length === 2, 'two settlements')
    expect(finished[1]?.attempts.map(({ resent }) => resent)).toEqual([true])
  })

  it('ends a response within which it closes as truncated, and the next response has a new one', async () => {
    const { client, upstream, finished } = await connected()
    client.create({ input: slow })
    await until(() => client.messages.some(({ type }) => type === 'response.output_text.delta'), 'a delta')
    upstream.sockets[0]?.drop()
    const [failed] = await client.ended(1)
    expect(failed).toMatchObject({ type: 'response.failed' })
    client.create({ input: '[[say:new]]' })
    expect((await client.ended(2))[1]?.type).toBe('response.completed')
    expect(upstream.sockets).toHaveLength(2)
    expect(finished.map(({ outcome }) => outcome)).toEqual(['failed', 'finished'])
  })

  it('is replaced when it reaches its age', async () => {
    const { client, upstream } = await connected()
    client.create({ input: 'My word is nutmeg.' })
    const [first] = await client.ended(1)
    upstream.sockets[0]?.expire()
    client.create({ input: 'Go on.', previous_response_id: first?.response?.id })
    const [, second] = await client.ended(2)
    expect(second?.type).toBe('response.completed')
    expect(upstream.sockets).toHaveLength(2)
    expect(JSON.stringify(receivedBy({ upstream }, 1)[0]?.input)).toContain('nutmeg')
  })

  it('reports errors as HTTP does, without the upstream key', async () => {
    const { client, upstream, fake } = await connected()
    fake.reply({ status: 400, error: { message: `bad input for ${upstreamKey}` } })
    client.create()
    const [error] = await client.ended(1)
    expect(error).toMatchObject({
      type: 'error',
      status: 400,
      error: { message: expect.stringContaining('bad input') },
    })
    expect(client.texts.join()).not.toContain(upstreamKey)
    client.create()
    expect((await client.ended(2))[1]?.type).toBe('response.completed')
    expect(upstream.sockets).toHaveLength(1)
  })

  it.each([false, true])(
    'leaves a refused request to the next target, with rate limits first: %s',
    async (rateLimits) => {
      const second = createFakeProvider({ apiKey: upstreamKey })
      const provider = await listen(second)
      onTestFinished(() => provider.close())
      const first = createFakeProvider({ apiKey: upstreamKey })
      const sockets = await createResponsesSockets(first, { rateLimits })
      const firstProvider = await listen(first, { upgrade: sockets.upgrade })
      onTestFinished(() => firstProvider.close())
      const upstreams: Record<string, Upstream> = {
        up: socketUpstream(firstProvider.url),
        other: upstreamOf('chat', provider.origin),
      }
      const targets = [
        { upstream: 'up', model: 'a' },
        { upstream: 'other', model: 'b' },
      ]
      const { client, finished } = await connected({
        config: {
          ...({ upstreams, models: { demo: targets } } as object),
          retry: { attempts: 2 },
        },
      })
      first.reply({ status: 500 })
      client.create({ input: '[[say:from the other]]' })
      expect(JSON.stringify((await client.ended(1))[0]?.response?.output)).toContain('from the other')
      expect([first.requests.length, second.requests.length, sockets.sockets.length]).toEqual([1, 1, 1])
      await until(() => finished.length === 1, 'the settlement')
      expect(finished[0]?.attempts.map(({ status }) => status)).toEqual([500, 200])
    },
  )

  it('is not opened by a gateway that has its own fetch', async () => {
    let calls = 0
    const { client, upstream } = await connected({
      config: {
        fetch: (input, init) => {
          calls++
          return fetch(input, init)
        },
      },
    })
    client.create()
    expect((await client.ended(1))[0]?.type).toBe('response.completed')
    expect([calls, upstream.sockets.length]).toEqual([1, 0])
  })
})
