import { type AddressInfo, createServer, type Server } from 'node:net'
import { createGateway, openai } from '@modelgate/core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Running, servers } from '../base/servers.ts'
import { wholeResponse } from '../base/upstream-responses.ts'
import { cutResponses, hostileResponses, judgeResponses, keptAlive, sendInTurn } from './response-splitting.ts'

const audio = 'HTTP/1.1 200 OK\r\ncontent-type: audio/mpeg\r\ncontent-length: 3\r\n\r\nabc'

/** Returns the hostile response that a request to `/audio/speech` names, and ordinary responses otherwise. */
const upstream: Server = createServer((socket) => {
  let received = ''
  socket.on('error', () => {})
  socket.on('data', (part) => {
    received += part.toString('latin1')
    const [, length = '0'] = /content-length: (\d+)/i.exec(received) ?? []
    const bodyAt = received.indexOf('\r\n\r\n') + 4
    if (bodyAt < 4 || received.length < bodyAt + Number(length)) return
    const { input } = JSON.parse(received.slice(bodyAt)) as { input?: string }
    received = ''
    const text = JSON.stringify(wholeResponse.chat)
    const good = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`
    socket.end(input === undefined ? good : (hostileResponses[input] ?? audio))
  })
})
// @hono/node-server logs the error of a truncated body.
beforeAll(() => void vi.spyOn(console, 'error').mockImplementation(() => {}))
beforeAll(() => new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve)))
afterAll(() => {
  upstream.close()
  vi.restoreAllMocks()
})

const listening = servers.filter(({ name }) => name !== 'in process')
const transports = { 'the adapter’s transport': {}, 'globalThis.fetch': { fetch: globalThis.fetch } }

describe.each(Object.entries(transports))('hostile upstream called by %s', (_, options) => {
  describe.each(listening)('with $name', ({ start }) => {
    let gateway: Running
    beforeAll(async () => {
      const { port } = upstream.address() as AddressInfo
      gateway = await start(
        createGateway({
          auth: 'none',
          upstreams: { up: openai({ apiKey: 'any', baseURL: `http://127.0.0.1:${port}/v1` }) },
          models: { '*': 'up' },
          retry: false,
          breaker: false,
          logger: false,
          ...options,
        }),
      )
    })
    afterAll(() => gateway.close())

    test.each(Object.keys(hostileResponses))('cannot inject a response of its own: %s', async (name) => {
      const speech = keptAlive('/v1/audio/speech', {}, { model: 'x', input: name, voice: 'alloy' })
      const chat = keptAlive('/v1/chat/completions', {}, { model: 'x', messages: [{ role: 'user', content: 'hi' }] })
      const bytes = await sendInTurn(gateway.origin, [speech, chat])
      expect(judgeResponses(bytes, 'one two three'), bytes.toString('latin1')).toBeUndefined()
    })

    test('can send a correctly framed response, which passes in full with nosniff', async () => {
      const [first] = cutResponses(
        await sendInTurn(gateway.origin, [
          keptAlive('/v1/audio/speech', {}, { model: 'x', input: 'well', voice: 'alloy' }),
        ]),
      )
      expect([first?.status, first?.body, first?.isComplete]).toEqual([200, 'abc', true])
      expect(first?.headers['x-content-type-options']).toBe('nosniff')
    })
  })
})
