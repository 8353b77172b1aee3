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
