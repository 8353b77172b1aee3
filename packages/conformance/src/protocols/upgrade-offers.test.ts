import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { until } from '@modelgate/testing/test-support'
import { expect, it, onTestFinished } from 'vitest'
import { selfSigned } from '../base/certificate.ts'
import { gatewayTo } from '../base/gateways.ts'
import { realtimeServers } from './realtime-fixture.ts'

const completion = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
}
const gateway = () => gatewayTo('chat', { fetch: async () => Response.json(completion) })

const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
/** The first request of Java's HttpClient with its defaults. */
const offering = (more: string): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nHost: a\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nUpgrade: h2c\r\nUser-Agent: Java-http-client/21\r\nContent-Type: application/json\r\n${more}`
const whole = offering(`Content-Length: ${body.length}\r\n\r\n${body}`)
const chunked = offering(`Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)

const servers = [
  ...realtimeServers,
  {
    name: 'node:https',
    async start(served: ReturnType<typeof gateway>) {
      const server = createSecureServer(selfSigned('a'), nodeListener(served)).on('upgrade', nodeUpgrade(served))
      await new Promise<void>((resolve) => server.listen(0, resolve))
      return server
    },
  },
]

it.each(servers)('serves several POSTs that offer h2c on one connection: $name', async ({ name, start }) => {
  const server = await start(gateway())
  const { port } = server.address() as AddressInfo
  const socket =
    name === 'node:https' ? connectSecurely({ port, rejectUnauthorized: false }) : connect(port, 'localhost')
  onTestFinished(async () => {
    socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString()
  })
  const answered = () => text.split('HTTP/1.1 200 OK').length - 1
  for (const [index, request] of [whole, chunked, whole].entries()) {
    socket.write(request)
    await until(() => answered() > index && text.includes('hello'), `response ${index + 1} of ${name}`)
  }
  expect(text).not.toContain('404')
  // A second request, pipelined after one whose offer is ignored.
  socket.write(whole + whole)
  await until(() => answered() === 5, 'the pipelined responses')
})
