import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fetchTransport } from '../http/fetch-transport.ts'
import type { TransportResponse } from '../http/transport.ts'
import { awaitFirstChunk, contentLengthOf, passedHeaders } from './passed-bytes.ts'
import { createPump, isJson } from './response-body.ts'

const answering = (headers: Readonly<Record<string, string>>): TransportResponse => ({
  status: 200,
  header: (name) => headers[name],
  bytes: async () => new Uint8Array(0),
  async *stream() {},
  discard() {},
})

describe('the content length of pass-through bytes', () => {
  it.each([
    ['is the length that the upstream sent', { 'content-length': '12' }, 12],
    ['is unknown if the upstream sent none', {}, undefined],
    [
      'is the length that the upstream sent with the encoding identity',
      { 'content-length': '12', 'content-encoding': 'identity' },
      12,
    ],
    ['is unknown for an encoded body', { 'content-length': '12', 'content-encoding': 'gzip' }, undefined],
    ['is unknown for several lengths', { 'content-length': '12, 13' }, undefined],
    ['is unknown for an invalid number', { 'content-length': '1e3' }, undefined],
    ['is unknown for a negative number', { 'content-length': '-1' }, undefined],
  ] as [string, Record<string, string>, number | undefined][])('%s', (_, headers, length) => {
    expect(contentLengthOf(answering(headers))).toBe(length)
    expect(passedHeaders(answering(headers), length)['content-length']).toBe(length?.toString())
  })

  it.each(['content-length', 'content-encoding', 'transfer-encoding'])(
    'ignores the header %s of fetch, which decodes bodies',
    async (name) => {
      const transport = fetchTransport(async () => new Response('abc', { headers: { [name]: '3', 'x-own': 'y' } }))
      const response = await transport({
        url: 'http://up.test',
        method: 'GET',
        headers: {},
        signal: AbortSignal.any([]),
      })
      expect([response.header(name), response.header('x-own')]).toEqual([undefined, 'y'])
    },
  )
})

describe('the content type of pass-through bytes', () => {
  it.each([
    ['audio/mpeg', 'audio/mpeg'],
    ['text/vtt; charset=utf-8', 'text/vtt; charset=utf-8'],
    ['Audio/MPEG', 'Audio/MPEG'],
    ['audio/mpeg\r\nx-evil: 1', 'application/octet-stream'],
    ['audio/mpeg; a=\u0001', 'application/octet-stream'],
    ['audio/mpeg; a=ä', 'application/octet-stream'],
    ['nonsense', 'application/octet-stream'],
    ['', 'application/octet-stream'],
    [`audio/${'x'.repeat(500)}`, 'application/octet-stream'],
  ])('%j is forwarded as %j with nosniff', (contentType, passed) => {
    expect(passedHeaders(answering({ 'content-type': contentType }), undefined)).toEqual({
      'content-type': passed,
      'x-content-type-options': 'nosniff',
    })
  })

  it('is compared without case sensitivity', async () => {
    expect(isJson(answering({ 'content-type': 'Application/JSON' }))).toBe(true)
    await expect(awaitFirstChunk(answering({ 'content-type': 'TEXT/HTML' }), 'any')).rejects.toMatchObject({
      info: { kind: 'upstream_bad_response' },
    })
  })
})

const byte = (n: number) => new Uint8Array([n])

/** Creates a source whose results the test supplies one by one. */
function handSource() {
  const waiting: { resolve(result: IteratorResult<Uint8Array>): void; reject(error: unknown): void }[] = []
  const state = { pulls: 0, closed: 0 }
  const source: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        state.pulls++
        return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
      },
      return: async () => {
        state.closed++
        return { done: true, value: undefined }
      },
    }),
  }
  return {
    source,
    state,
    give: (n: number) => waiting.shift()?.resolve({ done: false, value: byte(n) }),
    finish: () => waiting.shift()?.resolve({ done: true, value: undefined }),
    fail: (error: unknown) => waiting.shift()?.reject(error),
  }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('pump', () => {
  it('returns a tick on timeout and resumes the same pull without loss', async () => {
    const { source, give, state } = handSource()
    const pump = createPump(source)
    const first = pump.next(100)
    await vi.advanceTimersByTimeAsync(100)
    expect(await first).toBe('tick')
    give(1)
    await vi.advanceTimersByTimeAsync(0)
    expect(await pump.next(100)).toEqual(byte(1))
    expect(state.pulls).toBe(1)
    pump.close()
  })

  it('forwards the end and errors, and stays ended', async () => {
    const one = handSource()
    const pump = createPump(one.source)
    const end = pump.next(100)
    one.finish()
    expect(await end).toBe('end')
    expect(await pump.next(100)).toBe('end')
    const two = handSource()
    const failing = createPump(two.source).next(100)
    two.fail(new Error('reset'))
    await expect(failing).rejects.toThrow('reset')
    expect(vi.getTimerCount()).toBeLessThanOrEqual(2)
  })

  it('keeps one timer for a whole stream and none after close', async () => {
    const { source, give, state } = handSource()
    const pump = createPump(source)
    for (let i = 0; i < 50; i++) {
      const next = pump.next(1000)
      give(i)
      expect(await next).toEqual(byte(i))
      expect(vi.getTimerCount()).toBe(1)
    }
    pump.close()
    expect(vi.getTimerCount()).toBe(0)
    expect(state.closed).toBe(1)
  })

  it('applies a limit that is shorter than the running timer', async () => {
    const { source } = handSource()
    const pump = createPump(source)
    const long = pump.next(10_000)
    await vi.advanceTimersByTimeAsync(10_000)
    await long
    void pump.next(10_000)
    const short = pump.next(5)
    await vi.advanceTimersByTimeAsync(5)
    expect(await short).toBe('tick')
    pump.close()
  })

  it('drains a source and closes it if it does not end in time', async () => {
    const { source, give, state } = handSource()
    const pump = createPump(source)
    const first = pump.next(100)
    give(1)
    await first
    pump.drain(1000)
    await vi.advanceTimersByTimeAsync(10)
    give(2)
    await vi.advanceTimersByTimeAsync(1000)
    expect(state.closed).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})
