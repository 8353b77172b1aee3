import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { GatewayError } from '../../../base/errors.ts'
import type { ClientSocket } from '../../../config/responses-socket.ts'
import type { Inbound, Reply } from '../../../http/inbound.ts'
import { boundedStore } from '../store.ts'
import { ConnectionState } from './connection-state.ts'
import { ResponsesConnection, type SocketHost } from './socket.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const create = encode('{"type":"response.create","model":"m","input":"x"}')

function setUp(run: SocketHost['run'] = async () => streamOf([])) {
  const sent: string[] = []
  const closes: number[] = []
  let isPaused = false
  let buffered = 0
  const written: (() => void)[] = []
  const client: ClientSocket = {
    get bufferedAmount() {
      return buffered
    },
    send(message, done) {
      sent.push(decode(message))
      if (done !== undefined) written.push(done)
    },
    pause: () => {
      isPaused = true
    },
    resume: () => {
      isPaused = false
    },
    close: (code) => void closes.push(code),
    terminate: () => void closes.push(1006),
  }
  const upgrade = {
    method: 'GET',
    path: '/v1/responses',
    query: '',
    header: () => undefined,
    read: async () => new Uint8Array(0),
    signal: new AbortController().signal,
  } satisfies Inbound
  const connection = new ResponsesConnection({
    upgrade,
    headers: {},
    protocol: undefined,
    limits: {
      bodyBytes: 4 * 1024 * 1024,
      depth: 128,
      values: 1000,
      clientStallMs: 1000,
      heartbeatMs: 1000,
      answerBytes: 1024,
    },
    dial: undefined,
    state: new ConnectionState(boundedStore({}, 1 / 2), 'ws_1'),
    run,
    reject: ({ info }: GatewayError) => ({
      status: info.status,
      headers: {},
      body: JSON.stringify({ error: { code: info.code ?? null, message: info.message } }),
    }),
    onClosed: () => {},
  })
  connection.open(client)
  const setBuffered = (bytes: number): void => {
    buffered = bytes
  }
  return { connection, sent, closes, written, setBuffered, isPaused: () => isPaused }
}

const streamOf = (texts: readonly string[]): Reply => ({
  status: 200,
  headers: {},
  body: (async function* () {
    for (const text of texts) yield encode(text)
  })(),
})
const settle = () => vi.advanceTimersByTimeAsync(0)

it('ends after 60 minutes with the documented error, after the running response', async () => {
  let finish = (): void => {}
  const { connection, sent, closes } = setUp(async () => {
    await new Promise<void>((resolve) => {
      finish = resolve
    })
    return streamOf(['data: {"type":"response.completed"}\n\n'])
  })
  connection.message(create, false)
  await vi.advanceTimersByTimeAsync(60 * 60 * 1000)
  expect(JSON.parse(sent[0] ?? '')).toMatchObject({
    type: 'error',
    status: 400,
    error: { code: 'websocket_connection_limit_reached' },
  })
  connection.message(create, false)
  expect(JSON.parse(sent[1] ?? '')).toMatchObject({ error: { code: 'websocket_connection_limit_reached' } })
  expect(closes).toEqual([])
  finish()
  await settle()
  expect(sent[2]).toBe('{"type":"response.completed"}')
  expect(closes).toEqual([1001])
})

it('waits for a client that reads slowly before it takes more of a response', async () => {
  let pulled = 0
  const { connection, sent, written, setBuffered } = setUp(async () => ({
    status: 200,
    headers: {},
    body: (async function* () {
      for (; pulled < 10; pulled++) yield encode(`data: {"n":${pulled}}\n\n`)
    })(),
  }))
  setBuffered(2 * 1024 * 1024)
  connection.message(create, false)
  await settle()
  expect(sent).toEqual(['{"n":0}'])
  for (let i = 0; i < 4; i++) {
    written.shift()?.()
    await settle()
  }
  expect(sent).toHaveLength(5)
  expect(pulled).toBeLessThan(6)
})

it('reads large messages in their own turn and in their order, and nothing meanwhile', async () => {
  const started: number[] = []
  const { connection, isPaused } = setUp(async (inbound) => {
    started.push((await inbound.read(1e9)).length)
    return streamOf([])
  })
  const large = encode(`{"type":"response.create","model":"m","input":"${'x'.repeat(1024 * 1024)}"}`)
  connection.message(large, false)
  connection.message(create, false)
  expect(isPaused()).toBe(true)
  await settle()
  expect(started).toEqual([large.length, create.length])
  expect(isPaused()).toBe(false)
})

it('closes the connection when a response is cut off', async () => {
  const { connection, closes } = setUp(async () => ({
    status: 200,
    headers: {},
    body: (async function* () {
      yield encode('data: {"type":"response.created"}\n\n')
      throw new Error('cut')
    })(),
  }))
  connection.message(create, false)
  await settle()
  expect(closes).toEqual([1011])
})
