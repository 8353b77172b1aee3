import { createServer, type Socket } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { createGateway, openaiCompatible } from '@modelgate/core'
import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fetchOf, gatewayTo, requestTo } from '../base/gateways.ts'
import { servers } from '../base/servers.ts'
import { serveBytes } from '../base/upstream-fetch.ts'
import { completion, eventsOf } from './router-upstreams.ts'

const messages = [{ role: 'user' as const, content: 'hi' }]
const openaiTo = (fetch: typeof globalThis.fetch, baseURL = 'http://gateway.test'): OpenAI =>
  new OpenAI({ apiKey: 'k', baseURL: `${baseURL}/v1`, fetch, maxRetries: 0 })

async function chatText(client: OpenAI): Promise<string> {
  let text = ''
  for await (const { choices } of await client.chat.completions.create({ model: 'm', messages, stream: true }))
    text += choices[0]?.delta.content ?? ''
  return text
}

const sse = (event: { readonly type: string; readonly [key: string]: unknown }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** A Messages stream that begins with these events. */
const messagesStream = (...first: string[]): string =>
  [
    ...first,
    sse({
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        content: [],
        model: 'm',
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    }),
    sse({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } }),
    sse({ type: 'content_block_stop', index: 0 }),
    sse({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }),
    sse({ type: 'message_stop' }),
  ].join('')

describe('unknown event before message_start', () => {
  const unknown = sse({ type: 'session_started', session: 'x' })

  test('does not break the stream of the OpenAI SDK', async () => {
    const { fetch } = serveBytes(messagesStream(unknown, unknown), { stream: true })
    expect(await chatText(openaiTo(fetchOf(gatewayTo('messages', { fetch }))))).toBe('hello')
  })

  test('reaches the Anthropic SDK', async () => {
    const { fetch } = serveBytes(messagesStream(unknown), { stream: true })
    const client = new Anthropic({
      apiKey: 'k',
      baseURL: 'http://gateway.test',
      fetch: fetchOf(gatewayTo('messages', { fetch })),
      maxRetries: 0,
    })
    const text: string[] = []
    for await (const event of await client.messages.create({ model: 'm', max_tokens: 10, messages, stream: true }))
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text.push(event.delta.text)
    expect(text).toEqual(['hello'])
  })

  test.each(['content_block_delta', 'message_stop'])('does not replace a missing message_start (%s)', async (type) => {
    const { fetch } = serveBytes(messagesStream(sse({ type, index: 0, delta: { type: 'text_delta', text: 'x' } })), {
      stream: true,
    })
    await expect(chatText(openaiTo(fetchOf(gatewayTo('messages', { fetch }))))).rejects.toMatchObject({ status: 502 })
  })

  test('is not buffered without a limit', async () => {
    const { fetch } = serveBytes(messagesStream(unknown.repeat(1000)), { stream: true })
    await expect(chatText(openaiTo(fetchOf(gatewayTo('messages', { fetch }))))).rejects.toMatchObject({ status: 502 })
  })
})

describe('event with empty data', () => {
  const blank = ['data:\n\n', 'data: \n\n', 'data\n\n', ': comment\ndata:\n\n', 'id: 1\ndata:\n\n', 'data:\r\n\r\n']

  test.each(blank)('is not sent to the OpenAI SDK, which parses the data of every event: %j', async (empty) => {
    const events = eventsOf(['hel', 'lo'])
    for (const body of [
      empty + events.join(''),
      events.join(empty),
      events.join('').replace('data: [DONE]', `${empty}data: [DONE]`),
    ]) {
      const { fetch } = serveBytes(body, { stream: true })
      expect(await chatText(openaiTo(fetchOf(gatewayTo('chat', { fetch }))))).toBe('hello')
    }
  })

  test.each(blank)('is not sent to the OpenAI SDK in a Responses stream: %j', async (empty) => {
    const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', output: [], status: 'in_progress' }
    const body = [
      sse({ type: 'response.created', response }),
      sse({ type: 'response.output_text.delta', item_id: 'a', output_index: 0, content_index: 0, delta: 'hello' }),
      sse({ type: 'response.completed', response: { ...response, status: 'completed' } }),
    ].join(empty)
    const { fetch } = serveBytes(body, { stream: true })
    let text = ''
    const client = openaiTo(fetchOf(gatewayTo('responses', { fetch })))
    for await (const event of await client.responses.create({ model: 'm', input: 'hi', stream: true }))
      if (event.type === 'response.output_text.delta') text += event.delta
    expect(text).toBe('hello')
  })
})

/** Creates an OpenAI client of a Node gateway whose upstream returns these bytes. */
async function overSockets(response: string | Uint8Array): Promise<OpenAI> {
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => void socket.end(response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The upstream has no port.')
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: openaiCompatible({ baseURL: `http://127.0.0.1:${address.port}/v1` }) },
    models: { m: 'up' },
    retry: false,
    logger: false,
  })
  const running = await servers.find(({ name }) => name === 'node:http')?.start(gateway)
  onTestFinished(() => running?.close())
  return openaiTo(fetch, running?.origin)
}

const withHead = (body: string | Uint8Array, ...headers: string[]): Uint8Array =>
  Buffer.concat([
    Buffer.from(
      ['HTTP/1.1 200 OK', `content-length: ${Buffer.byteLength(body)}`, 'connection: close', ...headers, '', ''].join(
        '\r\n',
      ),
    ),
    Buffer.from(body),
  ])
const jsonType = 'content-type: application/json'

describe('unreadable upstream response', () => {
  const casesOf = (jsonType: string): readonly [string, string | Uint8Array, RegExp][] => [
    ['an invalid status line', 'HTTP/1.1 abc\r\n\r\n', /not valid HTTP/],
    [
      'two content-lengths',
      `HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n${jsonType}\r\n\r\n{}`,
      /not valid HTTP/,
    ],
    [
      'an invalid chunk size',
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n${jsonType}\r\n\r\nxyz\r\n{}\r\n`,
      /not valid HTTP/,
    ],
    ['oversized headers', withHead('{}', jsonType, `x-large: ${'x'.repeat(20_000)}`), /headers are too large/],
    [
      'an unknown encoding',
      withHead('{}', jsonType, 'content-encoding: lzma'),
      /content-encoding that cannot be decoded/,
    ],
    [
      'data that is not in its declared encoding',
      withHead('{}  not gzip', jsonType, 'content-encoding: gzip'),
      /does not match its content-encoding/,
    ],
  ]

  const cases = [false, true].flatMap((stream) =>
    casesOf(stream ? 'content-type: text/event-stream' : jsonType).map((entry) => [stream, ...entry] as const),
  )

  test.each(cases)('is reported with its cause (stream: %s): %s', async (stream, _name, response, message) => {
    const client = await overSockets(response)
    await expect(client.chat.completions.create({ model: 'm', messages, stream })).rejects.toMatchObject({
      status: 502,
      code: 'upstream_bad_response',
      message: expect.stringMatching(message),
    })
  })
})

describe('unexpected interim response', () => {
  test('does not hide the final response from the OpenAI SDK', async () => {
    const response = Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'), withHead(completion(), jsonType)])
    const { choices } = await (await overSockets(response)).chat.completions.create({ model: 'm', messages })
    expect(choices[0]?.message.content).toBe('hello')
  })
})

describe('response in a charset other than UTF-8', () => {
  const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1')
  const type = 'content-type: application/json; charset=ISO-8859-1'

  test('reaches the OpenAI SDK with all letters intact', async () => {
    const client = await overSockets(withHead(latin1(completion('Grüße à tous')), type))
    const { choices } = await client.chat.completions.create({ model: 'm', messages })
    expect(choices[0]?.message.content).toBe('Grüße à tous')
  })

  test('reaches the OpenAI SDK with all letters intact as a stream', async () => {
    const body = latin1(eventsOf(['Grüße ', 'à tous']).join(''))
    const client = await overSockets(withHead(body, 'content-type: text/event-stream; charset=latin1'))
    expect(await chatText(client)).toBe('Grüße à tous')
  })

  /**
   * JSON is UTF-8 (RFC 8259). Any other charset would be a guess: the bytes pass unchanged, and the client reads them
   * as it would without a gateway.
   */
  test.each([
    [Buffer.from(completion('Grüße à tous'), 'latin1'), 'application/json'],
    [Buffer.from(completion('Grüße \ufffd')), 'application/json; charset=utf-8'],
  ])(
    'passes unchanged without a charset, and is labelled as UTF-8 only if it is valid UTF-8 (%#)',
    async (body, type) => {
      const fetch = async () => new Response(body, { headers: { 'content-type': 'application/json' } })
      const response = await gatewayTo('chat', { fetch }).fetch(
        requestTo('chat', JSON.stringify({ model: 'm', messages })),
      )
      expect(response.headers.get('content-type')).toBe(type)
      expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true)
    },
  )

  test('keeps its bytes if the charset is unknown or UTF-8', async () => {
    for (const charset of ['utf-8', 'UTF8', '"utf-8"', 'x-unheard-of']) {
      const client = await overSockets(
        withHead(completion('Grüße'), `content-type: application/json; charset=${charset}`),
      )
      const { choices } = await client.chat.completions.create({ model: 'm', messages })
      expect(choices[0]?.message.content).toBe('Grüße')
    }
  })
})
