// Isolated: fakes setInterval, which the sweep of other connections in this process uses.
import { until } from '@modelgate/testing/test-support'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { nodeListener } from '../server/handler.ts'
import { createFakeGateway, sleep } from '../testing/fake-gateway.ts'
import { dial, serve } from '../testing/server.ts'
import { guardRate } from './minimum-rate.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})
afterEach(() => {
  // A sweep over an empty list stops the timer.
  vi.advanceTimersByTime(10_000)
  vi.useRealTimers()
})

it.each([
  ['no data', 0, true],
  ['data too slowly', 30, true],
  ['data fast enough', 100, false],
])('enforces the minimum rate for a body that receives %s', (_name, bytesPerSecond, givenUp) => {
  const onSlow = vi.fn(() => guard.done())
  const guard = guardRate(onSlow)
  let silentMs = 0
  for (; silentMs < 120_000 && onSlow.mock.calls.length === 0; silentMs += 1000) {
    guard.bytes += bytesPerSecond
    vi.advanceTimersByTime(1000)
  }
  guard.done()
  expect(onSlow.mock.calls.length).toBe(givenUp ? 1 : 0)
  if (bytesPerSecond === 0) expect(silentMs).toBeLessThanOrEqual(30_000)
})

it('runs no timer while no body is awaited', () => {
  guardRate(() => {}).done()
  vi.advanceTimersByTime(10_000)
  expect(vi.getTimerCount()).toBe(0)
})

it('rejects a body that does not arrive with 408 and closes the connection', async () => {
  const gateway = createFakeGateway()
  const { port } = await serve(nodeListener(gateway))
  const { socket, received, closed } = dial(port)
  socket.write('POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf')
  await until(() => gateway.seen.inbounds.length === 1, 'the request to reach the gateway')
  vi.advanceTimersByTime(20_000)
  await sleep(20)
  expect(received()).toBe('')
  vi.advanceTimersByTime(10_000)
  await until(() => received().startsWith('HTTP/1.1 408 '), 'the 408 response')
  await closed
})
