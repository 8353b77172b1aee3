import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import * as zlib from 'node:zlib'
import type { TransportRequest, TransportResponse } from '@modelgate/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sleep, until } from './testing/fake-gateway.ts'
import { serve } from './testing/server.ts'
import { type UndiciTransportOptions, undiciTransport } from './undici-transport.ts'

function start(options?: UndiciTransportOptions) {
  const transport = undiciTransport(options)
  onTestFinished(() => transport.close())
  const call = (url: string, rest: Partial<TransportRequest> = {}) =>
    transport({ url, method: 'POST', headers: {}, body: '{}', signal: new AbortController().signal, ...rest })
  return { transport, call }
}

/** A server that answers each request on the bare socket. */
function serveRaw(onRequest: (socket: Socket, request: number) => void) {
  let requests = 0
  let connections = 0
  const server = createServer()
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    connections++
    socket.on('error', () => {})
    socket.on('data', () => onRequest(socket, ++requests))
  })
  return serve(server).then((served) => ({ ...served, requests: () => requests, connections: () => connections }))
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()

async function readAll(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  return Buffer.concat(all).toString()
}

/** Both ways of reading a body must tell the same truth. */
const readers: [string, (answer: TransportResponse) => Promise<string>][] = [
  ['bytes', async (answer) => text(await answer.bytes(1e6))],
  ['stream', (answer) => readAll(answer.stream())],
]

const listen = (listener: RequestListener) => serve(listener)

describe('a call', () => {
  it('sends method, path, query, headers and body, and asks for a plain answer', async () => {
    const { url } = await listen(async (req, res) => {
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

  it('leaves accept-encoding to a caller that sets it', async () => {
    const { url } = await listen((req, res) => res.end(req.headers['accept-encoding']))
    const { call } = start()
    expect(text(await (await call(url, { headers: { 'accept-encoding': 'br' } })).bytes(100))).toBe('br')
  })

  it('does not follow redirects', async () => {
    let calls = 0
    const { url } = await listen((_req, res) => {
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
})

describe('a body', () => {
  it('is streamed as it comes', async () => {
    const { url } = await listen(async (_req, res) => {
      for (let i = 0; i < 4; i++) {
        res.write(`data: ${i}\n\n`)
        await sleep(40)
      }
      res.end()
    })
    const { call } = start()
    const times: number[] = []
    for await (const chunk of (await call(url)).stream()) if (chunk.length > 0) times.push(performance.now())
    expect(times).toHaveLength(4)
    expect((times[3] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(100)
  })

  it('is not read ahead of its reader', async () => {
    let written = 0
    let blocked = false
    const { url } = await listen((_req, res) => {
      const write = (): void => {
        while (written < 200_000_000) {
          written += 65536
          if (!res.write(Buffer.alloc(65536, 97))) {
            blocked = true
            res.once('drain', write)
            return
          }
        }
        res.end()
      }
      write()
    })
    const { call } = start()
    const chunks = (await call(url)).stream()[Symbol.asyncIterator]()
    await until(() => blocked)
    await sleep(200)
    const stalled = written
    await sleep(200)
    expect(written).toBe(stalled)
    expect(stalled).toBeLessThan(20_000_000)
    for (let read = 0; read < stalled + 10_000_000; ) read += (await chunks.next()).value?.length ?? 0
    expect(written).toBeGreaterThan(stalled)
    await chunks.return?.()
  })

  it.each(readers)('arrives whole however long its reader waits: %s', async (_name, read) => {
    const body = 'x'.repeat(300_000)
    const { url } = await listen((_req, res) => res.end(body))
    const { call } = start()
    const answer = await call(url)
    await sleep(100)
    expect(await read(answer)).toBe(body)
  })

  it.each([
    ['announced', true],
    ['unannounced', false],
    ['bomb', false],
  ])('larger than the limit is refused and its connection closed: %s', async (kind, announced) => {
    let closed = false
    const { url } = await listen((_req, res) => {
      res.on('close', () => {
        closed = true
      })
      if (kind === 'bomb')
        res.writeHead(200, { 'content-encoding': 'gzip' }).write(zlib.gzipSync(Buffer.alloc(5_000_000)))
      else {
        if (announced) res.setHeader('content-length', 5_000_000)
        res.write('x'.repeat(announced ? 10 : 200_000))
      }
    })
    const { call } = start()
    await expect((await call(url)).bytes(100_000)).rejects.toMatchObject({ info: { kind: 'upstream_bad_response' } })
    await until(() => closed)
  })

  it.each([
    ['gzip', zlib.gzipSync],
    ['deflate', zlib.deflateSync],
    ['deflate', zlib.deflateRawSync],
    ['br', zlib.brotliCompressSync],
    ['gzip, br', (data: Buffer) => zlib.brotliCompressSync(zlib.gzipSync(data))],
    ...('zstdCompressSync' in zlib
      ? [['zstd', zlib.zstdCompressSync as (data: Buffer) => Buffer] as [string, (data: Buffer) => Buffer]]
      : []),
  ])('in %s is decoded', async (encoding, encode) => {
    const plain = JSON.stringify({ text: 'ä'.repeat(100_000) })
    const { url } = await listen((_req, res) => {
      const body = encode(Buffer.from(plain))
      res.writeHead(200, { 'content-encoding': encoding, 'content-length': body.length }).end(body)
    })
    const { call } = start()
    for (const [, read] of readers) {
      const answer = await call(url)
      expect(answer.header('content-encoding')).toBeUndefined()
      expect(answer.header('content-length')).toBeUndefined()
      expect(await read(answer)).toBe(plain)
    }
  })

  it('in gzip is handed over event by event', async () => {
    const { url } = await listen(async (_req, res) => {
      res.writeHead(200, { 'content-encoding': 'gzip' })
      const gzip = zlib.createGzip()
      gzip.pipe(res)
      for (let i = 0; i < 3; i++) {
        gzip.write(`data: ${i}\n\n`)
        gzip.flush()
        await sleep(60)
      }
      gzip.end()
    })
    const { call } = start()
    const seen: [string, number][] = []
    for await (const chunk of (await call(url)).stream()) seen.push([text(chunk), performance.now()])
    expect(seen.map(([event]) => event)).toEqual(['data: 0\n\n', 'data: 1\n\n', 'data: 2\n\n'])
    expect((seen[2]?.[1] ?? 0) - (seen[0]?.[1] ?? 0)).toBeGreaterThan(80)
  })

  it.each(readers)('in an unknown encoding is an error: %s', async (_name, read) => {
    const { url } = await listen((_req, res) => res.writeHead(200, { 'content-encoding': 'constructor' }).end('x'))
    const { call } = start()
    await expect(read(await call(url))).rejects.toMatchObject({ code: 'ERR_CONTENT_ENCODING' })
  })

  it('that is missing needs no decoding', async () => {
    const { url } = await listen((_req, res) => res.writeHead(204, { 'content-encoding': 'gzip' }).end())
    const { call } = start()
    for (const [, read] of readers) expect(await read(await call(url))).toBe('')
  })
})

describe('a truncated body is an error, never an end', () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'
  const cuts: [string, (socket: Socket) => void][] = [
    ['content-length short, FIN', (s) => s.end(`${head}content-length: 100\r\n\r\nhalf`)],
    [
      'content-length short, RST',
      (s) => s.write(`${head}content-length: 100\r\n\r\nhalf`, () => setTimeout(() => s.resetAndDestroy(), 20)),
    ],
    ['chunked, between chunks', (s) => s.end(`${head}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`)],
    ['chunked, within a chunk', (s) => s.end(`${head}transfer-encoding: chunked\r\n\r\n9\r\nhalf`)],
    [
      'chunked, connection: close',
      (s) => s.end(`${head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`),
    ],
    ['chunked, garbage', (s) => s.write(`${head}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz`)],
    [
      'until close, RST',
      (s) => s.write(`${head}connection: close\r\n\r\nhalf`, () => setTimeout(() => s.resetAndDestroy(), 20)),
    ],
    [
      'gzip cut short with a proper end',
      (s) => {
        s.write(`${head}content-encoding: gzip\r\ncontent-length: 20\r\n\r\n`)
        s.write(zlib.gzipSync(Buffer.from('half'.repeat(1000))).subarray(0, 20))
      },
    ],
  ]
  it.each(cuts.flatMap(([name, cut]) => readers.map(([how, read]) => [name, how, cut, read] as const)))(
    '%s (%s)',
    async (_name, _how, cut, read) => {
      const { url } = await serveRaw(cut)
      const { call } = start()
      await expect(call(url).then((answer) => read(answer))).rejects.toBeInstanceOf(Error)
    },
  )

  it('hands over what came before the cut', async () => {
    const { url } = await serveRaw((socket) => socket.end(`${head}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`))
    const { call } = start()
    let got = ''
    const read = async () => {
      for await (const chunk of (await call(url)).stream()) got += text(chunk)
    }
    await expect(read()).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' })
    expect(got).toBe('half')
  })

  it('but a body without a length does end with its connection', async () => {
    const { url } = await serveRaw((socket) => socket.end(`${head}connection: close\r\n\r\nwhole`))
    const { call } = start()
    for (const [, read] of readers) expect(await read(await call(url))).toBe('whole')
  })
})

describe('an abort', () => {
  /** Counts the listeners on a signal, to see that none is left. */
  function watched() {
    const controller = new AbortController()
    let listeners = 0
    const { signal } = controller
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }
    return { controller, listeners: () => listeners }
  }

  async function upstream(answer: (req: IncomingMessage, res: ServerResponse) => void) {
    let open = 0
    let got = 0
    const { url } = await listen((req, res) => {
      got++
      open++
      res.on('close', () => open--)
      answer(req, res)
    })
    return { url, open: () => open, got: () => got }
  }

  it('before the call is made: it is not made', async () => {
    const { url, got } = await upstream((_req, res) => res.end())
    const { call } = start()
    await expect(call(url, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORT_ERR' })
    await sleep(30)
    expect(got()).toBe(0)
  })

  it('while connecting rejects at once, and the call is not made later', async () => {
    const { url, got } = await upstream((_req, res) => res.end())
    const { call } = start()
    const { controller, listeners } = watched()
    const calling = call(url, { signal: controller.signal })
    controller.abort()
    await expect(calling).rejects.toMatchObject({ code: 'ABORT_ERR' })
    expect(listeners()).toBe(0)
    await sleep(50)
    expect(got()).toBe(0)
  })

  it('before the headers closes the connection', async () => {
    const { url, open, got } = await upstream(() => {})
    const { call } = start()
    const { controller, listeners } = watched()
    const calling = call(url, { signal: controller.signal })
    calling.catch(() => {})
    await until(() => got() === 1)
    const begin = performance.now()
    controller.abort()
    await expect(calling).rejects.toMatchObject({ code: 'ABORT_ERR' })
    await until(() => open() === 0)
    expect(performance.now() - begin).toBeLessThan(100)
    expect(listeners()).toBe(0)
  })

  it.each(['stream', 'bytes', 'gzip stream', 'paused'])(
    'in mid-body closes the connection and rejects the reader: %s',
    async (kind) => {
      const { url, open } = await upstream((_req, res) => {
        if (kind.startsWith('gzip')) {
          res.writeHead(200, { 'content-encoding': 'gzip' })
          const gzip = zlib.createGzip()
          gzip.pipe(res)
          gzip.write('first')
          gzip.flush()
        } else res.write(kind === 'paused' ? 'x'.repeat(5_000_000) : 'first')
      })
      const { call } = start()
      const { controller, listeners } = watched()
      const answer = await call(url, { signal: controller.signal })
      if (kind === 'paused') await sleep(50)
      const reading: Promise<unknown> = kind === 'bytes' ? answer.bytes(100) : readAll(answer.stream())
      const failed = expect(reading).rejects.toBeInstanceOf(Error)
      await sleep(30)
      const begin = performance.now()
      controller.abort()
      await failed
      await until(() => open() === 0)
      expect(performance.now() - begin).toBeLessThan(100)
      expect(listeners()).toBe(0)
    },
  )

  it.each([
    [
      'leaving the loop',
      async (chunks: AsyncIterable<Uint8Array>) => {
        for await (const _chunk of chunks) break
      },
    ],
    [
      'return while a chunk is awaited',
      async (chunks: AsyncIterable<Uint8Array>) => {
        const iterator = chunks[Symbol.asyncIterator]()
        await iterator.next()
        const pending = iterator.next().catch(() => {})
        await iterator.return?.()
        await pending
      },
    ],
  ])('is what %s does, also of an encoded body', async (_name, leave) => {
    for (const encoded of [false, true]) {
      const { url, open } = await upstream((_req, res) => {
        if (encoded) res.setHeader('content-encoding', 'gzip')
        const out = encoded ? zlib.createGzip() : res
        if (out !== res) out.pipe(res)
        out.write('first')
        if ('flush' in out) out.flush()
        else res.flushHeaders()
      })
      const { call } = start()
      const { controller, listeners } = watched()
      await leave((await call(url, { signal: controller.signal })).stream())
      await until(() => open() === 0)
      expect(listeners()).toBe(0)
    }
  })

  it('leaves no listener behind on calls that end well', async () => {
    const { url } = await upstream((_req, res) => res.end('{}'))
    const { call } = start()
    const { controller, listeners } = watched()
    for (const [, read] of readers) await read(await call(url, { signal: controller.signal }))
    ;(await call(url, { signal: controller.signal })).discard()
    expect(listeners()).toBe(0)
    controller.abort()
  })
})

describe('the connection', () => {
  /** A connection can serve again after a turn of the event loop. */
  const rest = () => sleep(2)
  const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'

  it('serves one call after the other', async () => {
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
  ])('that was %s while a call was on its way is replaced, once', async (_name, die) => {
    const { url, requests, connections } = await serveRaw((socket, request) => {
      // The second request finds the connection dying.
      if (request === 2) die(socket)
      else socket.write(ok)
    })
    const { call } = start()
    await (await call(url)).bytes(10)
    await rest()
    expect(text(await (await call(url)).bytes(10))).toBe('{}')
    expect([requests(), connections()]).toEqual([3, 2])
  })

  it('is replaced once only', async () => {
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
    ['it is fresh', {}, (socket: Socket) => socket.resetAndDestroy(), false],
    [
      'an answer had begun',
      {},
      (socket: Socket) => socket.write('HTTP/1.1 20', () => setTimeout(() => socket.resetAndDestroy(), 20)),
      true,
    ],
    ['it is switched off', { retryStale: false }, (socket: Socket) => socket.resetAndDestroy(), true],
  ])('is not replaced where %s', async (_name, options, die, warm) => {
    const { url, requests } = await serveRaw((socket, request) => {
      if (warm && request === 1) socket.write(ok)
      else die(socket)
    })
    const { call } = start(options)
    if (warm) await (await call(url)).bytes(10).then(rest)
    await expect(call(url)).rejects.toBeInstanceOf(Error)
    expect(requests()).toBe(warm ? 2 : 1)
  })

  it('survives the keep-alive race: no call fails, none arrives twice', async () => {
    const ids: string[] = []
    const server = createServer((req, res) => {
      ids.push(String(req.headers['x-id']))
      // Said by hand, so that node adds no hint of its timeout: the client would avoid the race.
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

  it('waits for one of a limited number', async () => {
    let open = 0
    let most = 0
    const { url } = await listen((_req, res) => {
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
