import type { IncomingMessage, ServerResponse } from 'node:http'
import * as zlib from 'node:zlib'
import { until } from '@modelgate/testing/test-support'
import { describe, expect, it } from 'vitest'
import { sleep } from '../testing/fake-gateway.ts'
import { serve } from '../testing/server.ts'
import { readAll, readers, start } from '../testing/transport.ts'

describe('an abort', () => {
  /** Counts the listeners on a signal, to check that none remains. */
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
    const { url } = await serve((req, res) => {
      got++
      open++
      res.on('close', () => open--)
      answer(req, res)
    })
    return { url, open: () => open, got: () => got }
  }

  it('before the call prevents the call', async () => {
    const { url, got } = await upstream((_req, res) => res.end())
    const { call } = start()
    await expect(call(url, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORT_ERR' })
    await sleep(30)
    expect(got()).toBe(0)
  })

  it('while connecting rejects at once and prevents the call', async () => {
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
    await until(() => got() === 1, 'the request to reach the upstream')
    controller.abort()
    await expect(calling).rejects.toMatchObject({ code: 'ABORT_ERR' })
    await until(() => open() === 0, 'all upstream connections to close')
    expect(listeners()).toBe(0)
  })

  it.each(['stream', 'bytes', 'gzip stream', 'paused'])(
    'during the body closes the connection and rejects the reader: %s',
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
      controller.abort()
      await failed
      await until(() => open() === 0, 'all upstream connections to close')
      expect(listeners()).toBe(0)
    },
  )

  it.each([
    [
      'a break out of the loop',
      async (chunks: AsyncIterable<Uint8Array>) => {
        for await (const _chunk of chunks) break
      },
    ],
    [
      'a return while a chunk is awaited',
      async (chunks: AsyncIterable<Uint8Array>) => {
        const iterator = chunks[Symbol.asyncIterator]()
        await iterator.next()
        const pending = iterator.next().catch(() => {})
        await iterator.return?.()
        await pending
      },
    ],
  ])('follows from %s, also for an encoded body', async (_name, leave) => {
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
      await until(() => open() === 0, 'all upstream connections to close')
      expect(listeners()).toBe(0)
    }
  })

  it('removes its listener from the signal of a successful call', async () => {
    const { url } = await upstream((_req, res) => res.end('{}'))
    const { call } = start()
    const { controller, listeners } = watched()
    for (const [, read] of readers) await read(await call(url, { signal: controller.signal }))
    ;(await call(url, { signal: controller.signal })).discard()
    expect(listeners()).toBe(0)
    controller.abort()
  })
})
