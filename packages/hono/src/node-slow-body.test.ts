// Isolated: fakes setInterval, which the sweep of other connections in this process uses.
import { getRequestListener } from '@hono/node-server'
import type { GatewayError, Inbound, Reply } from '@modelgate/core'
import { adapterFunctions } from '@modelgate/core/adapter'
import { createFakeGateway, dial, serve, sleep, withAdapterFunctions } from '@modelgate/node/test-support'
import { until } from '@modelgate/testing/test-support'
import { Hono } from 'hono'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { honoMiddleware } from './node-middleware.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  // A sweep over an empty list stops the timer.
  vi.advanceTimersByTime(10_000)
  vi.useRealTimers()
})

/** Reads its body as an upload. */
async function takeUpload(inbound: Inbound) {
  let bytes = 0
  try {
    for await (const chunk of inbound.stream?.(1000) ?? []) bytes += chunk.length
    return { status: 200, headers: {}, body: String(bytes) }
  } catch (error) {
    return { status: (error as GatewayError).info.status, headers: {}, body: '' }
  }
}

async function start() {
  const gateway = createFakeGateway()
  const inbounds: Inbound[] = []
  const handle = (inbound: Inbound): Promise<Reply> => {
    inbounds.push(inbound)
    return inbound.query === 'upload' ? takeUpload(inbound) : adapterFunctions(gateway).handle(inbound)
  }
  const app = new Hono().use('/ai/*', honoMiddleware(withAdapterFunctions(gateway, { handle })))
  const { port } = await serve(getRequestListener(app.fetch))
  return { inbounds, ...dial(port) }
}

it.each([
  ['of a known length', 'content-length: 100', 'half', '/ai/v1/echo'],
  ['without a length', 'transfer-encoding: chunked', '4\r\nhalf\r\n', '/ai/v1/echo'],
  ['of an upload', 'content-length: 100', 'half', '/ai/v1/echo?upload'],
])('rejects a body %s that does not arrive with 408', async (_name, framing, begin, path) => {
  const { inbounds, socket, received } = await start()
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n${begin}`)
  await until(() => inbounds.length === 1, 'the request to reach the application')
  vi.advanceTimersByTime(20_000)
  await sleep(20)
  expect(received()).toBe('')
  vi.advanceTimersByTime(10_000)
  await until(() => received().startsWith('HTTP/1.1 408 '), 'the 408 response')
})

it('waits for a body that arrives slowly but steadily', async () => {
  const { inbounds, socket, received } = await start()
  socket.write('POST /ai/v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 20000\r\n\r\n')
  await until(() => inbounds.length === 1, 'the request to reach the application')
  for (let sent = 0; sent < 20_000; sent += 2000) {
    socket.write('a'.repeat(2000))
    await sleep(20)
    vi.advanceTimersByTime(5000)
  }
  await until(() => received().startsWith('HTTP/1.1 200 '), 'the 200 response')
})
