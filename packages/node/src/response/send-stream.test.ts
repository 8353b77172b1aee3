import type { PulledBody } from '@modelgate/core'
import { until } from '@modelgate/testing/test-support'
import { expect, it } from 'vitest'
import { dial, serve } from '../testing/server.ts'
import { sendReply } from './send-reply.ts'

/** Serves a body of these chunks with these headers, and reports whether the body was closed. */
async function serving(headers: Record<string, string>, chunks: readonly string[]) {
  let isClosed = false
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for (const chunk of chunks) yield Buffer.from(chunk)
    } finally {
      isClosed = true
    }
  }
  const { port } = await serve((req, res) => {
    // A gateway responds once it has read the request.
    setImmediate(() => sendReply(req, res, { status: 200, headers: { ...headers }, body: body() }))
  })
  const { socket, received, closed } = dial(port)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  return { socket, received, closed, isClosed: () => isClosed }
}

const bodyOf = (response: string): string => response.slice(response.indexOf('\r\n\r\n') + 4)

it.each([
  ['more bytes than its content-length', ['abc', 'HTTP/1.1 200 OK'], 'abc'],
  ['more bytes in its first chunk', ['abcHTTP/1.1 200 OK'], ''],
  ['more bytes after some chunks', ['a', 'b', 'c', 'd'], 'abc'],
  ['fewer bytes than its content-length', ['a'], 'a'],
  ['no bytes', [], ''],
])('closes the connection when a body has %s', async (_, chunks, sent) => {
  for (const name of ['content-length', 'Content-Length']) {
    const { received, closed, isClosed } = await serving({ [name]: '3' }, chunks)
    await closed
    expect(bodyOf(received())).toBe(sent)
    expect(isClosed()).toBe(true)
  }
})

it('continues if the response of a host returns nothing from `write` and never drains', async () => {
  const { port } = await serve((req, res) => {
    const write = res.write.bind(res)
    res.write = ((chunk: Uint8Array) => void write(chunk)) as unknown as typeof res.write
    async function* body(): AsyncGenerator<Uint8Array> {
      for (const chunk of ['a', 'b', 'c']) yield Buffer.from(chunk)
    }
    sendReply(req, res, { status: 200, headers: { 'content-length': '3' }, body: body() })
  })
  const { socket, received } = dial(port)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => bodyOf(received()) === 'abc', 'the whole body to arrive')
})

it('keeps the connection open when a body is as long as its content-length', async () => {
  const { socket, received } = await serving({ 'content-length': '3' }, ['a', 'bc'])
  await until(() => bodyOf(received()) === 'abc', 'the whole body to arrive')
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(
    () => received().endsWith('\r\n\r\nabc') && received().split('HTTP/1.1 200').length === 3,
    'the second response on the connection',
  )
})

it('sends the last chunk together with the end, and does not pull again', async () => {
  const writes: string[] = []
  let pulls = 0
  const { port } = await serve((req, res) => {
    const { write, end } = res
    res.write = ((chunk: Uint8Array) => {
      writes.push('write')
      return write.call(res, chunk, 'utf8')
    }) as unknown as typeof res.write
    res.end = ((chunk?: Uint8Array) => {
      writes.push(`end with ${chunk?.length ?? 0} bytes`)
      return end.call(res, chunk, 'utf8')
    }) as unknown as typeof res.end
    const body: PulledBody = {
      pull(sink) {
        pulls++
        const value = Buffer.alloc(pulls === 1 ? 10 : 50_000, 'a')
        sink.onResult(pulls === 1 ? { done: false, value } : { done: false, value, isLast: true })
      },
      async *[Symbol.asyncIterator]() {},
    }
    sendReply(req, res, { status: 200, headers: { 'content-length': '50010' }, body })
  })
  const { socket, received } = dial(port)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => bodyOf(received()).length === 50_010, 'the whole body to arrive')
  expect(writes).toEqual(['write', 'end with 50000 bytes'])
  expect(pulls).toBe(2)
})
