import { lookup } from 'node:dns/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net'
import * as zlib from 'node:zlib'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { createGateway, openai } from '@modelgate/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { simpleRequest } from '../base/client-formats.ts'
import { gatewayTo, requestTo, upstreamOf } from '../base/gateways.ts'
import { formats } from '../base/recorded-traffic.ts'
import { type ServerKind, servers } from '../base/servers.ts'
import { type ClientResponse, printFigure, readResponse } from './router-fixture.ts'
import { completion, eventsOf } from './router-upstreams.ts'

// Tests over real sockets with undici's transport, for effects that a stopped clock cannot show. The transport itself
// is tested in packages/node (undici-transport.test.ts, exchange-body.test.ts), every server with every fault in
// wire.test.ts.

const overNode = servers.find(({ name }) => name === 'node:http') as ServerKind

async function listening(server: Server | RequestListener): Promise<{ origin: string; port: number }> {
  const running = typeof server === 'function' ? createServer(server) : server
  await new Promise<void>((resolve) => running.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    running.closeAllConnections()
    running.close()
  })
  const { port } = running.address() as AddressInfo
  return { origin: `http://127.0.0.1:${port}`, port }
}

/** Returns a port on which no server listens. */
async function closedPort(): Promise<number> {
  const server = createNetServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function started(
  gateway: ReturnType<typeof createGateway>,
): Promise<(request: Request) => Promise<ClientResponse>> {
  const running = await overNode.start(gateway)
  onTestFinished(running.close)
  return async (request) => {
    const { pathname, search } = new URL(request.url)
    return readResponse(
      await fetch(`${running.origin}${pathname}${search}`, {
        method: 'POST',
        headers: request.headers,
        body: await request.text(),
      }),
    )
  }
}

describe('unreachable upstream', () => {
  const unreachable: readonly [string, () => Promise<string>, RegExp][] = [
    ['a refused connection', async () => `http://127.0.0.1:${await closedPort()}`, /127\.0\.0\.1/],
    ['an unknown host', async () => 'http://secret-host.invalid', /secret-host/],
    [
      'no TLS on a TLS port',
      async () => `https://127.0.0.1:${(await listening((_, res) => void res.end())).port}`,
      /127\.0\.0\.1/,
    ],
  ]
  test.each(unreachable)(
    'returns 502 in every dialect without delay and without its name: %s',
    async (name, where, secret) => {
      const baseURL = await where()
      const since = performance.now()
      await lookup(new URL(baseURL).hostname).catch(() => undefined)
      const dnsMs = performance.now() - since
      const times: number[] = []
      for (const format of formats) {
        const ask = await started(gatewayTo('chat', { baseURL, retry: {}, breaker: false }))
        const request = (): Request => requestTo(format, JSON.stringify(simpleRequest(format, false)))
        // The first call pays for lazily loaded modules.
        await ask(request())
        for (let i = 0; i < 5; i++) {
          const from = performance.now()
          const answer = await ask(request())
          times.push(performance.now() - from)
          expect(answer.status).toBe(502)
          expect(answer.json).toHaveProperty('error')
          expect(answer.text).not.toMatch(secret)
          expect(answer.text).not.toMatch(/ECONN|ENOTFOUND|EAI_AGAIN|EPROTO|SSL|node:/)
        }
      }
      times.sort((a, b) => a - b)
      const median = times[Math.floor(times.length / 2)] as number
      printFigure(
        13,
        `${name}: 502 after ${median.toFixed(1)} ms (DNS ${dnsMs.toFixed(1)} ms), ${times.length} calls, slowest ${times.at(-1)?.toFixed(1)} ms`,
      )
      // The median, because the maximum is unreliable on a busy machine.
      expect(median).toBeLessThan(50 + dnsMs)
    },
  )
})

describe('connections', () => {
  test('survive the keep-alive race without a failed or repeated call', async () => {
    const seen: string[] = []
    const server = createServer((req, res) => {
      let text = ''
      req.on('data', (data: Buffer) => {
        text += data.toString()
      })
      req.on('end', () => {
        seen.push(/call (\d+)\./.exec(text)?.[1] ?? '')
        // Written by hand, so that Node adds no keep-alive hint, which would make the gateway avoid the race.
        const body = completion()
        res
          .writeHead(200, {
            connection: 'keep-alive',
            'content-type': 'application/json',
            'content-length': body.length,
          })
          .end(body)
      })
    })
    server.keepAliveTimeout = 10
    const { origin } = await listening(server)
    // Disables the router's retries, which would hide failures of the transport.
    const ask = await started(gatewayTo('chat', { baseURL: origin, retry: false, breaker: false }))
    const total = 2000
    let sent = 0
    let failed = 0
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        for (let i = 0; i < total / 20; i++) {
          const body = { model: 'm', messages: [{ role: 'user', content: `call ${sent++}.` }] }
          const answer = await ask(requestTo('chat', JSON.stringify(body)))
          if (answer.status !== 200) failed++
          await new Promise((resolve) => setTimeout(resolve, 8 + (i % 6)))
        }
      }),
    )
    const twice = seen.length - new Set(seen).size
    printFigure(16, `keep-alive race: ${failed} of ${total} calls failed, ${twice} arrived twice`)
    expect([failed, twice, seen.length]).toEqual([0, 0, total])
  })

  test('send a prompt that crashes its server at most three times, however many connections break', async () => {
    let broken = 0
    const { origin } = await listening(async (req, res) => {
      let text = ''
      for await (const data of req) text += data
      if (text.includes('poison')) {
        broken++
        req.socket.resetAndDestroy()
      } else res.writeHead(200, { 'content-type': 'application/json' }).end(completion())
    })
    const upstreams = { a: upstreamOf('chat', origin), b: upstreamOf('chat', origin) }
    const ask = await started(
      createGateway({
        auth: 'none',
        upstreams,
        models: { one: 'a', two: ['a', 'b'], three: ['a', 'b', { upstream: 'a', model: 'other' }] },
        logger: false,
        breaker: false,
        retry: { budgetFloor: 100, backoffMs: 1 },
      }),
    )
    const say = (model: string, content: string): Promise<ClientResponse> =>
      ask(requestTo('chat', JSON.stringify({ model, messages: [{ role: 'user', content }] })))
    const most: number[] = []
    for (const model of ['one', 'two', 'three']) {
      // Connections with earlier responses: a reset may mean that they had been closed before.
      await Promise.all(Array.from({ length: 8 }, () => say(model, 'well')))
      broken = 0
      expect((await say(model, 'poison')).status).toBe(502)
      most.push(broken)
    }
    printFigure(20, `a reset on used connections, one to three targets: ${most.join(', ')} upstream calls`)
    expect(Math.min(...most)).toBeGreaterThanOrEqual(2)
    expect(Math.max(...most)).toBeLessThanOrEqual(3)
  })

  test('do not follow a redirect', async () => {
    let elsewhere = 0
    const target = await listening((_, res) => {
      elsewhere++
      res.writeHead(200, { 'content-type': 'application/json' }).end(completion())
    })
    for (const status of [301, 302, 303, 307, 308]) {
      const { origin } = await listening(
        (_, res) => void res.writeHead(status, { location: `${target.origin}/v1/chat/completions` }).end(),
      )
      const ask = await started(gatewayTo('chat', { baseURL: origin }))
      for (const stream of [false, true]) {
        const answer = await ask(requestTo('chat', JSON.stringify(simpleRequest('chat', stream))))
        expect(answer.status).toBe(502)
        expect(answer.headers.get('location')).toBeNull()
        expect(answer.text).not.toContain(String(target.port))
      }
    }
    printFigure(17, `5 kinds of redirects, whole and streamed: 502, ${elsewhere} followed`)
    expect(elsewhere).toBe(0)
  })

  const encodings: readonly [string, (data: Buffer) => Buffer][] = [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ...('zstdCompressSync' in zlib ? [['zstd', zlib.zstdCompressSync as (data: Buffer) => Buffer] as const] : []),
  ].map(([name, encode]) => [name as string, encode as (data: Buffer) => Buffer])

  test.each(encodings)('decode or reject a response in %s that was not requested', async (encoding, encode) => {
    const long = 'ä€😀'.repeat(5000)
    const { origin } = await listening(async (req, res) => {
      let text = ''
      for await (const data of req) text += data
      const stream = text.includes('"stream":true')
      const body = encode(Buffer.from(stream ? eventsOf([long, 'end']).join('') : completion(long)))
      res.writeHead(200, {
        'content-type': stream ? 'text/event-stream' : 'application/json',
        'content-encoding': encoding,
        'content-length': body.length,
      })
      res.end(body)
    })
    const ask = await started(gatewayTo('chat', { baseURL: origin }))
    for (const format of formats)
      for (const stream of [false, true]) {
        const answer = await ask(requestTo(format, JSON.stringify(simpleRequest(format, stream)), {}, { stream }))
        expect(answer.status).toBe(200)
        expect(answer.text).toContain(long)
        expect(answer.headers.get('content-encoding')).toBeNull()
        const length = answer.headers.get('content-length')
        if (length !== null) expect(Buffer.byteLength(answer.text)).toBe(Number(length))
      }
    printFigure(18, `${encoding}: correct bytes for ${formats.length} dialects, unstreamed and streamed`)
  })

  test("report a slow connection with its own code at the target's limit", async () => {
    // Accepts connections but never answers the TLS handshake.
    const server = createNetServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const sockets = new Set<Socket>()
    server.on('connection', (socket) => void sockets.add(socket.on('error', () => {})))
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const upstream = openai({ apiKey: 'key-of-up', baseURL: `https://127.0.0.1:${port}/v1` })
    const models = { '*': { upstream: 'up' as const, limits: { connectMs: 500 } } }
    const ask = await started(
      createGateway({ auth: 'none', upstreams: { up: upstream }, models, retry: false, logger: false }),
    )
    const from = performance.now()
    const answer = await ask(requestTo('chat', JSON.stringify(simpleRequest('chat', false))))
    const took = performance.now() - from
    printFigure(11, `no connection: ${answer.status} upstream_connect_timeout after ${took.toFixed(0)} ms of 500 ms`)
    expect(answer.status).toBe(504)
    expect(answer.text).toContain('upstream_connect_timeout')
    expect(took).toBeGreaterThan(400)
    expect(took).toBeLessThan(2000)
  })
})
