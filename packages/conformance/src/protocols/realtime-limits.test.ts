import { fastifyPlugin, nodeUpgrade } from '@modelgate/fastify'
import { until } from '@modelgate/testing/test-support'
import Fastify from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { sessionOf, startRealtime } from './realtime-fixture.ts'

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe('realtime limits', () => {
  it('pause the upstream while a client reads slowly, and deliver everything afterwards', async () => {
    const setting = await startRealtime()
    const client = setting.ws()
    await client.opened
    await until(() => client.messages.length === 1, 'session.created')
    const session = await sessionOf(setting)
    client.socket.pause()
    const { flooded, sent } = await flood(
      (chunk) => session.send(chunk),
      () => session.waiting,
    )
    // Socket buffers of two connections and the gateway's own: far less than what was offered.
    expect(sent).toBeLessThan(40 * megabyte)
    client.socket.resume()
    await flooded
    await until(() => client.messages.length === 1 + chunks, 'all of it', 20_000)
  })

  it('pause the client while the upstream reads slowly', async () => {
    const setting = await startRealtime()
    const client = setting.ws()
    await client.opened
    await until(() => client.messages.length === 1, 'session.created')
    const session = await sessionOf(setting)
    session.pause()
    const write = (chunk: Uint8Array) => new Promise<void>((resolve) => client.socket.send(chunk, () => resolve()))
    const { flooded, sent } = await flood(write, () => client.socket.bufferedAmount)
    expect(sent).toBeLessThan(40 * megabyte)
    session.resume()
    await flooded
    await until(() => client.messages.length === 1 + chunks, 'all of it, echoed', 20_000)
  })

  it('close an idle session', async () => {
    const setting = await startRealtime(undefined, { config: { limits: { realtimeIdleMs: 1000 } } })
    const client = setting.ws()
    await client.opened
    for (let i = 0; i < 4; i++) {
      await sleep(300)
      client.socket.send('{}')
    }
    expect(client.socket.readyState).toBe(client.socket.OPEN)
    expect(await client.closed).toEqual({ code: 1001, reason: 'No message arrived for 1 s.' })
    await until(() => setting.finished.length === 1, 'the end')
    expect(setting.fake.sessions[0]?.closed?.code).toBe(1001)
    expect(setting.finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'timeout' } } }])
  })

  it('respond to pings and send them on both sides, and close a session whose peer does not respond', async () => {
    const setting = await startRealtime(undefined, { config: { limits: { heartbeatMs: 50 } } })
    const client = setting.ws()
    const silent = setting.ws(undefined, { autoPong: false })
    await Promise.all([client.opened, silent.opened])
    let pings = 0
    let pongs = 0
    client.socket.on('ping', () => pings++).on('pong', () => pongs++)
    client.socket.ping()
    expect((await silent.closed).code).toBe(1006)
    await until(() => pings > 3 && pongs === 1, 'pings and one pong')
    expect(client.socket.readyState).toBe(client.socket.OPEN)
    await until(() => setting.finished.length === 1, 'the end of the unresponsive session')
    expect(setting.finished).toMatchObject([{ outcome: 'aborted' }])
  })

  it('end a session on an oversized message with 1009 for the client that sends it and 1011 for one that should receive it', async () => {
    const setting = await startRealtime(undefined, { config: { limits: { realtimeMessageBytes: 10_000 } } })
    const first = setting.ws()
    await first.opened
    first.socket.send('x'.repeat(10_001))
    expect((await first.closed).code).toBe(1009)
    const second = setting.ws()
    await second.opened
    await (await sessionOf(setting, 2)).send('x'.repeat(10_001))
    expect(await second.closed).toMatchObject({ code: 1011, reason: expect.stringContaining('10000 bytes') })
    await until(() => setting.finished.length === 2, 'both ends')
    expect(setting.finished.map(({ outcome }) => outcome)).toEqual(['failed', 'failed'])
  })
})

describe('end of realtime sessions', () => {
  it('happens on close(), which rejects new sessions and ends running ones with 1001 after the grace period', async () => {
    const setting = await startRealtime()
    const client = setting.ws()
    await client.opened
    const begin = performance.now()
    const closed = setting.gateway.close({ graceMs: 300 })
    expect((await setting.ws().refused).status).toBe(503)
    client.socket.send(Buffer.from('still here'))
    await until(
      () => client.messages.some((message) => message.toString() === 'still here'),
      'an echo within the grace period',
    )
    expect(await client.closed).toEqual({ code: 1001, reason: 'The gateway is shutting down.' })
    expect(performance.now() - begin).toBeGreaterThan(290)
    await closed
    expect(setting.finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'overloaded' } } }])
    await until(() => setting.fake.sessions[0]?.closed !== undefined, 'the close upstream')
    expect(setting.fake.sessions[0]?.closed?.code).toBe(1001)
  })

  it('does not delay close() for sessions that have already ended', async () => {
    const setting = await startRealtime()
    const client = setting.ws()
    await client.opened
    const begin = performance.now()
    const closed = setting.gateway.close({ graceMs: 60_000 })
    client.socket.close()
    await closed
    expect(performance.now() - begin).toBeLessThan(2000)
  })

  it('lets a Fastify host with open sessions close if the gateway is closed first', async () => {
    const app = Fastify()
    const setting = await startRealtime(async (gateway) => {
      app.register(fastifyPlugin(gateway))
      app.server.on('upgrade', nodeUpgrade(gateway))
      // `onClose` would be too late, because it waits for the connections.
      app.addHook('preClose', () => gateway.close({ graceMs: 50 }))
      await app.listen({ port: 0 })
      return app.server
    })
    const client = setting.ws()
    await client.opened
    await app.close()
    expect((await client.closed).code).toBe(1001)
  })

  it('leaves no socket, listener or warning after 200 sessions', async () => {
    const warnings: string[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning.message)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const setting = await startRealtime()
    const connections = (): Promise<number> =>
      new Promise((resolve, reject) => {
        setting.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
      })
    const listeners = (): number =>
      setting.server.eventNames().reduce((sum, name) => sum + setting.server.listenerCount(name), 0)
    const before = listeners()
    for (let round = 0; round < 20; round++)
      await Promise.all(
        Array.from({ length: 10 }, async (_, number) => {
          const client = setting.ws(number === 9 ? '/v1/realtime?model=nothing' : undefined)
          if (number === 9) await client.refused
          else {
            await client.opened
            // Ends sessions in three ways: by the client, by a broken connection, by the upstream.
            if (number % 3 === 0) client.socket.close(1000)
            else if (number % 3 === 1) client.socket.terminate()
            else setting.fake.sessions.find(({ closed }) => closed === undefined)?.close(1000)
          }
        }),
      )
    for (const session of setting.fake.sessions) session.close(1000)
    await until(async () => (await connections()) === 0, 'no client connection', 10_000)
    await until(async () => (await setting.fake.connections()) === 0, 'no upstream connection', 10_000)
    await until(() => setting.finished.length === 200, 'every call settled', 10_000)
    expect(listeners()).toBe(before)
    expect(warnings).toEqual([])
    await setting.gateway.close()
  })
})

const megabyte = 1024 * 1024
const chunks = 800
const chunkBytes = megabyte / 8

/**
 * Offers 100 MB as fast as they are accepted. Resolves with the number of accepted bytes when nothing moves any more.
 */
async function flood(send: (chunk: Uint8Array) => Promise<void>, waiting: () => number) {
  const chunk = new Uint8Array(chunkBytes)
  let sent = 0
  const run = async (): Promise<void> => {
    for (let i = 0; i < chunks; i++) {
      await send(chunk)
      sent += chunkBytes
    }
  }
  const flooded = run()
  for (let last = -1; last !== sent; ) {
    last = sent
    await sleep(300)
  }
  expect(waiting()).toBeGreaterThan(0)
  return { flooded, sent }
}
