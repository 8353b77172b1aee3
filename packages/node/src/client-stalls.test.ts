import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createGateway, type FinishEvent, type Limits, openai } from '@modelgate/core'
import { until } from '@modelgate/testing/test-support'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { nodeUpgrade } from './realtime/upgrade.ts'
import { createNodeHandler, nodeListener } from './server/handler.ts'
import { dial, serve } from './testing/server.ts'

/** More than the capacity of all buffers between the gateway and a client. */
const manyBytes = 40_000_000
const event = `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'x'.repeat(50_000) } }] })}\n\n`

/** An upstream with endless responses: events, one long JSON, or audio. */
async function startUpstream() {
  let isClosed = false
  const { url } = await serve((req, res) => {
    res.on('close', () => {
      isClosed = true
    })
    let body = ''
    req.on('data', (part) => {
      body += part
    })
    req.on('end', () => {
      if (req.url?.includes('speech')) return pour('audio/mpeg', 'x'.repeat(50_000))
      if (body.includes('"stream":true')) return pour('text/event-stream', event)
      res.writeHead(200, { 'content-type': 'application/json' })
      const message = { role: 'assistant', content: 'x'.repeat(manyBytes) }
      res.end(JSON.stringify({ object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] }))
    })
    const pour = (type: string, piece: string): void => {
      if (!res.headersSent) res.writeHead(200, { 'content-type': type })
      let left = manyBytes
      const more = (): void => {
        while (left > 0 && !res.destroyed) {
          left -= piece.length
          if (!res.write(piece)) return void res.once('drain', more)
        }
        res.end()
      }
      more()
    }
  })
  return { url, isClosed: () => isClosed }
}

function start(url: string, limits: Limits) {
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: 'none',
    upstreams: { up: openai({ apiKey: 'k', baseURL: `${url}/v1` }) },
    models: { '*': 'up' },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    limits,
  })
  onTestFinished(() => gateway.close({ graceMs: 0 }))
  return { gateway, finished }
}

const stalled = { outcome: 'aborted', error: { info: { kind: 'cancelled', code: 'client_stalled' } } }
const chat = (stream: boolean): string =>
  JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'hi' }] })
const post = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

describe('a client that does not read', () => {
  it.each([
    ['a stream', '/v1/chat/completions', chat(true), stalled],
    ['speech', '/v1/audio/speech', JSON.stringify({ model: 'm', input: 'hi', voice: 'alloy' }), stalled],
    // The call is settled when the gateway has the whole response; then only the connection ends.
    ['whole JSON', '/v1/chat/completions', chat(false), { outcome: 'finished' }],
  ])('loses its connection during %s, and its call is settled', async (_, path, body, ending) => {
    const upstream = await startUpstream()
    const { gateway, finished } = start(upstream.url, { clientStallMs: 300 })
    const { port } = await serve(nodeListener(gateway))
    const { socket, received, closed } = dial(port)
    socket.write(post(path, body))
    await until(() => received().length > 1000, 'the first kilobyte of the response', 10_000)
    socket.pause()
    await until(
      () => finished.length === 1 && upstream.isClosed(),
      'the call to be settled and the upstream connection to close',
      10_000,
    )
    expect(finished).toMatchObject([ending])
    // The client can still read the bytes in its kernel's buffers, but no more.
    await new Promise((resolve) => setTimeout(resolve, 500))
    socket.resume()
    await closed
    expect(received().length).toBeLessThan(manyBytes)
  })

  it('is limited by totalMs, whatever clientStallMs is', async () => {
    const upstream = await startUpstream()
    const { gateway, finished } = start(upstream.url, { totalMs: 2000 })
    const { port } = await serve(nodeListener(gateway))
    const { socket, received } = dial(port)
    socket.write(post('/v1/chat/completions', chat(true)))
    await until(() => received().length > 1000, 'the first kilobyte of the response', 10_000)
    let tail = ''
    socket.on('data', (chunk) => {
      tail = (tail + chunk.toString('latin1')).slice(-1000)
    })
    socket.pause()
    await until(() => finished.length === 1, 'the call to be settled', 10_000)
    // A client that reads again within a second gets the error. Only the tail is searched, to save time.
    socket.resume()
    await until(
      () => tail.includes('did not finish its response within 2 s'),
      'the timeout error at the end of the stream',
      10_000,
    )
    expect(finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_total_timeout' } } }])
    await until(() => upstream.isClosed(), 'the upstream connection to close', 10_000)
  })

  it('loses its HTTP/2 stream but no other stream of the same connection', async () => {
    const upstream = await startUpstream()
    const { gateway, finished } = start(upstream.url, { clientStallMs: 300 })
    const handle = createNodeHandler(gateway)
    const server = createHttp2Server((req, res) => handle(req as never, res as never))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    onTestFinished(() => {
      session.destroy()
      server.close()
    })
    const ask = (body: string) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/v1/chat/completions',
        'content-type': 'application/json',
      })
      stream.on('error', () => {})
      stream.end(body)
      return stream
    }
    const [sleeping, reading] = [ask(chat(true)), ask(chat(true))]
    let bytes = 0
    reading.on('data', (part: Buffer) => {
      bytes += part.length
    })
    await new Promise((resolve) => sleeping.once('response', resolve))
    await until(
      () => finished.length === 2 && bytes >= manyBytes,
      'both calls to be settled and all bytes to arrive',
      20_000,
    )
    expect(finished.filter(({ outcome }) => outcome === 'aborted')).toMatchObject([stalled])
  })

  it('loses its realtime session even if it continues sending', async () => {
    const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    await new Promise((resolve) => sockets.once('listening', resolve))
    let upstreamClosed = false
    sockets.on('connection', (socket) => {
      socket
        .on('message', () => {})
        .on('close', () => {
          upstreamClosed = true
        })
      for (let n = 0; n < 40; n++) socket.send('x'.repeat(1_000_000))
    })
    const { gateway, finished } = start(`http://127.0.0.1:${(sockets.address() as AddressInfo).port}`, {
      clientStallMs: 300,
    })
    const { port, server } = await serve(nodeListener(gateway))
    server.on('upgrade', nodeUpgrade(gateway))
    const client = new WebSocket(`ws://127.0.0.1:${port}/v1/realtime?model=m`)
    client.on('error', () => {})
    await new Promise((resolve) => client.once('open', resolve))
    client.pause()
    const sending = setInterval(() => client.send('still here'), 50)
    onTestFinished(() => {
      clearInterval(sending)
      client.terminate()
      for (const one of sockets.clients) one.terminate()
      sockets.close()
    })
    await until(
      () => finished.length === 1 && upstreamClosed,
      'the call to be settled and the upstream connection to close',
      10_000,
    )
    expect(finished).toMatchObject([stalled])
  })
})
