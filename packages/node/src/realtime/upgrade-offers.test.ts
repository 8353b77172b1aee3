import { createServer } from 'node:http'
import { until } from '@modelgate/testing/test-support'
import { expect, it } from 'vitest'
import { createFakeGateway, sleep } from '../testing/fake-gateway.ts'
import { dial, serve } from '../testing/server.ts'
import { nodeUpgrade } from './upgrade.ts'

/** A server that echoes its requests, with the gateway's listener for upgrades. */
const startEcho = () => {
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const { host: _, ...headers } = req.headers
    const body = JSON.stringify({ method: req.method, url: req.url, headers, body: Buffer.concat(chunks).toString() })
    res.setHeader('content-type', 'application/json').end(body)
  })
  return serve(server.on('upgrade', nodeUpgrade(createFakeGateway())))
}

const offer =
  'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n'

/** Bodies of the responses so far. */
const answers = (text: string): { method: string; url: string; headers: Record<string, string>; body: string }[] =>
  text
    .split(/HTTP\/1\.1 200 OK\r\n/)
    .slice(1)
    .map((answer) => JSON.parse(Buffer.from(answer.slice(answer.indexOf('{')), 'latin1').toString()))

const json = '{"model":"m","text":"größe"}'
const bodies: [string, string, string][] = [
  ['a content length', `content-length: ${Buffer.byteLength(json)}\r\n`, json],
  [
    'chunks',
    'transfer-encoding: chunked\r\n',
    `5\r\n${json.slice(0, 5)}\r\n${(Buffer.byteLength(json) - 5).toString(16)}\r\n${json.slice(5)}\r\n0\r\n\r\n`,
  ],
]

it.each(bodies)('serves a POST that offers h2c as an ordinary request with a body of %s', async (_, header, body) => {
  const { port } = await startEcho()
  const { socket, received } = dial(port)
  const post = `POST /v1/messages?x=%20 HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\nx-note: \xe4\r\n${offer}${header}\r\n`
  socket.write(Buffer.concat([Buffer.from(post, 'latin1'), Buffer.from(body)]))
  await until(() => answers(received()).length === 1, 'the first response')
  const [first] = answers(received())
  expect(first).toMatchObject({ method: 'POST', url: '/v1/messages?x=%20', body: json })
  expect(first?.headers).toMatchObject({ 'content-type': 'application/json', 'x-note': 'ä' })
  expect(first?.headers).not.toHaveProperty('upgrade')
  expect(first?.headers).not.toHaveProperty('http2-settings')

  socket.write(`GET /second HTTP/1.1\r\nhost: a\r\n\r\n`)
  await until(() => answers(received()).length === 2, 'the second response')
  socket.write(`GET /third HTTP/1.1\r\nhost: a\r\n${offer}\r\nGET /fourth HTTP/1.1\r\nhost: a\r\n\r\n`)
  await until(() => answers(received()).length === 4, 'the fourth response')
  expect(
    answers(received())
      .map(({ url }) => url)
      .slice(1),
  ).toEqual(['/second', '/third', '/fourth'])
})

it('serves a body that arrives in pieces long after the head that offers h2c', async () => {
  const { port } = await startEcho()
  const { socket, received } = dial(port)
  const long = JSON.stringify({ text: 'x'.repeat(300_000) })
  socket.write(`POST /v1/messages HTTP/1.1\r\nhost: a\r\n${offer}content-length: ${long.length}\r\n\r\n`)
  for (let at = 0; at < long.length; at += 50_000) {
    await sleep(5)
    socket.write(long.slice(at, at + 50_000))
  }
  await until(() => received().endsWith('}'), 'the end of the JSON body')
  expect(answers(received())[0]?.body).toBe(long)
})

it('keeps the other options of the connection header', async () => {
  const { port } = await startEcho()
  const { socket, received, closed } = dial(port)
  socket.write('GET /v1/models HTTP/1.1\r\nhost: a\r\nconnection: close, Upgrade\r\nupgrade: TLS/1.3\r\n\r\n')
  await closed
  expect(answers(received())[0]?.headers).toMatchObject({ connection: 'close' })
})

it('rejects a request whose headers Node has dropped, because the position of its body is unknown', async () => {
  const { port, server } = await startEcho()
  server.maxHeadersCount = 3
  const { socket, received, closed } = dial(port)
  socket.write(`POST /v1/messages HTTP/1.1\r\nhost: a\r\n${offer}content-length: 2\r\n\r\n{}`)
  await closed
  expect(received()).toMatch(/^HTTP\/1\.1 [45]\d\d /)
  expect(received()).not.toContain('200 OK')
})

it('responds with 404 to WebSockets on unknown paths', async () => {
  const { port } = await startEcho()
  const { socket, received, closed } = dial(port)
  socket.write('GET /elsewhere HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: h2c, WebSocket\r\n\r\n')
  await closed
  expect(received()).toMatch(/^HTTP\/1\.1 404 /)
})
