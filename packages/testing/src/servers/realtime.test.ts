import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { until } from '../../test-support/until.ts'
import type { JsonObject } from '../base/json.ts'
import { createFakeRealtime, type FakeRealtimeOptions, listenRealtime } from './realtime.ts'

async function start(options: FakeRealtimeOptions = {}) {
  const fake = await listenRealtime(options)
  onTestFinished(() => fake.close())
  const connect = (
    query = '?model=demo-realtime',
    headers: Record<string, string> = { authorization: 'Bearer key' },
  ) => {
    const socket = new WebSocket(`${fake.url.replace('http', 'ws')}/realtime${query}`, { headers })
    const events: JsonObject[] = []
    socket
      .on('error', () => {})
      .on('message', (data, binary) => {
        events.push(binary ? { bytes: Buffer.from(data as Buffer).toString('hex') } : JSON.parse(String(data)))
      })
    const refused = new Promise<number | undefined>((resolve) =>
      socket.once('unexpected-response', (_request, response) => {
        resolve(response.statusCode)
        response.resume()
      }),
    )
    const say = (event: JsonObject): void => socket.send(JSON.stringify(event))
    const eventOf = async (type: string): Promise<JsonObject> => {
      const find = () => events.find((event) => event.type === type)
      await until(() => find() !== undefined, `the event ${type}`)
      return find() as JsonObject
    }
    return { socket, events, say, eventOf, refused }
  }
  return { fake, connect }
}

describe('fake realtime session', () => {
  it('sends its opening events, accepts an update, and repeats text', async () => {
    const { connect } = await start()
    const { events, say, eventOf } = connect()
    expect(await eventOf('session.created')).toMatchObject({ session: { model: 'demo-realtime', type: 'realtime' } })
    say({ type: 'session.update', session: { output_modalities: ['text'] } })
    expect(await eventOf('session.updated')).toMatchObject({ session: { output_modalities: ['text'] } })
    const content = [{ type: 'input_text', text: 'good day' }]
    say({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
    say({ type: 'response.create' })
    expect(await eventOf('response.done')).toMatchObject({
      response: {
        status: 'completed',
        output: [{ content: [{ type: 'output_text', text: 'You said: good day' }] }],
        usage: { input_tokens: 2, output_tokens: 4, total_tokens: 6 },
      },
    })
    const deltas = events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta)
    expect(deltas.join('')).toBe('You said: good day')
    expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length)
  })

  it('echoes audio and binary messages, and uses received audio for speech', async () => {
    const { connect } = await start({ paceMs: 1 })
    const { events, say, eventOf, socket } = connect()
    await eventOf('session.created')
    say({ type: 'input_audio_buffer.append', audio: 'QUJD' })
    expect(await eventOf('response.output_audio.delta')).toMatchObject({ delta: 'QUJD' })
    say({ type: 'input_audio_buffer.commit' })
    say({ type: 'response.create' })
    const done = await eventOf('response.done')
    expect(done).toMatchObject({ response: { usage: { output_token_details: { audio_tokens: 10 } } } })
    expect(events.filter(({ type }) => type === 'response.output_audio.delta').map(({ delta }) => delta)).toEqual([
      'QUJD',
      'QUJD',
    ])
    socket.send(Buffer.from([1, 255]))
    while (!events.some(({ bytes }) => bytes === '01ff')) await new Promise((resolve) => setTimeout(resolve, 2))
  })

  it.each([
    ['{', 'not valid JSON'],
    ['{}', "'type'"],
    ['{"type":"toString"}', "Invalid value: 'toString'"],
    ['{"type":"input_audio_buffer.append","event_id":"e1"}', "'audio'"],
    ['{"type":"conversation.item.create"}', "'item.type'"],
    ['{"type":"response.cancel"}', 'no active response'],
  ])('responds to %s with an error event', async (text, message) => {
    const { connect } = await start()
    const { socket, eventOf } = connect()
    await eventOf('session.created')
    socket.send(text)
    expect(await eventOf('error')).toMatchObject({
      error: {
        type: 'invalid_request_error',
        message: expect.stringContaining(message),
        event_id: text.includes('e1') ? 'e1' : null,
      },
    })
  })
})

it.each([
  ['without a key', '?model=a', {}, 401],
  ['with a wrong key', '?model=a', { authorization: 'Bearer wrong' }, 401],
  ['without a model', '', undefined, 404],
  ['with an unknown model', '?model=b', undefined, 404],
])('rejects a session %s', async (_name, query, headers, status) => {
  const { connect, fake } = await start({ apiKey: 'key', models: ['a'] })
  expect(await connect(query, headers).refused).toBe(status)
  expect(fake.sessions).toEqual([])
})

it('lets a test reject, send, close, drop, and inspect a session', async () => {
  const { connect, fake } = await start({ mute: true })
  fake.refuse({ status: 503, body: 'busy' })
  expect(await connect().refused).toBe(503)
  const first = connect()
  await new Promise((resolve) => first.socket.once('open', resolve))
  first.say({ type: 'hello' })
  await fake.sessions[0]?.send({ type: 'told' })
  expect(await first.eventOf('told')).toEqual({ type: 'told' })
  expect(fake.sessions[0]).toMatchObject({ model: 'demo-realtime', received: ['{"type":"hello"}'], closed: undefined })
  const ended = new Promise((resolve) => first.socket.once('close', (code) => resolve(code)))
  fake.sessions[0]?.close(4002, 'enough')
  expect(await ended).toBe(4002)
  const second = connect()
  await new Promise((resolve) => second.socket.once('open', resolve))
  const dropped = new Promise((resolve) => second.socket.once('close', (code) => resolve(code)))
  fake.sessions[1]?.drop()
  expect(await dropped).toBe(1006)
})

it('accepts sessions on a server of the test', async () => {
  const fake = await createFakeRealtime()
  const server = createServer().on('upgrade', fake.upgrade)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const socket = new WebSocket(`ws://127.0.0.1:${port}/realtime?model=m`, { headers: { authorization: 'Bearer k' } })
  expect(JSON.parse(String(await new Promise((resolve) => socket.once('message', resolve))))).toMatchObject({
    type: 'session.created',
  })
  socket.close()
})

describe('fake transcription session', () => {
  const transcribe = (model: string) => ({
    type: 'session.update',
    session: { type: 'transcription', audio: { input: { transcription: { model } } } },
  })
  const audio = Buffer.alloc(48_000).toString('base64')

  it.each([
    ['scribe', { type: 'tokens', input_tokens: 10 }],
    ['whisper-1', { type: 'duration', seconds: 1 }],
  ])('reports the usage of %s as OpenAI does for its kind', async (model, usage) => {
    const { connect } = await start()
    const { say, eventOf } = connect('?intent=transcription')
    expect(await eventOf('session.created')).toMatchObject({ session: { type: 'transcription' } })
    say(transcribe(model))
    expect(await eventOf('session.updated')).toMatchObject({
      session: { audio: { input: { transcription: { model } } } },
    })
    say({ type: 'input_audio_buffer.append', audio })
    say({ type: 'input_audio_buffer.commit' })
    expect(await eventOf('conversation.item.input_audio_transcription.completed')).toMatchObject({
      transcript: '48000 bytes of audio.',
      usage,
    })
  })

  it.each([
    [transcribe('unknown'), 'session.audio.input.transcription.model'],
    [{ type: 'session.update', session: { type: 'realtime' } }, null],
    [{ type: 'session.update', session: { type: 'transcription', model: 'scribe' } }, 'session.model'],
    [{ type: 'input_audio_buffer.append', audio: '?' }, 'audio'],
    [{ type: 'input_audio_buffer.commit' }, null],
    [{ type: 'response.create' }, 'type'],
  ])('rejects %j', async (event, param) => {
    const { connect } = await start({ models: ['scribe'] })
    const { socket, say, eventOf } = connect('?intent=transcription')
    await new Promise((resolve) => socket.once('open', resolve))
    say(event)
    expect(await eventOf('error')).toMatchObject({ error: { param } })
  })

  it('is a session with a voice if the URL has a model', async () => {
    const { connect } = await start()
    const { eventOf } = connect('?intent=transcription&model=demo-realtime')
    expect(await eventOf('session.created')).toMatchObject({ session: { type: 'realtime', model: 'demo-realtime' } })
  })
})

describe("fake session of Gemini's Live API", () => {
  const path = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'

  async function open(...messages: readonly (JsonObject | string)[]) {
    const fake = await listenRealtime({ apiKey: 'key', models: ['live'] })
    onTestFinished(() => fake.close())
    const socket = new WebSocket(`${fake.url.replace('http', 'ws').replace(/\/v1$/, '')}${path}?key=key`)
    const received: JsonObject[] = []
    socket.on('message', (data, isBinary) => {
      if (!isBinary) throw new Error('Google sends binary messages')
      received.push(JSON.parse(String(data)))
    })
    const closed = new Promise<{ code: number; reason: string }>((resolve) =>
      socket.on('close', (code, reason) => resolve({ code, reason: String(reason) })),
    )
    await new Promise((resolve) => socket.once('open', resolve))
    for (const message of messages) socket.send(typeof message === 'string' ? message : JSON.stringify(message))
    return { received, closed }
  }
  const setup = { setup: { model: 'models/live', generationConfig: { responseModalities: ['TEXT'] } } }

  it('responds to a turn, with its usage at the end', async () => {
    const turns = [{ role: 'user', parts: [{ text: 'hi' }] }]
    const { received } = await open(setup, { clientContent: { turns, turnComplete: true } })
    await until(() => received.some(({ usageMetadata }) => usageMetadata !== undefined), 'the end of the turn')
    expect(received[0]).toEqual({ setupComplete: {} })
    expect(received.at(-1)).toMatchObject({
      serverContent: { turnComplete: true },
      usageMetadata: { promptTokenCount: 1 },
    })
  })

  it.each<[string, readonly (JsonObject | string)[], number, string]>([
    ['no JSON', ['x'], 1007, 'invalid argument'],
    ['a message before the setup', [{ clientContent: {} }], 1007, 'setup must be the first message'],
    ['a second setup', [setup, setup], 1007, 'setup must be the first message and only the first'],
    ['an unknown message', [{ other: {} }], 1007, 'Unknown name "other"'],
    ['an unknown member', [{ setup: { model: 'models/live', x: 1 } }], 1007, 'Unknown name "x"'],
    ['a name without a collection', [{ setup: { model: 'live' } }], 1007, 'model name format'],
    ['an unknown model', [{ setup: { model: 'models/x' } }], 1008, 'models/x is not found'],
    [
      'an unexpected function response',
      [setup, { toolResponse: { functionResponses: [{ id: 'x' }] } }],
      1007,
      'function',
    ],
  ])('closes for %s', async (_name, messages, code, reason) => {
    const { closed } = await open(...messages)
    expect(await closed).toEqual({ code, reason: expect.stringContaining(reason) })
  })
})
