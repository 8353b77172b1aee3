import { describe, expect, it } from 'vitest'
import { createCanceller } from '../base/async.ts'
import { fetchTransport } from './fetch-transport.ts'
import type { TransportRequest } from './transport.ts'

const close = { connection: 'close' }

/** Returns these responses to calls in turn, and records the sent requests. */
function answering(...responses: (() => Response)[]) {
  const sent: string[] = []
  const transport = fetchTransport(async (_url, init) => {
    sent.push(await new Response(init?.body ?? null).text())
    const response = responses[sent.length - 1]
    if (response === undefined) throw new TypeError('fetch failed')
    return response()
  })
  const call = (more: Partial<TransportRequest> = {}) =>
    transport({
      url: 'http://upstream.test/',
      method: 'POST',
      headers: {},
      body: 'hello',
      signal: createCanceller(),
      ...more,
    })
  return { sent, call }
}

const delayed =
  (headers: Record<string, string> = close) =>
  () =>
    new Response('late', { status: 408, headers })
const good = () => new Response('{}')

describe('a 408 that closes the connection', () => {
  it('is retried once, because the server has not read the request', async () => {
    const { sent, call } = answering(delayed(), good)
    const response = await call()
    expect([response.status, response.resent]).toEqual([200, true])
    expect(new TextDecoder().decode(await response.bytes(10))).toBe('{}')
    expect(sent).toEqual(['hello', 'hello'])
  })

  it('is retried with a streamed body', async () => {
    const { sent, call } = answering(delayed(), good)
    const body: AsyncIterable<Uint8Array> = {
      async *[Symbol.asyncIterator]() {
        yield new TextEncoder().encode('hello')
      },
    }
    expect((await call({ body })).status).toBe(200)
    expect(sent).toEqual(['hello', 'hello'])
  })

  it('is returned if the retry fails in the same way', async () => {
    const { sent, call } = answering(delayed(), delayed(), good)
    expect(await call()).toMatchObject({ status: 408, resent: true })
    expect(sent).toHaveLength(2)
  })

  it('marks the failure of the retry', async () => {
    await expect(answering(delayed()).call()).rejects.toMatchObject({ message: 'fetch failed', resent: true })
  })

  it.each<[string, () => Response, Partial<TransportRequest>, number]>([
    ['if the call may not be sent again', delayed(), { resend: false }, 408],
    ['without `connection: close`', delayed({}), {}, 408],
    ['with another status', () => new Response('', { status: 503, headers: close }), {}, 503],
  ])('is not retried %s', async (_name, first, more, status) => {
    const { sent, call } = answering(first, good)
    const response = await call(more)
    expect([response.status, response.resent]).toEqual([status, undefined])
    expect(sent).toHaveLength(1)
  })
})
