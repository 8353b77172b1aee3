import { expect, it } from 'vitest'
import { sleep } from '../testing/fake-gateway.ts'
import { serve } from '../testing/server.ts'
import { readAll, serveRaw, start, text } from '../testing/transport.ts'
import { ControllerExchange } from './controller-exchange.ts'
import { supportsRawHandlers } from './raw-exchange.ts'

// If this fails with undici 7, a release has removed the private interface: delete raw-exchange.ts.
it('uses the raw handler interface with undici 7 and the public one with undici 8', () => {
  expect(supportsRawHandlers()).toBe(process.env.MODELGATE_UNDICI !== '8')
})

it('reads JSON, repeated headers and slow readers through the public handler interface of every undici', async () => {
  const { url } = await serve((req, res) => {
    res.setHeader('x-many', ['a', 'b'])
    res.end(req.url === '/large' ? Buffer.alloc(5_000_000, 'x') : '{}')
  })
  const { call } = start({}, ControllerExchange)
  const response = await call(url)
  expect([response.header('x-many'), response.header('x-none'), response.header('constructor')]).toEqual([
    'a, b',
    undefined,
    undefined,
  ])
  expect(text(await response.bytes(10))).toBe('{}')
  const large = await call(`${url}/large`)
  await sleep(50)
  expect(await readAll(large.stream())).toHaveLength(5_000_000)
})

it('sends a call again through the public handler interface if its connection was stale', async () => {
  const { url, requests } = await serveRaw((socket, request) => {
    if (request === 2) socket.resetAndDestroy()
    else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
  })
  const { call } = start({}, ControllerExchange)
  await (await call(url)).bytes(10)
  await sleep(5)
  expect(text(await (await call(url)).bytes(10))).toBe('{}')
  expect(requests()).toBe(3)
})
