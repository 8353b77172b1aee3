import type { Socket } from 'node:net'
import * as zlib from 'node:zlib'
import { until } from '@modelgate/testing/test-support'
import { describe, expect, it } from 'vitest'
import { sleep } from '../testing/fake-gateway.ts'
import { serve } from '../testing/server.ts'
import { readers, serveRaw, start, text } from '../testing/transport.ts'

describe('a body', () => {
  it('is streamed chunk by chunk', async () => {
    const { url } = await serve(async (_req, res) => {
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
    // The first and the last chunk are 120 ms apart, but on a busy machine the first may be late. Buffered chunks would arrive at once.
    expect((times[3] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(40)
  })

  it('is read no faster than its reader consumes it', async () => {
    let written = 0
    let blocked = false
    const { url } = await serve((_req, res) => {
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
    await until(() => blocked, 'the upload to block on back-pressure')
    await sleep(200)
    const stalled = written
    await sleep(200)
    expect(written).toBe(stalled)
    expect(stalled).toBeLessThan(20_000_000)
    for (let read = 0; read < stalled + 10_000_000; ) read += (await chunks.next()).value?.length ?? 0
    expect(written).toBeGreaterThan(stalled)
    await chunks.return?.()
  })

  it.each(readers)('arrives complete however long its reader waits: %s', async (_name, read) => {
    const body = 'x'.repeat(300_000)
    const { url } = await serve((_req, res) => res.end(body))
    const { call } = start()
    const answer = await call(url)
    await sleep(100)
    expect(await read(answer)).toBe(body)
  })

  it.each([
    ['announced', true],
    ['unannounced', false],
    ['bomb', false],
  ])('that exceeds the limit is rejected and its connection is closed: %s', async (kind, announced) => {
    let closed = false
    const { url } = await serve((_req, res) => {
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
    await until(() => closed, 'the upstream connection to close')
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
    const { url } = await serve((_req, res) => {
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

  it('in gzip is passed on event by event', async () => {
    const { url } = await serve(async (_req, res) => {
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

  it.each(readers)('in an unknown encoding causes an error: %s', async (_name, read) => {
    const { url } = await serve((_req, res) => res.writeHead(200, { 'content-encoding': 'constructor' }).end('x'))
    const { call } = start()
    await expect(read(await call(url))).rejects.toMatchObject({ code: 'ERR_CONTENT_ENCODING' })
  })

  it.each(readers)('in more than five encodings causes an error: %s', async (_name, read) => {
    const layers = (count: number): Buffer => (count === 0 ? Buffer.from('x') : zlib.gzipSync(layers(count - 1)))
    const { url } = await serve((req, res) => {
      const count = Number(req.url?.slice(1))
      res.writeHead(200, { 'content-encoding': Array(count).fill('gzip').join(', ') }).end(layers(count))
    })
    const { call } = start()
    expect(await read(await call(`${url}/5`))).toBe('x')
    await expect(read(await call(`${url}/6`))).rejects.toMatchObject({ code: 'ERR_CONTENT_ENCODING' })
  })

  it('that is empty needs no decoding', async () => {
    const { url } = await serve((_req, res) => res.writeHead(204, { 'content-encoding': 'gzip' }).end())
    const { call } = start()
    for (const [, read] of readers) expect(await read(await call(url))).toBe('')
  })
})

describe('a truncated body', () => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'
  const cuts: [string, (socket: Socket) => void][] = [
    ['FIN before the content-length', (s) => s.end(`${head}content-length: 100\r\n\r\nhalf`)],
    [
      'RST before the content-length',
      (s) => s.write(`${head}content-length: 100\r\n\r\nhalf`, () => setTimeout(() => s.resetAndDestroy(), 20)),
    ],
    ['FIN between chunks', (s) => s.end(`${head}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`)],
    ['FIN within a chunk', (s) => s.end(`${head}transfer-encoding: chunked\r\n\r\n9\r\nhalf`)],
    [
      'FIN between chunks with connection: close',
      (s) => s.end(`${head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`),
    ],
    ['garbage between chunks', (s) => s.write(`${head}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz`)],
    [
      'RST of a body without a length',
      (s) => s.write(`${head}connection: close\r\n\r\nhalf`, () => setTimeout(() => s.resetAndDestroy(), 20)),
    ],
    [
      'truncated gzip in a complete body',
      (s) => {
        s.write(`${head}content-encoding: gzip\r\ncontent-length: 20\r\n\r\n`)
        s.write(zlib.gzipSync(Buffer.from('half'.repeat(1000))).subarray(0, 20))
      },
    ],
  ]
  it.each(cuts.flatMap(([name, cut]) => readers.map(([how, read]) => [name, how, cut, read] as const)))(
    'causes an error: %s (%s)',
    async (_name, _how, cut, read) => {
      const { url } = await serveRaw(cut)
      const { call } = start()
      await expect(call(url).then((answer) => read(answer))).rejects.toBeInstanceOf(Error)
    },
  )

  it('passes on the bytes before the cut', async () => {
    const { url } = await serveRaw((socket) => socket.end(`${head}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`))
    const { call } = start()
    let got = ''
    const read = async () => {
      for await (const chunk of (await call(url)).stream()) got += text(chunk)
    }
    await expect(read()).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' })
    expect(got).toBe('half')
  })

  it('accepts the end of the connection as the end of a body without a length', async () => {
    const { url } = await serveRaw((socket) => socket.end(`${head}connection: close\r\n\r\nwhole`))
    const { call } = start()
    for (const [, read] of readers) expect(await read(await call(url))).toBe('whole')
  })
})
