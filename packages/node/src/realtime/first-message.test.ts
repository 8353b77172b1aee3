import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { createGateway, type FinishEvent, type GatewayConfig, openai } from '@modelgate/core'
import { listenRealtime } from '@modelgate/testing'
import { until } from '@modelgate/testing/test-support'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { serve } from '../testing/server.ts'
import { nodeUpgrade } from './upgrade.ts'

const update = (model: string): string =>
  JSON.stringify({
    type: 'session.update',
    session: { type: 'transcription', audio: { input: { transcription: { model }, turn_detection: null } } },
  })
const append = JSON.stringify({ type: 'input_audio_buffer.append', audio: Buffer.alloc(4800).toString('base64') })
const commit = '{"type":"input_audio_buffer.commit"}'

async function start(config: Partial<GatewayConfig> = {}) {
  const fake = await listenRealtime({ apiKey: 'upstream-key-1', models: ['real-scribe'] })
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: (token) => (token === 'client-token' ? { id: 'me' } : null),
    upstreams: {
      up: openai({ apiKey: 'upstream-key-1', baseURL: fake.url }),
      down: openai({ apiKey: 'upstream-key-1', baseURL: 'http://127.0.0.1:1/v1' }),
    },
    models: { scribe: { upstream: 'up', model: 'real-scribe' }, down: 'down' },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    ...config,
  })
  const { port, server } = await serve(createServer().on('upgrade', nodeUpgrade(gateway)))
  onTestFinished(async () => {
    await gateway.close({ graceMs: 0 })
    await fake.close()
  })
  const connect = (path = '/v1/realtime?intent=transcription') => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, ['realtime', 'openai-insecure-api-key.client-token'])
    onTestFinished(() => socket.terminate())
    const events: { type: string; [field: string]: unknown }[] = []
    const closed = new Promise<{ code: number; reason: string }>((resolve) =>
      socket.on('close', (code, reason) => resolve({ code, reason: reason.toString() })),
    )
    socket.on('error', () => {}).on('message', (data) => void events.push(JSON.parse(String(data))))
    const opened = new Promise<void>((resolve) => socket.once('open', () => resolve()))
    const eventOf = async (type: string) => {
      await until(() => events.some((event) => event.type === type), `the event ${type}`)
      return events.find((event) => event.type === type)
    }
    return { socket, events, opened, closed, eventOf }
  }
  return { fake, gateway, finished, server, connect }
}

it('transcribes for a client that sends everything at once when its socket opens', async () => {
  const { connect, fake, finished, gateway } = await start()
  const { socket, opened, eventOf, events } = connect()
  await opened
  // As in one packet: the messages after the first one wait for the upstream.
  for (const message of [update('scribe'), append, append, commit]) socket.send(message)
  const done = await eventOf('conversation.item.input_audio_transcription.completed')
  expect(done).toMatchObject({ transcript: '9600 bytes of audio.', usage: { type: 'tokens', input_tokens: 2 } })
  expect(events.map(({ type }) => type).slice(0, 3)).toEqual([
    'session.created',
    'session.updated',
    'input_audio_buffer.committed',
  ])
  const [session] = fake.sessions
  expect(session?.query).toBe('intent=transcription')
  expect(session?.received).toEqual([update('real-scribe'), append, append, commit])
  socket.close(1000, 'done')
  await until(() => finished.length === 1, 'the settlement')
  expect(session?.closed).toEqual({ code: 1000, reason: 'done' })
  expect(finished).toMatchObject([
    { outcome: 'finished', status: 101, model: 'scribe', upstreamModel: 'real-scribe', usage: { input: { total: 2 } } },
  ])
  expect(gateway.status().activeCalls).toBe(0)
})

it('rejects a later update to another model, and goes on', async () => {
  const { connect, fake } = await start()
  const { socket, opened, eventOf } = connect()
  await opened
  socket.send(update('scribe'))
  await eventOf('session.updated')
  socket.send(update('other'))
  expect(await eventOf('error')).toMatchObject({ error: { param: 'session.audio.input.transcription.model' } })
  socket.send(append)
  socket.send(commit)
  await eventOf('conversation.item.input_audio_transcription.completed')
  expect(fake.sessions[0]?.received).toEqual([update('real-scribe'), append, commit])
})

it.each([
  ['an unknown model', update('nothing'), 1008, 'does not exist'],
  ['an unreachable upstream', update('down'), 1011, ''],
  ['audio before any model', append, 1008, 'must name the model'],
])('sends an error event and closes the session for %s', async (_name, message, code, reason) => {
  const { connect, fake, gateway } = await start()
  const { socket, opened, eventOf, closed } = connect()
  await opened
  socket.send(message)
  expect(await eventOf('error')).toMatchObject({ error: { message: expect.stringContaining(reason) } })
  expect(await closed).toMatchObject({ code, reason: expect.stringContaining(reason) })
  expect([fake.sessions.length, gateway.status().activeCalls]).toEqual([0, 0])
})

it('closes a client that sends no message in time', async () => {
  const { connect, fake, gateway } = await start({ limits: { realtimeIdleMs: 20 } })
  const { closed, eventOf } = connect()
  expect(await eventOf('error')).toMatchObject({ error: { message: expect.stringContaining('within 0.02 s') } })
  await closed
  expect([fake.sessions.length, gateway.status().activeCalls]).toEqual([0, 0])
})

it.each([
  ['terminates', (socket: WebSocket) => socket.terminate()],
  ['closes', (socket: WebSocket) => socket.close()],
])('forgets a client that %s before its first message', async (_name, leave) => {
  const { connect, gateway, finished, server } = await start()
  const { socket, opened } = connect()
  await opened
  expect(gateway.status().activeCalls).toBe(1)
  leave(socket)
  await until(() => gateway.status().activeCalls === 0, 'the end of the call')
  await until(async () => (await connections(server)) === 0, 'the connection to close')
  expect(finished).toEqual([])
})

const connections = (server: { getConnections(callback: (error: Error | null, count: number) => void): unknown }) =>
  new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))

it('ends the connection attempt of a client that disconnects meanwhile', async () => {
  let seen = 0
  const silence = await serve(createServer().on('upgrade', () => void seen++))
  const up = openai({ apiKey: 'k', baseURL: `http://127.0.0.1:${silence.port}/v1` })
  const { connect, gateway, finished } = await start({ upstreams: { up }, models: { scribe: 'up' } })
  const { socket, opened } = connect()
  await opened
  // The message after the first one waits unread, and must not keep the disconnect from being noticed.
  socket.send(update('scribe'))
  await until(() => seen === 1, 'the upgrade to reach the upstream')
  socket.terminate()
  await until(() => finished.length === 1, 'the settlement')
  expect(finished).toMatchObject([{ outcome: 'aborted', status: 499, model: 'scribe' }])
  expect(gateway.status().activeCalls).toBe(0)
})

it.each(['before', 'after'])('closes with 1001 when the gateway shuts down %s the first message', async (when) => {
  const { connect, gateway } = await start()
  const { socket, opened, closed, eventOf } = connect()
  await opened
  if (when === 'after') {
    socket.send(update('scribe'))
    await eventOf('session.updated')
  }
  await gateway.close({ graceMs: 1 })
  expect(await closed).toMatchObject({ code: 1001 })
})

it('closes with 1009 for a first message that is too large', async () => {
  const { connect, gateway } = await start({ limits: { realtimeMessageBytes: 1000 } })
  const { socket, opened, closed } = connect()
  await opened
  socket.send(append)
  expect(await closed).toMatchObject({ code: 1009 })
  await until(() => gateway.status().activeCalls === 0, 'the end of the call')
})

it('closes with 1009 while a first message of more than 1 MiB arrives, and reads no more of it', async () => {
  const { connect, gateway, server } = await start()
  const sockets: Socket[] = []
  server.on('connection', (socket) => sockets.push(socket))
  const { socket, opened, closed, eventOf } = connect()
  await opened
  socket.send(update('x'.repeat(12 * 1024 * 1024)))
  expect(await eventOf('error')).toMatchObject({ error: { message: expect.stringContaining('1048576 bytes') } })
  expect(await closed).toMatchObject({ code: 1009 })
  expect(sockets[0]?.bytesRead).toBeLessThan(2 * 1024 * 1024)
  await until(() => gateway.status().activeCalls === 0, 'the end of the call')
})

it('accepts a later message of more than 1 MiB', async () => {
  const { connect, fake } = await start()
  const { socket, opened, eventOf } = connect()
  await opened
  socket.send(update('scribe'))
  const long = append.replace(/"audio":"/, `$&${'A'.repeat(2 * 1024 * 1024)}`)
  socket.send(long)
  socket.send(commit)
  await eventOf('conversation.item.input_audio_transcription.completed')
  expect(fake.sessions[0]?.received[1]).toBe(long)
})
