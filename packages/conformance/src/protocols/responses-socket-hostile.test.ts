import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { until } from '@modelgate/testing/test-support'
import { expect, it, onTestFinished } from 'vitest'
import { startSockets, token } from './responses-socket-fixture.ts'

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const megabyte = 1024 * 1024
const create = (input: string): string =>
  JSON.stringify({ type: 'response.create', model: 'demo', store: false, input })

/** Opens a WebSocket on a bare connection, which reads nothing and answers no ping unless the test makes it. */
async function openRaw(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(
    `GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nauthorization: Bearer ${token}\r\n` +
      'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  expect(head.toString('latin1')).toMatch(/^HTTP\/1\.1 101 /)
  return socket
}

/** A frame of a client, masked with zeros. */
function frame(payload: string | Buffer, { opcode = 1, isLast = true } = {}): Buffer {
  const bytes = Buffer.from(payload as string)
  const { length } = bytes
  const head =
    length < 126
      ? Buffer.from([0, 0x80 | length])
      : length < 65_536
        ? Buffer.from([0, 0x80 | 126, length >> 8, length & 255])
        : Buffer.concat([Buffer.from([0, 0x80 | 127, 0, 0, 0, 0]), uint32(length)])
  head[0] = (isLast ? 0x80 : 0) | opcode
  return Buffer.concat([head, Buffer.alloc(4), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

it('closes the connection on a message that is larger than the limit of bodies (1009)', async () => {
  const { ws, fake } = await startSockets({ config: { limits: { bodyBytes: 10_000 } } })
  const client = ws()
  await client.opened
  client.create({ input: 'x'.repeat(10_000) })
  expect((await client.closed).code).toBe(1009)
  expect(fake.requests).toHaveLength(0)
})

it('closes the connection on a message of too many fragments, before it is complete', async () => {
  const { port } = await startSockets()
  const socket = await openRaw(port)
  socket.write(frame('{', { opcode: 1, isLast: false }))
  const bytes = Buffer.concat(Array(1000).fill(frame('x', { opcode: 0, isLast: false })))
  for (let i = 0; i < 20 && !socket.destroyed; i++) socket.write(bytes)
  socket.resume()
  await until(() => socket.destroyed, 'the connection to be closed')
})

it.each([
  ['a frame without a mask', Buffer.from([0x81, 1, 120])],
  ['invalid UTF-8', frame(Buffer.from([0xff, 0xfe]))],
  ['a reserved opcode', frame('x', { opcode: 3 })],
  ['a compressed frame', Buffer.from([0xc1, 0x80, 0, 0, 0, 0])],
])('closes the connection on %s', async (_, bytes) => {
  const { port, fake } = await startSockets()
  const socket = await openRaw(port)
  socket.resume()
  socket.write(bytes)
  await until(() => socket.destroyed || socket.readableEnded, 'the connection to be closed')
  expect(fake.requests).toHaveLength(0)
})

it('reads no more messages while many wait for their lane, and runs all of them in the end', async () => {
  const { ws, fake, finished } = await startSockets()
  const client = ws()
  await client.opened
  client.create({ input: '[[delay:300]] [[say:first]]' })
  const large = 'x'.repeat(200_000)
  for (let i = 0; i < 100; i++) client.create({ input: `[[say:${i}]]`, instructions: large })
  await until(() => fake.requests.length === 1, 'the first call')
  await sleep(200)
  // The connection was paused: a large part of the 20 MB waits at the client.
  expect(client.socket.bufferedAmount).toBeGreaterThan(5 * megabyte)
  const ended = await client.ended(101)
  expect(ended.every(({ type }) => type === 'response.completed')).toBe(true)
  expect(JSON.stringify(ended.at(-1)?.response?.output)).toContain('99')
  await until(() => finished.length === 101, 'all settlements')
  expect(new Set(finished.map(({ requestId }) => requestId)).size).toBe(101)
})

it('pauses the upstream while a client does not read, and ends the call when the client has stalled', async () => {
  const { port, server, finished, fake } = await startSockets({ config: { limits: { clientStallMs: 1500 } } })
  const socket = await openRaw(port)
  socket.pause()
  const connections = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)))
  socket.write(frame(create('[[words:2000000]]')))
  await until(() => fake.stats.started === 1, 'the upstream call')
  await until(() => finished.length === 1, 'the settlement', 20_000)
  expect(finished[0]).toMatchObject({ outcome: 'aborted' })
  await until(async () => (await connections()) === 0, 'the connection to be closed', 10_000)
  await until(() => fake.stats.aborted === 1, 'the upstream call to be aborted')
})

it('reads no more messages of a client that does not read the errors they get', async () => {
  const { port } = await startSockets()
  const socket = await openRaw(port)
  socket.pause()
  const flood = Buffer.concat(Array(2000).fill(frame('{"type":"response.cancel"}')))
  let taken = 0
  const pour = async (): Promise<void> => {
    while (!socket.destroyed) {
      const isFree = socket.write(flood)
      taken += flood.length
      if (!isFree)
        await Promise.race([once(socket, 'drain'), sleep(1000).then(() => Promise.reject(new Error('stuck')))])
    }
  }
  await expect(pour()).rejects.toThrow('stuck')
  // Buffers of the operating system and the gateway, far below what a client can send.
  expect(taken).toBeLessThan(40 * megabyte)
})

it('closes the connection of a client that answers no pings, and keeps that of one that does', async () => {
  const { port, ws } = await startSockets({ config: { limits: { heartbeatMs: 50 } } })
  const client = ws()
  await client.opened
  const dead = await openRaw(port)
  dead.resume()
  await until(() => dead.destroyed || dead.readableEnded, 'the connection to be closed')
  client.create()
  expect((await client.ended(1))[0]?.type).toBe('response.completed')
})

it('settles the call of a client that breaks its connection before the response', async () => {
  const { port, fake, finished } = await startSockets()
  const socket = await openRaw(port)
  socket.write(frame(create('[[stall]]')))
  await until(() => fake.stats.started === 1, 'the upstream call')
  socket.resetAndDestroy()
  await until(() => finished.length === 1 && fake.stats.aborted === 1, 'the settlement')
  expect(finished[0]).toMatchObject({ outcome: 'aborted' })
})

it('rejects handshakes that are none, and bytes before the handshake is complete', async () => {
  const { port, fake } = await startSockets()
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(
    `GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nauthorization: Bearer ${token}\r\nsec-websocket-version: 12\r\n\r\n`,
  )
  const [head] = (await once(socket, 'data')) as [Buffer]
  expect(head.toString('latin1')).toMatch(/^HTTP\/1\.1 426 /)
  const early = connect(port, '127.0.0.1')
  onTestFinished(() => void early.destroy())
  early.on('error', () => {}).resume()
  early.write(
    `GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nauthorization: Bearer ${token}\r\n` +
      'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  early.write(frame(create('[[say:early]]')))
  await until(() => fake.requests.length === 1, 'the early request')
})
