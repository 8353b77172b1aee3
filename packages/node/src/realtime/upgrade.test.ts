import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { createFakeGateway, sleep } from '../testing/fake-gateway.ts'
import { dial, serve } from '../testing/server.ts'
import { nodeUpgrade } from './upgrade.ts'

const upgrade = (path: string) =>
  `GET ${path} HTTP/1.1\r\nhost: user:password@[x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`

it.each([
  ['/v1/realtime?model=x', 501, '{"error":{"message":"no realtime"}}'],
  ['/elsewhere', 404, ''],
])('responds to an upgrade of %s with %d in plain HTTP and closes the connection', async (path, status, body) => {
  const { port } = await serve(createServer().on('upgrade', nodeUpgrade(createFakeGateway())))
  const { socket, received, closed } = dial(port)
  socket.write(upgrade(path))
  await closed
  const [head = '', rest] = received().split('\r\n\r\n')
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} \\w`))
  expect(head).toContain('connection: close')
  expect(head).toContain(`content-length: ${body.length}`)
  expect(rest).toBe(body)
})

it('responds with 500 when the gateway fails and survives clients that disconnect at once', async () => {
  const gateway = createFakeGateway()
  const failing = { ...gateway, upgrade: () => sleep(20).then(() => Promise.reject(new Error('x'))) }
  const { port } = await serve(createServer().on('upgrade', nodeUpgrade(failing)))
  const early = dial(port)
  early.socket.write(upgrade('/v1/realtime'), () => early.socket.resetAndDestroy())
  const { socket, received, closed } = dial(port)
  socket.write(upgrade('/v1/realtime'))
  await closed
  expect(received()).toMatch(/^HTTP\/1\.1 500 /)
})
