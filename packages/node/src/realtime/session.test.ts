import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { createServer as createTcpServer } from 'node:net'
import { createGateway, type FinishEvent, type Gateway, type GatewayConfig, openai } from '@modelgate/core'
import { until } from '@modelgate/testing/test-support'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { dial, serve } from '../testing/server.ts'
import { nodeUpgrade } from './upgrade.ts'

/** An upstream that accepts every session, sends `hello`, and echoes. */
async function startUpstream() {
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await new Promise((resolve) => sockets.once('listening', resolve))
  sockets.on('connection', (socket) => {
    socket.send('hello')
    socket.on('message', (data, binary) => socket.send(data, { binary }))
  })
  onTestFinished(() => {
    for (const client of sockets.clients) client.terminate()
    sockets.close()
  })
  return { port: (sockets.address() as AddressInfo).port, sockets }
}

/** An upstream that accepts connections and never responds. */
async function startSilence() {
  const open = new Set<Socket>()
  let seen = 0
  const server = createTcpServer((socket) => {
    seen++
    open.add(socket)
    socket.on('error', () => {}).on('close', () => open.delete(socket))
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, open, seen: () => seen }
}

function gatewayTo(port: number, config: Partial<GatewayConfig> = {}): { gateway: Gateway; finished: FinishEvent[] } {
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: openai({ apiKey: 'upstream-key-1', baseURL: `http://127.0.0.1:${port}/v1` }) },
    models: { '*': 'up' },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    ...config,
  })
  onTestFinished(() => gateway.close({ graceMs: 0 }))
  return { gateway, finished }
}

const handshake = (path: string, headers: Record<string, string> = {}): string => {
  const all = {
    host: 'x',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version': '13',
    ...headers,
  }
  const lines = Object.entries(all).filter(([, value]) => value !== '')
  return `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}
const path = '/v1/realtime?model=m'
/** A text frame, masked with zeros. */
const frame = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])

describe('a client that disconnects while its upstream is connecting', () => {
  it.each([
    ['resets', (socket: Socket) => socket.resetAndDestroy()],
    ['closes', (socket: Socket) => socket.destroy()],
    ['half-closes', (socket: Socket) => socket.end()],
  ])('and %s ends the connection attempt', async (_name, leave) => {
    const silence = await startSilence()
    const { gateway, finished } = gatewayTo(silence.port)
    const { port } = await serve(createServer().on('upgrade', nodeUpgrade(gateway)))
    const { socket } = dial(port)
    socket.write(handshake(path))
    await until(() => silence.seen() === 1, 'the upgrade to reach the upstream')
    leave(socket)
    await until(
      () => silence.open.size === 0 && finished.length === 1,
      'the upstream connection to close and the session to be settled',
    )
    expect(finished).toMatchObject([{ operation: 'realtime', outcome: 'aborted', status: 499 }])
  })

  it('ends the connection attempt by sending too much before the handshake is complete', async () => {
    const silence = await startSilence()
    const { gateway, finished } = gatewayTo(silence.port)
    const { port } = await serve(createServer().on('upgrade', nodeUpgrade(gateway)))
    const { socket, closed } = dial(port)
    socket.write(handshake(path))
    await until(() => silence.seen() === 1, 'the upgrade to reach the upstream')
    socket.write(Buffer.alloc(100_000))
    await closed
    await until(
      () => silence.open.size === 0 && finished.length === 1,
      'the upstream connection to close and the session to be settled',
    )
  })
})

it('ends a connection attempt on close() after its grace period and responds in HTTP', async () => {
  const silence = await startSilence()
  const { gateway } = gatewayTo(silence.port)
  const { port } = await serve(createServer().on('upgrade', nodeUpgrade(gateway)))
  const { socket, received, closed } = dial(port)
  socket.write(handshake(path))
  await until(() => silence.seen() === 1, 'the upgrade to reach the upstream')
  await gateway.close({ graceMs: 20 })
  await closed
  expect(received()).toMatch(/^HTTP\/1\.1 503 .*shutting down/s)
  await until(() => silence.open.size === 0, 'the upstream connection to close')
})

it('keeps messages that arrive with the handshake or before the client is accepted', async () => {
  const upstream = await startUpstream()
  const { gateway } = gatewayTo(upstream.port)
  const { port } = await serve(createServer().on('upgrade', nodeUpgrade(gateway)))
  const { socket, received } = dial(port)
  socket.write(Buffer.concat([Buffer.from(handshake(path)), frame('early bird')]))
  await until(() => received().includes('early bird'), 'the echo of the early message')
  expect(received()).toMatch(/^HTTP\/1\.1 101 .*hello.*early bird/s)
})

describe('a handshake', () => {
  it.each([
    ['of another protocol', { upgrade: 'h2c' }, 426, 'upgrade: websocket'],
    ['of another version', { 'sec-websocket-version': '8' }, 426, 'sec-websocket-version: 13'],
    ['without a version', { 'sec-websocket-version': '' }, 426, 'sec-websocket-version: 13'],
    ['without a key', { 'sec-websocket-key': '' }, 400, 'Sec-WebSocket-Key'],
    ['with a broken key', { 'sec-websocket-key': 'x' }, 400, 'Sec-WebSocket-Key'],
  ])('%s is rejected before the upstream is called', async (_name, headers, status, says) => {
    const silence = await startSilence()
    const { gateway } = gatewayTo(silence.port)
    const { port } = await serve(createServer().on('upgrade', nodeUpgrade(gateway)))
    const { socket, received, closed } = dial(port)
    socket.write(handshake(path, headers))
    await closed
    expect(received()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(received()).toContain(says)
    expect(received()).toContain('{"error":{"message":')
    expect(silence.seen()).toBe(0)
  })

  it('that ws rejects leaves no session open', async () => {
    const upstream = await startUpstream()
    const { gateway, finished } = gatewayTo(upstream.port)
    const { port } = await serve(createServer().on('upgrade', nodeUpgrade(gateway)))
    const { socket, received, closed } = dial(port)
    socket.write(handshake(path, { 'sec-websocket-protocol': 'realtime, realtime' }))
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 400 /)
    await until(
      () => finished.length === 1 && upstream.sockets.clients.size === 0,
      'the session to be settled and the upstream connection to close',
    )
  })
})

describe('the host', () => {
  const greet = (port: number, url: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${url}`)
      socket.once('message', (data) => {
        resolve(String(data))
        socket.close()
      })
      socket.once('error', (error) => resolve(error.message))
    })

  it.each(['before', 'after'])('keeps its own WebSockets if they are attached %s the gateway', async (order) => {
    const upstream = await startUpstream()
    const { gateway } = gatewayTo(upstream.port)
    const own = new WebSocketServer({ noServer: true })
    const server = createServer()
    const attach = [
      () => server.on('upgrade', nodeUpgrade(gateway)),
      () =>
        server.on('upgrade', (req, socket, head) => {
          if (req.url === '/own') own.handleUpgrade(req, socket, head, (client) => client.send('the host'))
        }),
    ]
    for (const step of order === 'before' ? attach.reverse() : attach) step()
    const { port } = await serve(server)
    expect(await greet(port, '/own')).toBe('the host')
    expect(await greet(port, path)).toBe('hello')
    // The gateway still serves its other paths.
    expect(await greet(port, '/v1/models')).toContain('404')
  })

  it.each([
    ['of the gateway', { basePath: '/ai' }, {}],
    ['of the listener', {}, { basePath: '/ai' }],
    ['of the listener, with a slash', {}, { basePath: '/ai/' }],
  ])('can mount the gateway under a prefix %s', async (_name, config, options) => {
    const upstream = await startUpstream()
    const { gateway } = gatewayTo(upstream.port, config)
    const { port } = await serve(createServer().on('upgrade', nodeUpgrade(gateway, options)))
    expect(await greet(port, `/ai${path}`)).toBe('hello')
    expect(await greet(port, path)).toContain('404')
    expect(await greet(port, `/aix${path}`)).toContain('404')
  })
})

describe('a client that is limited to some models', () => {
  it('gets an error for a message that names another model, and the upstream does not receive it', async () => {
    const upstream = await startUpstream()
    const { gateway } = gatewayTo(upstream.port, { auth: () => ({ id: 'me', models: ['m'] }) })
    const { port } = await serve(createServer().on('upgrade', nodeUpgrade(gateway)))
    const client = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: { authorization: 'Bearer t' } })
    const received: string[] = []
    client.on('message', (data) => received.push(String(data)))
    await until(() => received.length === 1, 'the first message')
    const update = (model: string): string => `{"type":"session.update","event_id":"e","session":{"model":"${model}"}}`
    const sent = [update('other'), '{"type":"session.update","x":NaN,"session":{"model":"other"}}', 'no JSON']
    for (const text of sent) client.send(text)
    client.send(Buffer.from(update('other')))
    client.send(update('m'))
    client.send(Buffer.from([0, 1, 255]))
    await until(() => received.length === 7, 'all seven messages')
    const errors = received.flatMap((text) => (text.startsWith('{"type":"error"') ? [JSON.parse(text).error] : []))
    expect(errors).toMatchObject([
      { type: 'invalid_request_error', code: 'model_not_found', param: 'session.model', event_id: 'e' },
      { message: expect.stringContaining('not valid JSON') },
      { message: expect.stringContaining('not valid JSON') },
      { code: 'model_not_found' },
    ])
    const echoed = received.filter((text) => !text.startsWith('{"type":"error"'))
    expect(echoed).toEqual(['hello', update('m'), Buffer.from([0, 1, 255]).toString()])
    client.terminate()
  })

  it('is paused if it sends rejected messages without reading the responses', async () => {
    const upstream = await startUpstream()
    const { gateway } = gatewayTo(upstream.port, { auth: () => ({ id: 'me', models: ['m'] }) })
    const { port } = await serve(createServer().on('upgrade', nodeUpgrade(gateway)))
    const { socket } = dial(port)
    socket.write(handshake(path, { authorization: 'Bearer t' }))
    await until(() => upstream.sockets.clients.size === 1, 'the upstream session')
    socket.pause()
    const many = Buffer.concat(Array.from({ length: 20_000 }, () => frame('no JSON')))
    let rounds = 0
    while (rounds < 60 && socket.write(many)) rounds++
    for (; rounds < 60 && socket.writableLength < 4_000_000; rounds++) {
      socket.write(many)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    // Bytes that the gateway does not read stay buffered on this side.
    expect(socket.writableLength).toBeGreaterThan(1_000_000)
    socket.destroy()
  })
})
