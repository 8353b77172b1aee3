import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import * as zlib from 'node:zlib'
import { until } from '@modelgate/testing/test-support'
import { describe, expect, it } from 'vitest'
import { createFakeGateway, sleep } from '../testing/fake-gateway.ts'
import { dial, serve } from '../testing/server.ts'
import { nodeListener } from './handler.ts'

async function start() {
  const gateway = createFakeGateway()
  const { url, port, server } = await serve(nodeListener(gateway))
  const post = (path: string, init: RequestInit = {}) => fetch(url + path, { method: 'POST', ...init })
  return { gateway, url, port, server, post }
}

describe('whole replies', () => {
  it('sends JSON with its length and passes path, query, headers and body on unchanged', async () => {
    const { post, gateway } = await start()
    const response = await post('/v1/echo?a=%20b&c', {
      body: '{"x":"ä"}',
      headers: { 'content-type': 'application/json' },
    })
    expect(response.headers.get('content-length')).not.toBeNull()
    expect(response.headers.get('transfer-encoding')).toBeNull()
    expect(await response.json()).toEqual({
      path: '/v1/echo',
      query: 'a=%20b&c',
      type: 'application/json',
      body: '{"x":"ä"}',
      bytes: 10,
    })
    expect(gateway.seen.transports[0]).toBeTypeOf('function')
  })

  it.each([
    ['an unknown path', 'POST', '/nope', 404],
    ['a wrong method', 'GET', '/v1/echo', 405],
    ['a bodyless status', 'POST', '/v1/empty', 204],
    ['a header that cannot be sent', 'POST', '/v1/bad-header', 500],
  ])('responds to %s', async (_name, method, path, status) => {
    const { url } = await start()
    const response = await fetch(url + path, { method })
    expect(response.status).toBe(status)
    if (status === 204) expect(response.headers.get('content-length')).toBeNull()
    else expect(await response.json()).toHaveProperty('error.message')
  })

  it('sends a content-length but no body for HEAD', async () => {
    const { port } = await start()
    const { socket, received, closed } = dial(port)
    socket.write('HEAD /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    await closed
    expect(received()).toMatch(/^HTTP\/1\.1 200 .*content-length: 27\r\n.*\r\n\r\n$/is)
  })

  it('accepts an absolute URL from a client that uses the server as a proxy', async () => {
    const { port } = await start()
    const { socket, received, closed } = dial(port)
    socket.write(
      'POST http://elsewhere/v1/echo?q HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}',
    )
    await closed
    expect(received()).toContain('"path":"/v1/echo","query":"q"')
  })

  it('keeps the connection open when it responds before it has read a small body', async () => {
    const { port, gateway } = await start()
    const { socket, received } = dial(port)
    const body = 'x'.repeat(5000)
    const call = `POST /nope HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n`
    socket.write(call + body.slice(0, 10))
    await until(() => received().includes('gateway 404'), 'the first 404 of the gateway')
    socket.write(body.slice(10) + call + body)
    await until(() => received().split('gateway 404').length === 3, 'the second 404 of the gateway')
    expect(gateway.seen.inbounds).toHaveLength(2)
    expect(received()).not.toContain('connection: close')
  })
})

describe('request bodies', () => {
  it('rejects a content-length over the limit at once, sends a readable response and closes the connection', async () => {
    const { gateway, port } = await start()
    gateway.bodyLimit = 1000
    const { socket, received, closed } = dial(port)
    const begin = performance.now()
    socket.write('POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 900000000\r\n\r\nfirst bytes')
    await until(() => received().includes('request_too_large'), 'the request_too_large error')
    expect(performance.now() - begin).toBeLessThan(500)
    expect(received()).toMatch(/^HTTP\/1\.1 413 /)
    expect(received()).toMatch(/connection: close/i)
    // Many clients continue sending. The server discards that up to its limits.
    const flood = setInterval(() => socket.write('x'.repeat(1024 * 1024)), 5)
    await closed
    clearInterval(flood)
    expect(socket.bytesWritten).toBeLessThan(64 * 1024 * 1024)
  })

  it('rejects a chunked body at the first byte over the limit and sends a readable response', async () => {
    const { gateway, url } = await start()
    gateway.bodyLimit = 100_000
    let sent = 0
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await sleep(1)
        sent += 50_000
        if (sent > 1_000_000) controller.close()
        else controller.enqueue(new Uint8Array(50_000))
      },
    })
    const response = await fetch(`${url}/v1/echo`, { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect(response.status).toBe(413)
    expect(await response.json()).toMatchObject({ error: { type: 'request_too_large' } })
  })

  it('accepts a body of exactly the limit', async () => {
    const { gateway, post } = await start()
    gateway.bodyLimit = 5
    expect((await post('/v1/echo', { body: '12345' })).status).toBe(200)
    expect((await post('/v1/echo', { body: '123456' })).status).toBe(413)
  })

  it('joins a body of many chunks', async () => {
    const { port } = await start()
    const { socket, received } = dial(port)
    socket.write('POST /v1/echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
    for (const part of ['ab', 'cdé', 'f']) {
      await sleep(5)
      socket.write(`${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`)
    }
    socket.write('0\r\n\r\n')
    await until(() => Buffer.from(received(), 'latin1').toString().includes('"body":"abcdéf"'), 'the echoed body')
  })

  it.each([
    ['gzip', zlib.gzipSync],
    ['GZIP', zlib.gzipSync],
    ['deflate', zlib.deflateSync],
    ['deflate', zlib.deflateRawSync],
    ['br', zlib.brotliCompressSync],
    ['identity', (data: Buffer) => data],
  ])('decodes content-encoding %s', async (encoding, encode) => {
    const { post } = await start()
    const headers = { 'content-encoding': encoding }
    const response = await post('/v1/echo', { body: new Uint8Array(encode(Buffer.from('{"a":1}'))), headers })
    expect(await response.json()).toMatchObject({ body: '{"a":1}' })
  })

  it.each([
    ['a decompression bomb', 'gzip', zlib.gzipSync(Buffer.alloc(5_000_000)), 413],
    ['broken data', 'gzip', Buffer.from('no gzip'), 400],
    ['truncated data', 'br', zlib.brotliCompressSync(Buffer.from('{"a":1}'.repeat(99))).subarray(0, 20), 400],
    ['an unknown encoding', 'compress', Buffer.from('x'), 415],
    ['several encodings', 'gzip, br', Buffer.from('x'), 415],
    ['the name of an inherited property', 'constructor', Buffer.from('x'), 415],
  ])('rejects %s', async (_name, encoding, body, status) => {
    const { post } = await start()
    const response = await post('/v1/echo', { body: new Uint8Array(body), headers: { 'content-encoding': encoding } })
    expect(response.status).toBe(status)
    if (status === 415) expect(response.headers.get('accept-encoding')).toContain('gzip')
  })

  it('stops reading a body when its client disconnects', async () => {
    const { gateway, port } = await start()
    const { socket } = dial(port)
    socket.write('POST /v1/echo HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf')
    await until(() => gateway.seen.inbounds.length === 1, 'the request to reach the gateway')
    socket.destroy()
    await until(() => gateway.seen.aborts.length === 1, 'the abort of the call')
    await expect(gateway.seen.inbounds[0]?.read(1000)).rejects.toMatchObject({ info: { kind: expect.any(String) } })
  })

  it('reads a missing body as empty', async () => {
    const { url } = await start()
    expect(await (await fetch(`${url}/v1/echo`, { method: 'POST' })).json()).toMatchObject({ bytes: 0 })
  })
})

describe('streams', () => {
  it('sends the headers at once and each chunk when it arrives', async () => {
    const { post } = await start()
    const begin = performance.now()
    const response = await post('/v1/stream', { body: '{}' })
    const times: number[] = []
    let text = ''
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      times.push(performance.now() - begin)
      text += Buffer.from(chunk).toString()
    }
    expect(text).toBe('data: 0\n\ndata: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\n')
    expect(times.length).toBe(5)
    expect((times[4] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(120)
  })

  it('pulls no faster than the client reads and resumes when it reads again', async () => {
    const { gateway, port } = await start()
    const socket = connect(port, '127.0.0.1')
    socket.write('POST /v1/endless HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n')
    socket.pause()
    await until(() => gateway.seen.pulled > 0, 'the first chunk of the stream to be read')
    await sleep(300)
    const stalled = gateway.seen.pulled
    await sleep(200)
    // The kernel's buffers of both ends hold some chunks, and one is pending.
    expect(gateway.seen.pulled - stalled).toBeLessThanOrEqual(1)
    expect(gateway.seen.pulled * 64).toBeLessThan(16 * 1024)
    socket.resume()
    await until(() => gateway.seen.pulled > stalled + 20, '20 more chunks after the stall')
    socket.destroy()
    await until(() => gateway.seen.returned === 1, 'the stream to be closed')
  })

  it('closes the connection when the body throws, so that no client treats it as complete', async () => {
    const { port } = await start()
    const { socket, received, closed } = dial(port)
    socket.write('POST /v1/broken HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}')
    await closed
    expect(received()).toContain('data: 0\n\n')
    // The last chunk of a complete body is empty.
    expect(received()).not.toContain('\r\n0\r\n')
  })
})

describe('a client that disconnects', () => {
  const leave = (path: string, when: (res: IncomingMessage | undefined) => boolean) =>
    it(`aborts the signal: ${path}`, async () => {
      const { gateway, port, server } = await start()
      for (let round = 1; round <= 20; round++) {
        const client = httpRequest({ port, path, method: 'POST', agent: false })
        let response: IncomingMessage | undefined
        client.on('response', (res) => {
          response = res.on('error', () => {})
          res.once('data', () => {})
        })
        client.on('error', () => {})
        client.end('{}')
        await until(
          () => gateway.seen.inbounds.length === round && when(response),
          `request ${round} to reach the moment at which the client disconnects`,
        )
        client.destroy()
        await until(() => gateway.seen.aborts.length === round, `abort ${round}`)
      }
      if (path !== '/v1/hang') await until(() => gateway.seen.returned === 20, 'all 20 streams to be closed')
      await until(() => connections(server) === 0, 'all client connections to close')
    })
  const connections = (server: {
    getConnections(done: (error: Error | null, count: number) => void): void
  }): number => {
    let count = 0
    server.getConnections((_error, found) => {
      count = found
    })
    return count
  }
  leave('/v1/hang', () => true)
  leave('/v1/endless', (response) => response !== undefined)
  leave('/v1/stream', (response) => response !== undefined)

  it('aborts the signal of a pipelined request, which has no response socket yet', async () => {
    const { gateway, port } = await start()
    const { socket } = dial(port)
    const call = 'POST /v1/hang HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n'
    socket.write(call + call)
    await until(() => gateway.seen.inbounds.length === 2, 'both requests to reach the gateway')
    socket.destroy()
    await until(() => gateway.seen.aborts.length === 2, 'the abort of both calls')
  })

  it('does not abort the signal when the client closes after the last byte', async () => {
    const { gateway, post } = await start()
    const response = await post('/v1/stream', { body: '{}', headers: { connection: 'close' } })
    await response.text()
    await sleep(50)
    expect(gateway.seen.aborts).toEqual([])
    expect(gateway.seen.returned).toBe(0)
  })
})

describe('a listener under a host that has already handled the request', () => {
  it.each([
    ['rawBody as bytes', { rawBody: Buffer.from('{"big":12345678901234567890}') }, '{"big":12345678901234567890}'],
    ['rawBody as text', { rawBody: '{"a":1}' }, '{"a":1}'],
    ['a parsed object', { body: { a: [1, 'ä'] } }, '{"a":[1,"ä"]}'],
    ['a string', { body: '{"a":1}' }, '{"a":1}'],
    ['bytes', { body: Buffer.from('{"a":1}') }, '{"a":1}'],
  ])('uses a body that was read before: %s', async (_name, fields, expected) => {
    const gateway = createFakeGateway()
    const listener = nodeListener(gateway)
    const { url } = await serve((req, res) => {
      req.resume().on('end', () => setTimeout(() => listener(Object.assign(req, fields), res), 5))
    })
    const response = await fetch(`${url}/v1/echo`, { method: 'POST', body: 'what was sent' })
    expect(await response.json()).toMatchObject({ body: expected })
  })

  it.each([
    ['no parser kept the body', {}, 500, 'internal'],
    ['the kept body is too large', { body: 'x'.repeat(2_000_000) }, 413, 'request_too_large'],
    ['the kept body is too deep to be serialised', { body: deep(20_000) }, 400, 'invalid_request'],
  ])('reports an error if %s', async (_name, fields, status, type) => {
    const gateway = createFakeGateway()
    const listener = nodeListener(gateway)
    const { url } = await serve((req, res) => {
      req.resume().on('end', () => listener(Object.assign(req, fields), res))
    })
    const response = await fetch(`${url}/v1/echo`, { method: 'POST', body: 'what was sent' })
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { type } })
  })

  it('reads the stream if a parser set an empty object on a request that it did not read', async () => {
    const gateway = createFakeGateway()
    const listener = nodeListener(gateway)
    const { url } = await serve((req, res) => listener(Object.assign(req, { body: {} }), res))
    const response = await fetch(`${url}/v1/echo`, { method: 'POST', body: '{"a":1}' })
    expect(await response.json()).toMatchObject({ body: '{"a":1}' })
  })
})

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = [value]
  return value
}
