import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Client } from 'undici'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { sleep } from '../testing/fake-gateway.ts'
import { serve } from '../testing/server.ts'
import { serveRaw, start, text } from '../testing/transport.ts'

describe('a call', () => {
  it('sends method, path, query, headers and body and requests an unencoded response', async () => {
    const { url } = await serve(async (req, res) => {
      let body = ''
      for await (const chunk of req) body += chunk
      res.setHeader('x-many', ['a', 'b'])
      res.writeHead(201, { 'X-Mixed': 'Case', 'content-type': 'application/json' })
      res.end(JSON.stringify({ method: req.method, url: req.url, headers: req.headers, body }))
    })
    const { call } = start()
    const answer = await call(`${url}/v1/x?a=b`, { headers: { 'x-one': '1' }, body: Buffer.from('{"ä":1}') })
    expect(answer.status).toBe(201)
    expect(answer.header('x-mixed')).toBe('Case')
    expect(answer.header('x-many')).toBe('a, b')
    expect(answer.header('x-none')).toBeUndefined()
    expect(JSON.parse(text(await answer.bytes(1e6)))).toMatchObject({
      method: 'POST',
      url: '/v1/x?a=b',
      headers: { 'x-one': '1', 'accept-encoding': 'identity', 'content-length': '8', connection: 'keep-alive' },
      body: '{"ä":1}',
    })
  })

  it('keeps the accept-encoding of a caller that sets it', async () => {
    const { url } = await serve((req, res) => res.end(req.headers['accept-encoding']))
    const { call } = start()
    expect(text(await (await call(url, { headers: { 'accept-encoding': 'br' } })).bytes(100))).toBe('br')
  })

  it('does not follow redirects', async () => {
    let calls = 0
    const { url } = await serve((_req, res) => {
      calls++
      res.writeHead(302, { location: '/elsewhere' }).end()
    })
    const { call } = start()
    const answer = await call(url)
    expect([answer.status, answer.header('location'), calls]).toEqual([302, '/elsewhere', 1])
    answer.discard()
  })

  it.each([
    ['a refused connection', 'http://127.0.0.1:1/x', 'ECONNREFUSED'],
    ['an unknown host', 'http://nowhere.invalid/x', /ENOTFOUND|EAI_AGAIN/],
    ['a broken address', 'http://', 'ERR_INVALID_URL'],
  ])('rejects %s with a code', async (_name, url, code) => {
    const { call } = start()
    const error = await call(url).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(Error)
    expect((error as { code?: string }).code).toMatch(code)
  })

  it('rejects calls after close', async () => {
    const { transport, call } = start()
    await transport.close()
    await expect(call('http://127.0.0.1:1/')).rejects.toMatchObject({ code: 'ERR_CLOSED' })
  })

  it('closes when the block of `await using` ends', async () => {
    const { transport, call } = start()
    await (async () => {
      await using used = transport
      expect(used).toBe(transport)
    })()
    await expect(call('http://127.0.0.1:1/')).rejects.toMatchObject({ code: 'ERR_CLOSED' })
  })
})

describe('a connection', () => {
  /** A connection can be used again after a turn of the event loop. */
  const rest = () => sleep(2)
  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'

  it('is reused by the next call', async () => {
    const { url, connections } = await serveRaw((socket) => socket.write(ok))
    const { call } = start()
    for (let i = 0; i < 6; i++) {
      const answer = await call(url)
      if (i % 2 === 0) await answer.bytes(10)
      else answer.discard()
      await rest()
    }
    expect(connections()).toBe(1)
  })

  it.each([
    ['reset', (socket: Socket) => socket.resetAndDestroy()],
    ['closed', (socket: Socket) => socket.end()],
  ])('that was %s while a call was in flight is replaced once', async (_name, die) => {
    const { url, requests, connections } = await serveRaw((socket, request) => {
      // The connection closes during the second request.
      if (request === 2) die(socket)
      else socket.write(ok)
    })
    const { call } = start()
    await (await call(url)).bytes(10)
    await rest()
    expect(text(await (await call(url)).bytes(10))).toBe('{}')
    expect([requests(), connections()]).toEqual([3, 2])
  })

  it('is replaced only once for each call', async () => {
    const { url, requests } = await serveRaw((socket, request) => {
      if (request === 1) socket.write(ok)
      else socket.resetAndDestroy()
    })
    const { call } = start()
    await (await call(url)).bytes(10)
    await rest()
    await expect(call(url)).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(requests()).toBe(3)
  })

  it.each([
    ['it is new', {}, (socket: Socket) => socket.resetAndDestroy(), false],
    [
      'a response had begun',
      {},
      (socket: Socket) => socket.write('HTTP/1.1 20', () => setTimeout(() => socket.resetAndDestroy(), 20)),
      true,
    ],
    ['retryStale is off', { retryStale: false }, (socket: Socket) => socket.resetAndDestroy(), true],
  ])('is not replaced if %s', async (_name, options, die, warm) => {
    const { url, requests } = await serveRaw((socket, request) => {
      if (warm && request === 1) socket.write(ok)
      else die(socket)
    })
    const { call } = start(options)
    if (warm) await (await call(url)).bytes(10).then(rest)
    await expect(call(url)).rejects.toBeInstanceOf(Error)
    expect(requests()).toBe(warm ? 2 : 1)
  })

  it('survives the keep-alive race without a failed or repeated call', async () => {
    const ids: string[] = []
    const server = createServer((req, res) => {
      ids.push(String(req.headers['x-id']))
      // Set explicitly, so that Node adds no `keep-alive` header, with which the client would avoid the race.
      res.writeHead(200, { connection: 'keep-alive', 'content-length': 2 }).end('{}')
    })
    server.keepAliveTimeout = 10
    const { url } = await serve(server)
    const { call } = start()
    let sent = 0
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let i = 0; i < 40; i++) {
          await (await call(url, { headers: { 'x-id': String(sent++) } })).bytes(10)
          await sleep(9 + (i % 5))
        }
      }),
    )
    expect(ids).toHaveLength(320)
    expect(new Set(ids).size).toBe(320)
  })

  it('is forgotten with its client once it has closed, and later calls open new ones', async () => {
    const clients = new Set<WeakRef<Client>>()
    const { dispatch } = Client.prototype
    Client.prototype.dispatch = function (this: Client, ...call: Parameters<typeof dispatch>) {
      clients.add(new WeakRef(this))
      return dispatch.apply(this, call)
    }
    onTestFinished(() => {
      Client.prototype.dispatch = dispatch
    })
    setFlagsFromString('--expose-gc')
    const collectGarbage: () => void = runInNewContext('gc')
    const server = createServer((_req, res) => res.end('{}'))
    const { url } = await serve(server)
    const { call } = start()
    const callAll = () => Promise.all(Array.from({ length: 3 }, async () => (await call(url)).bytes(10)))
    await callAll()
    expect(clients.size).toBeGreaterThanOrEqual(3)
    const allForgotten = () => {
      server.closeIdleConnections()
      collectGarbage()
      expect([...clients].filter((client) => client.deref() !== undefined)).toEqual([])
    }
    await vi.waitFor(allForgotten, 10_000)
    expect(await callAll()).toHaveLength(3)
  })

  it('is awaited if the number of connections is limited', async () => {
    let open = 0
    let most = 0
    const { url } = await serve((_req, res) => {
      most = Math.max(most, ++open)
      setTimeout(() => {
        open--
        res.end('{}')
      }, 10)
    })
    const { call } = start({ connections: 2 })
    await Promise.all(Array.from({ length: 10 }, async () => (await call(url)).bytes(10)))
    expect(most).toBe(2)
  })
})
