import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createCanceller } from '../../../base/async.ts'
import type { UpstreamSocketRequest } from '../../../config/responses-socket.ts'
import type { Transport, TransportRequest, TransportResponse } from '../../../http/transport.ts'
import { UpstreamQuota } from './upstream-quota.ts'
import { UpstreamSockets } from './upstream-sockets.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** An upstream's WebSocket, with a test's controls. */
interface Dialed {
  readonly request: UpstreamSocketRequest
  readonly sent: string[]
  readonly calls: string[]
  say(message: object | string): void
}

function setUp(open: 'opens' | 'refuses' | 'hangs' = 'opens', quota = new UpstreamQuota()) {
  const dialed: Dialed[] = []
  const overHttp: TransportRequest[] = []
  const sockets = new UpstreamSockets(
    (request) => {
      const sent: string[] = []
      const calls: string[] = []
      dialed.push({
        request,
        sent,
        calls,
        say: (message) => request.onMessage(encode(typeof message === 'string' ? message : JSON.stringify(message))),
      })
      if (open === 'refuses') return Promise.resolve(undefined)
      if (open === 'hangs')
        return new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(new Error('aborted'))))
      return Promise.resolve({
        send: (message) => void sent.push(message),
        pause: () => void calls.push('pause'),
        resume: () => void calls.push('resume'),
        terminate: () => void calls.push('terminate'),
      })
    },
    { messageBytes: 1000, heartbeatMs: 1000 },
    quota,
  )
  const inner: Transport = async (request) => {
    overHttp.push(request)
    return { status: 200, header: () => undefined, bytes: async () => encode('http'), stream, discard() {} }
  }
  const send = (more: Partial<TransportRequest> = {}, lane = '', owner = 'ada'): Promise<TransportResponse> =>
    sockets.transportFor(
      { lane, owner, continuation: undefined },
      inner,
    )({
      url: 'https://up/v1/responses',
      method: 'POST',
      headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
      body: '{"model":"m","input":"hi","stream":true}',
      signal: createCanceller(),
      webSocket: true,
      ...more,
    })
  const settle = () => vi.advanceTimersByTimeAsync(0)
  return { sockets, dialed, overHttp, send, settle }
}
async function* stream(): AsyncGenerator<Uint8Array> {
  yield encode('http')
}
const created = { type: 'response.created', response: { id: 'resp_1' } }
const completed = { type: 'response.completed', response: { id: 'resp_1' } }

describe('the quota of WebSockets to upstreams', () => {
  it('is 512 for a process, for all callers together', () => {
    const quota = new UpstreamQuota()
    const taken = Array.from({ length: 600 }, (_, n) => quota.take(`caller ${n}`)).filter((one) => one !== undefined)
    expect(taken).toHaveLength(512)
    taken[0]?.()
    expect(quota.take('another')).toBeDefined()
    expect(quota.take('another')).toBeUndefined()
  })
})

describe('the WebSockets to upstreams', () => {
  it('carry only requests that may be sent on one, with a body that is text', async () => {
    const { send, dialed, overHttp } = setUp()
    await send({ webSocket: false })
    await send({ body: stream() })
    expect([overHttp.length, dialed.length]).toEqual([2, 0])
  })

  it('are opened with the credentials of the call, and without its trace and the headers of its body', async () => {
    const { send, dialed, settle } = setUp()
    const traced = (traceparent: string) => ({ headers: { authorization: 'Bearer key', traceparent, accept: '*/*' } })
    for (const parent of ['a', 'b']) {
      const response = send(traced(parent))
      await settle()
      dialed[0]?.say({ type: 'response.completed', response: { id: `resp_${parent}` } })
      expect((await response).status).toBe(200)
    }
    expect(dialed).toHaveLength(1)
    expect(dialed[0]?.request.headers).toEqual({ authorization: 'Bearer key' })
    void send({ headers: { authorization: 'Bearer other' } })
    await settle()
    expect(dialed).toHaveLength(2)
  })

  it('run one response at a time: a second one of the lane is sent over HTTP', async () => {
    const { send, dialed, overHttp, settle } = setUp()
    const first = send()
    expect(decode(await (await send()).bytes(10))).toBe('http')
    await settle()
    dialed[0]?.say(created)
    expect((await first).status).toBe(200)
    await send()
    expect([dialed.length, overHttp.length]).toEqual([1, 2])
  })

  it('are at most 16: one that is not in use is closed for another', async () => {
    const { send, dialed, overHttp, settle } = setUp()
    for (let lane = 0; lane < 16; lane++) {
      void send({}, `lane-${lane}`)
      await settle()
    }
    await send({}, 'one too many')
    expect([dialed.length, overHttp.length]).toEqual([16, 1])
    dialed[3]?.say(completed)
    void send({}, 'another')
    await settle()
    expect([dialed.length, overHttp.length, dialed[3]?.calls]).toEqual([17, 1, ['terminate']])
  })

  it.each(['refuses', 'hangs'] as const)('are replaced by HTTP if the upstream %s', async (open) => {
    const { send, dialed, overHttp } = setUp(open)
    const responses = [send(), send({}, 'other lane')]
    await vi.advanceTimersByTimeAsync(10_000)
    await Promise.all(responses)
    await send()
    expect([dialed.length, overHttp.length]).toEqual([2, 3])
  })

  it('are not opened for a call that has ended, which is not sent over HTTP either', async () => {
    const { send, overHttp, settle } = setUp('hangs')
    const signal = createCanceller()
    const response = send({ signal })
    const failed = expect(response).rejects.toMatchObject({ code: 'ABORT_ERR' })
    await settle()
    signal.abort()
    await failed
    expect(overHttp).toHaveLength(0)
  })

  it('repeat a request without any message over HTTP, and only if it may be repeated', async () => {
    const { send, dialed, overHttp, settle } = setUp()
    const once = send({ resend: false })
    const failed = expect(once).rejects.toMatchObject({ code: 'ECONNRESET' })
    await settle()
    dialed[0]?.request.onClose()
    await failed
    expect(overHttp).toHaveLength(0)
  })

  it('are closed by an abort, by a reader that leaves, and with the connection of the client', async () => {
    const { sockets, send, dialed, settle } = setUp()
    const signal = createCanceller()
    const aborted = send({ signal }, 'a')
    const left = send({}, 'b')
    void send({}, 'c')
    await settle()
    for (const { say } of dialed) say(created)
    const reader = (await aborted).stream()[Symbol.asyncIterator]()
    await reader.next()
    const pending = expect(reader.next()).rejects.toMatchObject({ code: 'ABORT_ERR' })
    signal.abort()
    await pending
    for await (const _ of (await left).stream()) break
    sockets.close()
    expect(dialed.map(({ calls }) => calls)).toEqual([['terminate'], ['terminate'], ['terminate']])
  })

  it('are paused while their reader is slow', async () => {
    const { send, dialed, settle } = setUp()
    const response = send()
    await settle()
    dialed[0]?.say(created)
    const text = JSON.stringify({ type: 'response.output_text.delta', delta: 'x'.repeat(600_000) })
    for (let n = 0; n < 3; n++) dialed[0]?.say(text)
    expect(dialed[0]?.calls).toEqual(['pause'])
    const reader = (await response).stream()[Symbol.asyncIterator]()
    for (let n = 0; n < 4; n++) await reader.next()
    expect(dialed[0]?.calls).toEqual(['pause', 'resume'])
  })

  it('are closed by an error between two responses, and keep nothing of a response that has ended', async () => {
    const { send, dialed, settle } = setUp()
    const first = send()
    await settle()
    dialed[0]?.say(completed)
    dialed[0]?.say({ type: 'response.output_text.delta', delta: 'late' })
    expect(decode(await (await first).bytes(1000))).not.toContain('late')
    dialed[0]?.say({ type: 'error', status: 400, error: { code: 'websocket_connection_limit_reached' } })
    void send()
    await settle()
    expect([dialed[0]?.calls, dialed.length]).toEqual([['terminate'], 2])
  })

  it('do not take a second end of a response for the next response', async () => {
    const { send, dialed, settle } = setUp()
    const first = send()
    await settle()
    dialed[0]?.say(created)
    dialed[0]?.say(completed)
    await (await first).bytes(1000)
    const second = send()
    await settle()
    dialed[0]?.say({ type: 'response.done', response: { id: 'resp_1' } })
    dialed[0]?.say({ type: 'response.created', response: { id: 'resp_2' } })
    dialed[0]?.say({ type: 'response.completed', response: { id: 'resp_2' } })
    const text = decode(await (await second).bytes(1000))
    expect(text).toContain('resp_2')
    expect(text).not.toContain('resp_1')
  })

  it.each(['keepalive', 'codex.rate_limits', 'response.rate_limits.updated', 'responsesapi.websocket_timing'])(
    'keep the status of a refusal after %s, which a response begins with as well',
    async (type) => {
      const { send, dialed, settle } = setUp()
      const refused = send()
      await settle()
      dialed[0]?.say({ type })
      dialed[0]?.say({ type: 'error', status: 429, error: { type: 'rate_limit_error', message: 'Slow down.' } })
      expect((await refused).status).toBe(429)
      const response = send()
      await settle()
      dialed[0]?.say({ type })
      dialed[0]?.say(completed)
      expect(decode(await (await response).bytes(1000))).toMatch(new RegExp(`${type}[^]*response.completed`))
    },
  )

  it('are closed after a minute without a response, and not while one runs', async () => {
    const { send, dialed, settle } = setUp()
    const response = send()
    await settle()
    dialed[0]?.say(created)
    await vi.advanceTimersByTimeAsync(200_000)
    dialed[0]?.say(completed)
    await (await response).bytes(1000)
    await vi.advanceTimersByTimeAsync(59_999)
    const second = send()
    await settle()
    await vi.advanceTimersByTimeAsync(59_999)
    dialed[0]?.say({ type: 'response.completed', response: { id: 'resp_2' } })
    await (await second).bytes(1000)
    expect([dialed.length, dialed[0]?.calls]).toEqual([1, []])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(dialed[0]?.calls).toEqual(['terminate'])
    void send()
    await settle()
    expect(dialed).toHaveLength(2)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('are at most 64 for a caller, on all its connections: further calls use HTTP until one closes', async () => {
    const quota = new UpstreamQuota()
    const clients = Array.from({ length: 5 }, () => setUp('opens', quota))
    const open = async (owner: string) => {
      for (const { send, settle } of clients)
        for (let lane = 0; lane < 16; lane++) {
          void send({}, `${owner} ${lane}`, owner)
          await settle()
        }
      return clients.reduce((sum, { dialed }) => sum + dialed.length, 0)
    }
    expect(await open('ada')).toBe(64)
    const [first, , , , last] = clients
    first?.dialed[0]?.request.onClose()
    await first?.settle()
    void last?.send({}, 'another', 'ada')
    void last?.send({}, 'one too many', 'ada')
    await last?.settle()
    expect([last?.dialed.length, last?.overHttp.length]).toEqual([1, 17])
    void last?.send({}, 'of another caller', 'bob')
    await last?.settle()
    expect(last?.dialed).toHaveLength(2)
  })

  it.each(['refuses', 'hangs'] as const)('are not counted if the upstream %s', async (open) => {
    const quota = new UpstreamQuota()
    const clients = Array.from({ length: 65 }, () => setUp(open, quota))
    for (const { send } of clients) {
      const response = send()
      await vi.advanceTimersByTimeAsync(10_000)
      await response
    }
    expect(clients.map(({ dialed }) => dialed.length)).toEqual(Array(65).fill(1))
  })

  it('are closed by an error within a response, after which upstreams may send more', async () => {
    const { send, dialed, settle } = setUp()
    const response = send()
    await settle()
    dialed[0]?.say(created)
    dialed[0]?.say({ type: 'error', code: 'server_error', message: 'm' })
    expect(decode(await (await response).bytes(1000))).toContain('event: error\n')
    expect(dialed[0]?.calls).toEqual(['terminate'])
  })
})
