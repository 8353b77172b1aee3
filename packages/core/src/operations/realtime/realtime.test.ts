import { describe, expect, it } from 'vitest'
import { createCanceller } from '../../base/async.ts'
import type { GatewayConfig } from '../../config/config.ts'
import type { FinishEvent } from '../../config/finish-event.ts'
import type { RealtimeSession, RealtimeTransport, RealtimeTransportRequest } from '../../config/realtime.ts'
import { adapterFunctions } from '../../gateway/adapter.ts'
import { createGateway } from '../../gateway/create-gateway.ts'
import type { Inbound } from '../../http/inbound.ts'
import { anthropic } from '../../upstreams/anthropic.ts'
import { openai } from '../../upstreams/openai.ts'
import { openaiCompatible } from '../../upstreams/openai-compatible.ts'

const good = { upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
const key = 'sk-canary-12345678'

function setUp(
  dial: RealtimeTransport<string> = async () => ({ socket: 'a socket' }),
  config: Partial<GatewayConfig> = {},
) {
  const finished: FinishEvent[] = []
  const dialled: RealtimeTransportRequest[] = []
  const logged: string[] = []
  const log = (message: string): void => void logged.push(message)
  const gateway = createGateway({
    auth: (token) => (token === 'good' ? { id: 'me' } : null),
    upstreams: {
      up: openai({ apiKey: key, baseURL: 'https://up.example/v1', headers: { 'OpenAI-Project': 'p' } }),
      own: openaiCompatible({ baseURL: 'http://own.example/v1', realtime: true }),
      none: anthropic({ apiKey: key }),
    },
    models: { m: 'up', two: ['none', 'up'], own: 'own', none: 'none', both: ['up', 'own'] },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: { warn: log, error: log },
    ...config,
  })
  const open = (
    query: string,
    headers: Record<string, string> = {},
    signal = createCanceller(),
    path = '/v1/realtime',
  ) => {
    const all: Record<string, string> = { ...good, authorization: 'Bearer good', ...headers }
    const inbound: Inbound = {
      method: 'GET',
      path,
      query,
      header: (name) => all[name],
      read: async () => new Uint8Array(),
      signal,
    }
    return adapterFunctions(gateway).realtime(inbound, (request) => {
      dialled.push(request)
      return dial(request)
    })
  }
  const session = async (query = 'model=m'): Promise<RealtimeSession<string>> => {
    const opening = await open(query)
    if (!opening.ok) throw new Error(`refused: ${opening.reply.body}`)
    if (opening.session === undefined) throw new Error('the session waits for a message')
    return opening.session
  }
  return { gateway, open, session, finished, dialled, logged }
}

/** A plain response instead of a WebSocket. It contains values that must stay in the process. */
const refusal = (status: number) => ({
  status,
  header: () => undefined,
  bytes: async () => new TextEncoder().encode(JSON.stringify({ error: { message: `${key} at up.example` } })),
  stream: () => {
    throw new Error('unused')
  },
  discard() {},
})

describe('opening a session', () => {
  it.each([
    ['m', 'https://up.example/v1/realtime?model=m', { authorization: `Bearer ${key}`, 'openai-project': 'p' }],
    ['own', 'http://own.example/v1/realtime?model=own', {}],
    ['two', 'https://up.example/v1/realtime?model=two', { authorization: `Bearer ${key}`, 'openai-project': 'p' }],
  ])('dials for %s the address %s', async (model, url, headers) => {
    const { session, dialled } = setUp()
    expect((await session(`model=${model}`)).upstream).toBe('a socket')
    expect(dialled).toMatchObject([{ url, messageBytes: 16 * 1024 * 1024 }])
    expect(dialled[0]?.headers).toEqual(headers)
  })

  it('falls back to the next target when the first fails, and records both attempts', async () => {
    let calls = 0
    const { session, dialled, finished } = setUp(async () => {
      if (calls++ === 0) throw Object.assign(new Error('connect to 10.0.0.7'), { code: 'ECONNREFUSED' })
      return { socket: 'second' }
    })
    const opened = await session('model=both')
    expect([opened.upstream, dialled.length]).toEqual(['second', 2])
    opened.settle({ outcome: 'finished' })
    expect(finished).toMatchObject([
      { upstream: 'own', attempts: [{ error: 'upstream_unreachable' }, { status: 101 }] },
    ])
  })

  it('rejects invalid requests by HTTP without dialling an upstream', async () => {
    const { open, dialled } = setUp()
    const table: [string, Record<string, string>, number, string][] = [
      ['model=m', { authorization: '' }, 401, 'invalid_api_key'],
      ['model=m&key=good', { authorization: '' }, 401, 'invalid_api_key'],
      [
        'model=m',
        { authorization: '', 'sec-websocket-protocol': 'realtime, openai-insecure-api-key.' },
        401,
        'api_key',
      ],
      ['model=nothing', {}, 404, 'model_not_found'],
      ['model=none', {}, 400, 'does not support realtime'],
      ['model=', {}, 400, 'model'],
      ['', {}, 400, 'model'],
      ['model=m', { upgrade: 'h2c' }, 426, 'upgrade request'],
      ['model=m&model=own', {}, 400, "Duplicate query parameter 'model'"],
      ['model=m&intent=y', {}, 400, "intent: 'y' is not supported"],
      ['intent=transcription&intent=transcription', {}, 400, "Duplicate query parameter 'intent'"],
      ['intent=transcription&model=', {}, 400, 'model'],
      ['intent=transcription&model=none', {}, 400, 'does not support realtime transcription'],
      ...['Model', 'deployment', 'api-version', 'call_id', 'Intent', 'preset', '__proto__', 'x'].map(
        (name): [string, Record<string, string>, number, string] => [
          `model=m&${name}=y`,
          {},
          400,
          `Unknown query parameter '${name}'`,
        ],
      ),
    ]
    for (const [query, headers, status, word] of table) {
      const opening = await open(query, headers)
      expect(opening).toMatchObject({ ok: false, reply: { status, body: expect.stringContaining(word) } })
    }
    expect(dialled).toEqual([])
  })

  it('uses another key of the upstream when the first is rate limited', async () => {
    const keys: (string | undefined)[] = []
    const { session, finished } = setUp(
      async ({ headers }) => {
        keys.push(headers.authorization)
        return keys.length === 1 ? { refusal: refusal(429) } : { socket: 'opened' }
      },
      { upstreams: { up: openai({ apiKey: ['sk-first-12345678', 'sk-second-12345678'] }) }, models: { m: 'up' } },
    )
    const opened = await session()
    expect(opened.upstream).toBe('opened')
    expect(new Set(keys)).toEqual(new Set(['Bearer sk-first-12345678', 'Bearer sk-second-12345678']))
    opened.settle({ outcome: 'finished' })
    expect(finished).toMatchObject([{ attempts: [{ error: 'rate_limited' }, { reason: 'other-key', status: 101 }] }])
  })

  it('dials the next target when the first does not respond in time', async () => {
    let dials = 0
    const { session, finished } = setUp(
      ({ signal }) =>
        dials++ > 0
          ? Promise.resolve({ socket: 'second' })
          : new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
      { limits: { firstByteMs: 5 } },
    )
    const opened = await session('model=both')
    expect(opened.upstream).toBe('second')
    opened.settle({ outcome: 'finished' })
    expect(finished).toMatchObject([{ attempts: [{ error: 'upstream_timeout' }, { status: 101 }] }])
  })

  it('is aborted when the client disconnects', async () => {
    const signal = createCanceller()
    const { open, finished } = setUp(
      ({ signal: given }) =>
        new Promise((_resolve, reject) => {
          given.addEventListener('abort', () => reject(new Error('given up')))
          signal.abort()
        }),
    )
    expect(await open('model=m', {}, signal)).toMatchObject({ ok: false, reply: { status: 499 } })
    expect(finished).toMatchObject([{ outcome: 'aborted' }])
  })

  it('hides hosts and causes of a failure, and logs a rejected key of the gateway', async () => {
    for (const [status, expected] of [
      [401, 502],
      [500, 502],
      [200, 502],
    ] as const) {
      const { open, logged } = setUp(async () => ({ refusal: refusal(status) }))
      const opening = await open('model=m')
      expect(opening).toMatchObject({ ok: false, reply: { status: expected } })
      expect(JSON.stringify(opening)).not.toMatch(/canary|up\.example/)
      expect(logged.filter((line) => line.includes("'up' rejected"))).toHaveLength(status === 401 ? 1 : 0)
    }
  })
})

describe('a session', () => {
  const done = (input: number, output: number, details = {}): string =>
    JSON.stringify({
      type: 'response.done',
      response: { usage: { input_tokens: input, output_tokens: output, total_tokens: input + output, ...details } },
    })

  it('adds up the usage of its responses and settles once', async () => {
    const { session, finished } = setUp()
    const { readUpstream, settle, passesUnread } = await session()
    const first = done(10, 5, {
      input_token_details: { cached_tokens: 4, audio_tokens: 3, image_tokens: 1, text_tokens: 6 },
      output_token_details: { audio_tokens: 2, text_tokens: 3 },
    })
    for (const text of [
      first,
      done(1, 2),
      '{"type":"response.done","response":{"usage":null}}',
      '{"type":"response.done"}',
      '"response.done"',
      'no JSON with "response.done"',
      done(-5, Number.NaN),
      // Usage quoted in a text does not count.
      JSON.stringify({ type: 'response.output_text.done', text: done(100, 100), x: 'response.done' }),
    ])
      expect(readUpstream(text)).toBe(text)
    expect(passesUnread(new TextEncoder().encode(first))).toBe(false)
    settle({ outcome: 'finished' })
    settle({ outcome: 'failed' })
    expect(finished).toHaveLength(1)
    expect(finished[0]).toMatchObject({
      operation: 'realtime',
      outcome: 'finished',
      status: 101,
      identity: { id: 'me' },
    })
    expect(finished[0]?.usage).toEqual({
      input: { total: 11, cacheRead: 4, audio: 3, image: 1 },
      output: { total: 7, audio: 2, reasoning: 0 },
    })
  })

  it('counts the responses that had begun, and reported no usage before its end', async () => {
    const { session, finished } = setUp()
    const { readUpstream, settle } = await session()
    const created = '{"type" : "response.created","response":{"id":"r"}}'
    for (const text of [
      done(1, 2),
      created,
      created,
      // Quoted in a text.
      JSON.stringify({ type: 'response.output_text.done', text: created, x: 'response.created' }),
      done(1, 2),
    ])
      readUpstream(text)
    settle({ outcome: 'aborted' })
    expect(finished).toMatchObject([{ unreportedResponses: 1, usage: { output: { total: 4 } } }])
    const other = await session()
    other.readUpstream(created)
    other.readUpstream(done(1, 2))
    other.settle({ outcome: 'aborted' })
    expect(finished[1]).not.toHaveProperty('unreportedResponses')
  })

  it('has no usage without a response', async () => {
    const { session, finished } = setUp()
    ;(await session()).settle({ outcome: 'aborted' })
    expect(finished[0]).not.toHaveProperty('usage')
  })

  it('passes only long content events unread', async () => {
    const { session } = setUp()
    const { passesUnread } = await session()
    const message = (type: string, length: number): Uint8Array =>
      new TextEncoder().encode(JSON.stringify({ event_id: 'e', type, delta: 'A'.repeat(length) }))
    expect(passesUnread(message('response.output_audio.delta', 4000))).toBe(true)
    expect(passesUnread(message('response.output_audio.delta', 100))).toBe(false)
    expect(passesUnread(message('response.done', 4000))).toBe(false)
    expect(passesUnread(message('error', 4000))).toBe(false)
  })

  it.each([
    ['response.done', { response: { status: 'failed', status_details: { error: { message: `no ${key}` } } } }],
    ['conversation.item.input_audio_transcription.failed', { error: { message: `no ${key}` } }],
    ['mcp_list_tools.failed', { item_id: `no ${key}` }],
    ['response.mcp_call.failed', { why: [{ deep: `no ${key}` }] }],
    ['conversation.item.done', { item: { type: 'mcp_call', error: { type: 'http_error', message: `no ${key}` } } }],
    ['rate_limits.updated', { note: `no ${key}` }],
  ])('removes keys from every event that is not content: %s', async (type, fields) => {
    const { session } = setUp()
    const { readUpstream, passesUnread } = await session()
    const text = JSON.stringify({ event_id: 'e', type, ...fields })
    expect(passesUnread(new TextEncoder().encode(text))).toBe(false)
    expect(readUpstream(text)).toBe(text.replace(key, '***'))
    const content = JSON.stringify({ event_id: 'e', type: 'response.output_text.delta', delta: `my ${key}` })
    expect(readUpstream(content)).toBe(content)
  })

  it('removes hosts and keys from errors only', async () => {
    const { session } = setUp()
    const { readUpstream } = await session()
    const error = JSON.stringify({ type: 'error', error: { message: `${key} is no key of https://up.example` } })
    expect(readUpstream(error)).toBe('{"type":"error","error":{"message":"*** is no key of [upstream]"}}')
    const event = JSON.stringify({ type: 'response.output_text.done', text: 'see up.example' })
    expect(readUpstream(event)).toBe(event)
  })

  it.each([
    ['short', 'short'],
    ['', ''],
    ['at https://up.example', 'at [upstream]'],
    ['up.example '.repeat(12), `${'[upstream] '.repeat(11)}[u`],
    ['é'.repeat(100), 'é'.repeat(61)],
  ])('has close reasons that fit into a frame (%#)', async (reason, expected) => {
    const { session } = setUp()
    expect((await session()).closeReason(reason)).toBe(expected)
  })

  it('is aborted when the gateway stops, and close() waits for it', async () => {
    const { gateway, session } = setUp()
    const { signal, settle } = await session()
    let closed = false
    const closing = gateway.close({ graceMs: 10 }).then(() => {
      closed = true
    })
    await new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined)))
    expect(closed).toBe(false)
    settle({ outcome: 'failed' })
    await closing
  })
})

it.each([
  [undefined, 426, 'Send an upgrade request'],
  ['websocket', 501, 'nodeUpgrade(gateway)'],
])('a plain HTTP request to the realtime path (upgrade: %s) returns %i', async (upgrade, status, words) => {
  const { gateway } = setUp()
  const inbound: Inbound = {
    method: 'GET',
    path: '/v1/realtime',
    query: 'model=m',
    header: (name) => (name === 'authorization' ? 'Bearer good' : name === 'upgrade' ? upgrade : undefined),
    read: async () => new Uint8Array(),
    signal: createCanceller(),
  }
  expect(await adapterFunctions(gateway).handle(inbound)).toMatchObject({
    status,
    body: expect.stringContaining(words),
  })
})

it('a session whose client disconnects during auth is not opened', async () => {
  const { open, gateway, dialled } = setUp(undefined, { auth: () => new Promise<never>(() => {}) })
  const client = createCanceller()
  const opening = open('model=m', {}, client)
  await new Promise((resolve) => setTimeout(resolve, 5))
  client.abort()
  expect(await opening).toMatchObject({ ok: false, reply: { status: 499 } })
  await gateway.close()
  expect(dialled).toEqual([])
})

describe("Azure's paths", () => {
  const at = (path: string, query: string) => {
    const setting = setUp()
    return { ...setting, opening: setting.open(query, {}, undefined, path) }
  }

  it.each([
    ['/openai/realtime', 'api-version=2025-04-01-preview&deployment=m'],
    ['/openai/deployments/m/realtime', 'api-version=2025-04-01-preview'],
    ['/openai/deployments/m/realtime', 'api-version=2025-04-01-preview&deployment=other'],
    ['/openai/v1/realtime', 'model=m'],
  ])('open a session of the named model: %s?%s', async (path, query) => {
    const { opening, dialled } = at(path, query)
    expect((await opening).ok).toBe(true)
    const { pathname, searchParams } = new URL(dialled[0]?.url ?? '')
    expect([pathname, [...searchParams.keys()]]).toEqual(['/v1/realtime', ['model']])
  })

  it.each([
    ['/openai/realtime', 'api-version=1', 'deployment'],
    ['/openai/realtime', 'api-version=1&model=m', 'model'],
    ['/openai/realtime', 'deployment=m&deployment=n', 'deployment'],
    ['/openai/deployments/m/realtime', 'intent=x', 'intent'],
    ['/v1/realtime', 'model=m&api-version=1', 'api-version'],
  ])('reject other parameters: %s?%s', async (path, query, name) => {
    const { opening, dialled } = at(path, query)
    const { ok, ...rest } = await opening
    expect([ok, dialled.length]).toEqual([false, 0])
    expect(JSON.parse(String('reply' in rest ? rest.reply.body : '')).error.param).toBe(name)
  })
})
