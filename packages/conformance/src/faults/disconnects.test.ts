import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGateway, type FinishEvent, type Gateway } from '@modelgate/core'
import { createFakeProvider, type FakeProvider, type ListeningProvider, listen } from '@modelgate/testing'
import { until } from '@modelgate/testing/test-support'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { upstreamKey, upstreamOf } from '../base/gateways.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import { type Running, type ServerKind, servers } from '../base/servers.ts'
import { bodyOf, targetOf } from '../protocols/http-fixture.ts'

const pairs = formats.flatMap((client) => formats.map((upstream) => ({ client, upstream })))
/** Each format once on either side, for slow tests that run on all servers. */
const someOfThem = formats.map((client, at) => ({ client, upstream: formats[(at + 1) % formats.length] as Format }))
const perServer: Readonly<Record<string, number>> = { 'node:http': 320 }
const batch = 25

const requestFields: Readonly<Record<Format, (text: string) => Record<string, unknown>>> = {
  chat: (content) => ({ messages: [{ role: 'user', content }] }),
  messages: (content) => ({ messages: [{ role: 'user', content }], max_tokens: 8000 }),
  gemini: (text) => ({ contents: [{ parts: [{ text }] }] }),
  responses: (input) => ({ input }),
}

interface Asked {
  readonly client: Format
  readonly upstream: Format
  readonly text: string
  readonly stream: boolean
}

function post(place: Running, { client, upstream, text, stream }: Asked): ClientRequest {
  const more = { model: `${upstream}-model`, stream }
  const outgoing = request(`${place.origin}${targetOf(client, more)}`, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
  })
  // The test destroys the connection itself.
  outgoing.on('error', () => {})
  outgoing.end(bodyOf(client, { ...more, ...requestFields[client](text) }))
  return outgoing
}

const gatewayTo = (origin: string, finished: FinishEvent[] = []): Gateway =>
  createGateway({
    auth: 'none',
    upstreams: {
      chat: upstreamOf('chat', origin),
      messages: upstreamOf('messages', origin),
      gemini: upstreamOf('gemini', origin),
      responses: upstreamOf('responses', origin),
    },
    models: Object.fromEntries(formats.map((format) => [`${format}-*`, format])),
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
  })

/** The last event of a response; some clients disconnect at it. */
const lastWord: Readonly<Record<Format, string>> = {
  chat: '[DONE]',
  messages: 'message_stop',
  gemini: 'finishReason',
  // Codex disconnects here in every call.
  responses: '"type":"response.completed"',
}

/** Moments of a disconnect, with the upstream's state. */
const moments: readonly { name: string; text: string; stream: boolean; answered: boolean }[] = [
  { name: 'before the headers', text: '[[stall]]', stream: false, answered: false },
  { name: 'before the first event', text: '[[stall]]', stream: true, answered: false },
  { name: 'in mid-stream', text: '[[words:3000]] [[slow:3]]', stream: true, answered: true },
  { name: 'in a silent stream', text: '[[words:100]] [[stall after:12]]', stream: true, answered: true },
]

describe.each(servers.filter(({ name }) => name !== 'in process'))(
  'disconnects of clients of $name',
  (server: ServerKind) => {
    let fake: FakeProvider
    let provider: ListeningProvider
    let place: Running
    const finished: FinishEvent[] = []
    const total = perServer[server.name] ?? pairs.length * moments.length
    const slowest: number[] = []

    beforeAll(async () => {
      fake = createFakeProvider({ apiKey: upstreamKey })
      provider = await listen(fake)
      place = await server.start(gatewayTo(provider.origin, finished))
    })
    afterAll(async () => {
      await place.close()
      await provider.close()
    })

    test(`abort ${total} upstream calls for ${total} disconnects and leave no connection open`, async () => {
      const each = total / (pairs.length * moments.length)
      let left = 0
      for (const { client, upstream } of pairs)
        for (const { text, stream, answered } of moments)
          for (let done = 0; done < each; ) {
            const size = Math.min(batch, Math.ceil(each) - done, total - left)
            if (size <= 0) break
            const { started } = fake.stats
            const calls = Array.from({ length: size }, () => post(place, { client, upstream, text, stream }))
            if (answered)
              await Promise.all(
                calls.map(
                  (call) =>
                    new Promise<void>((resolve) => {
                      call.on('response', (response: IncomingMessage) => response.once('data', () => resolve()))
                    }),
                ),
              )
            else await until(() => fake.stats.started === started + size, 'every call to reach the upstream')
            const leaving = performance.now()
            for (const call of calls) call.destroy()
            left += size
            done += size
            await until(
              () => fake.stats.aborted === left,
              `${left} aborts at the upstream, of ${JSON.stringify(fake.stats)}`,
            )
            slowest.push(performance.now() - leaving)
          }
      expect(fake.stats).toMatchObject({ started: total, aborted: total, finished: 0, open: 0 })
      // Node's global fetch opens a new idle connection for each one that it breaks.
      const idle = server.name === 'Hono' ? batch : 0
      await until(async () => (await provider.connections()) <= idle, 'no connection to the upstream')
      await until(async () => (await place.connections?.()) === 0, 'no connection of a client')
      await until(() => finished.length === total, `${total} calls to be settled`)
      expect(finished.filter(({ outcome }) => outcome !== 'aborted')).toEqual([])
      slowest.sort((one, other) => one - other)
      console.log(
        `disconnects: ${server.name}: ${total} clients disconnected, ${fake.stats.aborted} upstream aborts;` +
          `a batch of ${batch} took ${slowest[slowest.length >> 1]?.toFixed(0)} ms (median), ${slowest.at(-1)?.toFixed(0)} ms (worst)`,
      )
    }, 120_000)

    /** Reads a stream to the last event of the client's format, then disconnects. */
    const leaveAtTheEnd = (request: Asked): Promise<void> =>
      new Promise((resolve) => {
        const call = post(place, request)
        call.on('response', (response: IncomingMessage) => {
          let text = ''
          response.on('data', (part: Buffer) => {
            text += part.toString()
            if (!text.replaceAll('": ', '":').includes(lastWord[request.client])) return
            call.destroy()
            resolve()
          })
        })
      })

    test('are recorded as finished, not aborted, after the last event', async () => {
      finished.length = 0
      for (const pair of pairs) await leaveAtTheEnd({ ...pair, text: '[[say:hello]]', stream: true })
      // Gemini streams end with their bytes. This response is complete, but its body stays open.
      const delayed = {
        client: 'gemini',
        upstream: 'gemini',
        text: '[[say:hello]] [[stall after:99]]',
        stream: true,
      } as const
      await leaveAtTheEnd(delayed)
      await until(() => finished.length === pairs.length + 1, 'every call to be settled')
      const others = finished.filter(({ outcome }) => outcome !== 'finished')
      expect(
        others.map(({ format, upstreamFormat, outcome }) => `${format} from ${upstreamFormat}: ${outcome}`),
      ).toEqual([])
    })
  },
)

describe('backpressure', () => {
  const filler = 'x'.repeat(1000)
  const event = (data: object, type?: string): string =>
    `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(type === undefined ? data : { type, ...data })}\n\n`
  /** Opening and repeated events of an endless stream in each format. */
  const words: Readonly<Record<Format, { readonly open: string; readonly delta: string }>> = {
    chat: {
      open: '',
      delta: event({
        id: 'c',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta: { content: filler }, finish_reason: null }],
      }),
    },
    messages: {
      open:
        event(
          {
            message: {
              id: 'm',
              type: 'message',
              role: 'assistant',
              model: 'm',
              content: [],
              stop_reason: null,
              stop_sequence: null,
              usage: { input_tokens: 1, output_tokens: 1 },
            },
          },
          'message_start',
        ) + event({ index: 0, content_block: { type: 'text', text: '' } }, 'content_block_start'),
      delta: event({ index: 0, delta: { type: 'text_delta', text: filler } }, 'content_block_delta'),
    },
    gemini: {
      open: '',
      delta: event({ candidates: [{ content: { parts: [{ text: filler }], role: 'model' }, index: 0 }] }),
    },
    responses: {
      open:
        event({ response: { id: 'r', status: 'in_progress', output: [] } }, 'response.created') +
        event(
          { output_index: 0, item: { id: 'i', type: 'message', role: 'assistant', content: [] } },
          'response.output_item.added',
        ),
      delta: event({ item_id: 'i', output_index: 0, content_index: 0, delta: filler }, 'response.output_text.delta'),
    },
  }
  const formatOf = (url = ''): Format =>
    url.includes('/messages')
      ? 'messages'
      : url.includes('GenerateContent')
        ? 'gemini'
        : url.includes('/responses')
          ? 'responses'
          : 'chat'

  /** Sends events as long as they are read, and counts them. */
  const endless = (): { server: Server; sent: () => number } => {
    let sent = 0
    const server = createServer((incoming, outgoing) => {
      incoming.resume()
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      const { open, delta } = words[formatOf(incoming.url)]
      if (open !== '') outgoing.write(open)
      const pour = (): void => {
        while (!outgoing.destroyed) {
          sent += delta.length
          if (!outgoing.write(delta)) return
        }
      }
      outgoing.on('drain', pour)
      pour()
    })
    return { server, sent: () => sent }
  }

  // Concurrent, because each test waits until its sockets fall silent.
  test.concurrent.each(
    servers
      .filter(({ name }) => name !== 'in process')
      .flatMap((server) => (server.name === 'node:http' ? pairs : someOfThem).map((pair) => ({ server, ...pair }))),
  )(
    '$server.name, $client from $upstream: pauses the upstream while the client does not read',
    async ({ server, client, upstream }) => {
      const { server: source, sent } = endless()
      await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve))
      const origin = `http://127.0.0.1:${(source.address() as AddressInfo).port}`
      const place = await server.start(gatewayTo(origin))
      const call = post(place, { client, upstream, text: 'talk', stream: true })
      await new Promise<void>((resolve) => call.on('response', () => resolve()))
      let last = -1
      await until(
        async () => {
          const now = sent()
          await new Promise((resolve) => setTimeout(resolve, 150))
          const still = now === last
          last = sent()
          return still && last === now
        },
        'the upstream to pause',
        20_000,
      )
      // The kernel buffers of two connections, and little more.
      expect(last).toBeLessThan(32 * 1024 * 1024)
      call.destroy()
      await until(
        () => new Promise<boolean>((resolve) => source.getConnections((_, count) => resolve(count === 0))),
        'the upstream to be aborted',
      )
      await place.close()
      source.close()
    },
  )
})
