import { createServer, type Socket } from 'node:net'
import { createGateway, type FinishEvent, openaiCompatible } from '@modelgate/core'
import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { servers } from '../base/servers.ts'
import { eventsOf } from './router-upstreams.ts'

/** Framing and end of an upstream's response body. */
interface Framing {
  readonly headers: string
  /** Returns the head and the end of the response to this body. */
  readonly before: (body: string) => string
  readonly after: string
}
const chunked = (end: string, headers = ''): Framing => ({
  headers: `transfer-encoding: chunked\r\n${headers}`,
  before: (body) => `${Buffer.byteLength(body).toString(16)}\r\n`,
  after: `\r\n${end}`,
})
const complete = {
  'a terminating chunk': chunked('0\r\n\r\n'),
  'a terminating chunk before the connection closes': chunked('0\r\n\r\n', 'connection: close\r\n'),
} as const
const cut = {
  'a cut between two chunks': chunked(''),
  'a cut between two chunks of a connection: close response': chunked('', 'connection: close\r\n'),
  'a cut within a chunk': { ...chunked(''), before: () => 'ffff\r\n', after: '' },
  'a cut before the content-length': { headers: 'content-length: 65535\r\n', before: () => '', after: '' },
  'only the end of the connection': { headers: '', before: () => '', after: '' },
} satisfies Record<string, Framing>

/** Events of a chat stream with one choice, without the final `[DONE]`. */
const withoutDone = eventsOf(['hel', 'lo']).slice(0, -1)
const withoutUsage = withoutDone.slice(0, -1)
const unfinished = withoutUsage.slice(0, -1)

async function serve(body: string, { headers, before, after }: Framing): Promise<string> {
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n${headers}\r\n`)
      socket.write(before(body) + body)
      setTimeout(() => socket.end(after), 5)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The upstream has no port.')
  return `http://127.0.0.1:${address.port}`
}

type Operation = 'chat' | 'responses' | 'completions' | 'completions from chat'

interface Outcome {
  readonly text: string
  readonly error: unknown
  readonly finished: readonly FinishEvent[]
}

/** Streams one call of the OpenAI SDK through a gateway with one chat upstream. */
async function stream(
  body: string,
  framing: Framing,
  {
    operation = 'chat',
    n,
    transport = 'undici',
  }: { operation?: Operation; n?: number; transport?: 'undici' | 'fetch' } = {},
): Promise<Outcome> {
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: {
      up: openaiCompatible({
        baseURL: `${await serve(body, framing)}/v1`,
        operations: operation === 'completions' ? ['completions'] : [],
      }),
    },
    models: { m: 'up' },
    retry: false,
    logger: false,
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
  })
  const client = { apiKey: 'k', maxRetries: 0, baseURL: 'http://gateway.test/v1', fetch: gateway.fetch as typeof fetch }
  const server = servers.find(({ name }) => name === 'node:http')
  if (transport === 'undici' && server !== undefined) {
    const running = await server.start(gateway)
    onTestFinished(() => running.close())
    client.baseURL = `${running.origin}/v1`
    client.fetch = fetch
  }
  const sdk = new OpenAI(client)
  let text = ''
  let error: unknown
  try {
    if (operation === 'chat') {
      const events = await sdk.chat.completions.create({
        model: 'm',
        messages: [{ role: 'user', content: 'hi' }],
        stream: true,
        ...(n === undefined ? {} : { n }),
      })
      for await (const { choices } of events) text += choices[0]?.delta.content ?? ''
    } else if (operation === 'responses') {
      for await (const event of await sdk.responses.create({ model: 'm', input: 'hi', stream: true }))
        if (event.type === 'response.output_text.delta') text += event.delta
        else if (event.type === 'response.failed' || event.type === 'error') error = event
    } else {
      const events = await sdk.completions.create({ model: 'm', prompt: ['hi', 'ho'].slice(0, n ?? 1), stream: true })
      for await (const { choices } of events) text += choices[0]?.text ?? ''
    }
  } catch (cause) {
    error = cause
  }
  await expect.poll(() => finished.length).toBe(1)
  return { text, error, finished }
}

/** Returns the kind of a gateway error, or of an error in the upstream's stream. */
const kindOf = (error: unknown): unknown => {
  const { info, kind } = error as { info?: { kind: string }; kind?: string }
  return info?.kind ?? kind
}

/** Converts the events to those of a completion. */
const asCompletions = (events: readonly string[]): string[] =>
  events.map((event) =>
    event.replace(/"delta":\{(?:[^{}]*"content":("[^"]*"))?[^{}]*\}/, (_, text = '""') => `"text":${text}`),
  )

const operations: readonly Operation[] = ['chat', 'responses', 'completions', 'completions from chat']
const bodyFor = (operation: Operation, events: readonly string[]): string =>
  (operation === 'completions' ? asCompletions(events) : events).join('')

describe.each(operations)('stream without [DONE] for a client of %s', (operation) => {
  describe.each(Object.entries(complete))('with %s at the end', (_name, framing) => {
    test('succeeds after the finish reason and the usage', async () => {
      const { text, error, finished } = await stream(bodyFor(operation, withoutDone), framing, { operation })
      expect([text, error]).toEqual(['hello', undefined])
      expect(finished).toMatchObject([{ outcome: 'finished', basis: 'reported', usage: { output: { total: 2 } } }])
    })

    test('succeeds without usage, which is estimated', async () => {
      const { text, error, finished } = await stream(bodyFor(operation, withoutUsage), framing, { operation })
      expect([text, error]).toEqual(['hello', undefined])
      expect(finished).toMatchObject([{ outcome: 'finished', basis: 'estimated' }])
    })

    test('is reported as cut off without a finish reason', async () => {
      const { error, finished } = await stream(bodyFor(operation, unfinished), framing, { operation })
      expect(error).toBeDefined()
      expect(finished.map(({ outcome, error }) => [outcome, kindOf(error)])).toEqual([['failed', 'upstream_truncated']])
    })
  })

  test.each(Object.entries(cut))(
    'is reported as cut off by %s, even after the finish reason',
    async (_name, framing) => {
      for (const events of [withoutDone, withoutUsage]) {
        const { error, finished } = await stream(bodyFor(operation, events), framing, { operation })
        expect(error).toBeDefined()
        expect(finished.map(({ outcome, error }) => [outcome, kindOf(error)])).toEqual([
          ['failed', 'upstream_truncated'],
        ])
      }
    },
  )
})

describe('stream with a complete content-length', () => {
  test.each(['undici', 'fetch'] as const)('succeeds with the transport %s', async (transport) => {
    const body = bodyFor('chat', withoutDone)
    const headers = `content-length: ${Buffer.byteLength(body)}\r\n`
    const { text, error } = await stream(body, { headers, before: () => '', after: '' }, { transport })
    expect([text, error]).toEqual(['hello', undefined])
  })
})

describe('gateway that calls upstreams with fetch', () => {
  test('accepts a stream without [DONE] whose body ends with a terminating chunk', async () => {
    const framing = complete['a terminating chunk']
    for (const operation of operations) {
      const { text, error } = await stream(bodyFor(operation, withoutDone), framing, { operation, transport: 'fetch' })
      expect([text, error]).toEqual(['hello', undefined])
    }
  })

  test.each(Object.entries(cut))('reports %s as an error', async (_name, framing) => {
    const { error, finished } = await stream(bodyFor('chat', withoutDone), framing, { transport: 'fetch' })
    expect(error).toBeDefined()
    expect(finished.map(({ outcome, error }) => [outcome, kindOf(error)])).toEqual([['failed', 'upstream_truncated']])
  })
})

describe('stream of several choices without [DONE]', () => {
  const framing = complete['a terminating chunk']
  const second = withoutDone.map((event) => event.replace('"index":0', '"index":1'))

  test.each(['chat', 'completions'] as const)(
    'is cut off while any choice of %s lacks a finish reason',
    async (operation) => {
      const { error, finished } = await stream(bodyFor(operation, withoutDone), framing, { operation, n: 2 })
      expect(error).toBeDefined()
      expect(finished).toMatchObject([{ outcome: 'failed' }])
    },
  )

  test.each(['chat', 'completions'] as const)(
    'succeeds when every choice of %s has a finish reason',
    async (operation) => {
      const events = [...withoutDone.slice(0, -1), ...second]
      const { text, error, finished } = await stream(bodyFor(operation, events), framing, { operation, n: 2 })
      expect([text, error]).toEqual(['hellohello', undefined])
      expect(finished).toMatchObject([{ outcome: 'finished' }])
    },
  )
})
