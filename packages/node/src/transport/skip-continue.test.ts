import { describe, expect, it } from 'vitest'
import { sleep } from '../testing/fake-gateway.ts'
import { readers, serveRaw, start, text } from '../testing/transport.ts'

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'
const proceed = 'HTTP/1.1 100 Continue\r\n\r\n'
const early = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n'

describe('an unrequested interim response', () => {
  it.each([
    ['one 100 Continue', proceed],
    ['100 Continue with headers', 'HTTP/1.1 100 Continue\r\ndate: today\r\nx-a: b\r\n\r\n'],
    ['two 100 Continue', proceed + proceed],
    ['100 Continue and 103 Early Hints', proceed + early],
  ])('is skipped if it is %s', async (_name, interim) => {
    for (const [, read] of readers) {
      const { url, connections } = await serveRaw((socket) => socket.write(interim + ok))
      const { call } = start()
      for (let i = 0; i < 3; i++) {
        const answer = await call(url)
        expect([answer.status, await read(answer)]).toEqual([200, '{}'])
        await sleep(2)
      }
      expect(connections()).toBe(1)
    }
  })

  it('is skipped at every split of the bytes', async () => {
    const all = proceed + ok
    const { url } = await serveRaw(async (socket, request) => {
      socket.setNoDelay(true)
      socket.write(all.slice(0, request))
      await sleep(2)
      socket.write(all.slice(request))
    })
    const { call } = start()
    for (let at = 1; at < all.length; at += 1) {
      const answer = await call(url)
      expect([answer.status, text(await answer.bytes(10))]).toEqual([200, '{}'])
      await sleep(1)
    }
  })

  it('is passed on unchanged inside a body', async () => {
    const { url } = await serveRaw((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${proceed.length}\r\n\r\n${proceed}`),
    )
    const { call } = start()
    expect(text(await (await call(url)).bytes(100))).toBe(proceed)
  })
})

describe('a 408 that closes a connection', () => {
  const timeoutResponse = 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 4\r\n\r\nidle'

  it('makes the transport send the call once more if the connection was idle', async () => {
    const { url, requests, connections } = await serveRaw((socket, request) => {
      if (request === 2) socket.end(timeoutResponse)
      else socket.write(ok)
    })
    const { call } = start()
    await (await call(url)).bytes(10)
    await sleep(2)
    const answer = await call(url)
    expect([answer.status, text(await answer.bytes(10)), answer.resent]).toEqual([200, '{}', true])
    expect([requests(), connections()]).toEqual([3, 2])
  })

  it.each([
    ['on a fresh connection', 1, timeoutResponse, {}],
    ['that leaves the connection open', 2, timeoutResponse.replace('connection: close\r\n', ''), {}],
    ['if the call must not be sent again', 2, timeoutResponse, { resend: false }],
  ])('is passed on as the response %s', async (_name, at, response, options) => {
    const { url, requests } = await serveRaw((socket, request) => {
      socket.write(request === at ? response : ok)
    })
    const { call } = start()
    for (let n = 1; n < at; n++) {
      await (await call(url)).bytes(10)
      await sleep(2)
    }
    const answer = await call(url, options)
    expect([answer.status, text(await answer.bytes(10)), requests()]).toEqual([408, 'idle', at])
  })

  it('is passed on as the response if it arrives again', async () => {
    const { url, requests } = await serveRaw((socket, request) => {
      if (request === 1) socket.write(ok)
      else socket.end(timeoutResponse)
    })
    const { call } = start()
    await (await call(url)).bytes(10)
    await sleep(2)
    const answer = await call(url)
    expect([answer.status, answer.resent, requests()]).toEqual([408, true, 3])
    answer.discard()
  })
})
