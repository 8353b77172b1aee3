import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GoogleGenAI, type LiveServerMessage, Modality, type Session } from '@google/genai'
import { createGateway, type FinishEvent, type GatewayConfig, gemini, type Identity } from '@modelgate/core'
import { nodeUpgrade } from '@modelgate/node'
import { listenRealtime } from '@modelgate/testing'
import { until } from '@modelgate/testing/test-support'
import { describe, expect, it, onTestFinished } from 'vitest'
import { upstreamKey } from '../base/gateways.ts'

const token = 'client-token-of-rita-5521'

async function start(config: Partial<GatewayConfig> = {}, basePath = '') {
  const fake = await listenRealtime({ apiKey: upstreamKey, models: ['gemini-live-real'] })
  const finished: FinishEvent[] = []
  const gateway = createGateway({
    auth: (given): Identity | null =>
      given === token ? { id: 'rita' } : given === 'narrow' ? { id: 'ned', models: ['other'] } : null,
    upstreams: {
      google: gemini({ apiKey: upstreamKey, baseURL: fake.url.replace(/\/v1$/, '') }),
      down: gemini({ apiKey: upstreamKey, baseURL: 'http://127.0.0.1:1' }),
      wrong: gemini({ apiKey: 'another-key-12345', baseURL: fake.url.replace(/\/v1$/, '') }),
    },
    models: {
      live: { upstream: 'google', model: 'gemini-live-real' },
      second: ['down', { upstream: 'google', model: 'gemini-live-real' }],
      missing: 'google',
      wrong: { upstream: 'wrong', model: 'gemini-live-real' },
    },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    ...config,
  })
  const server = createServer().on('upgrade', nodeUpgrade(gateway, { basePath }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  onTestFinished(async () => {
    await gateway.close({ graceMs: 0 })
    await fake.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  /** Opens a session with the official client. */
  const connect = async (model: string, liveConfig: object = {}, apiKey = token) => {
    const ai = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `http://127.0.0.1:${port}${basePath}` } })
    const messages: LiveServerMessage[] = []
    const errors: string[] = []
    let closed: { readonly code: number; readonly reason: string } | undefined
    const connecting = ai.live.connect({
      model,
      config: { responseModalities: [Modality.TEXT], ...liveConfig },
      callbacks: {
        onmessage: (message) => void messages.push(message),
        onerror: ({ message }) => void errors.push(message),
        onclose: ({ code, reason }) => {
          closed = { code, reason }
        },
      },
    })
    return { connecting, messages, errors, closed: () => closed }
  }
  const open = async (model: string, liveConfig: object = {}) => {
    const { connecting, ...rest } = await connect(model, liveConfig)
    const session: Session = await connecting
    onTestFinished(() => session.close())
    return { session, ...rest }
  }
  return { gateway, fake, server, port, finished, connect, open }
}

const textOf = (messages: readonly LiveServerMessage[]): string =>
  messages.flatMap(({ serverContent }) => serverContent?.modelTurn?.parts?.map(({ text = '' }) => text) ?? []).join('')
const turnsIn = (messages: readonly LiveServerMessage[]): number =>
  messages.filter(({ serverContent }) => serverContent?.turnComplete === true).length

describe("Gemini's Live API with Google's SDK", () => {
  it.each(['', '/ai'])('carries a conversation and counts the usage of each turn (base path %j)', async (basePath) => {
    const { open, fake, finished } = await start({}, basePath)
    const { session, messages } = await open('live', { temperature: 0.5 })
    for (const [turn, text] of ['one two', 'three'].entries()) {
      session.sendClientContent({ turns: [{ role: 'user', parts: [{ text }] }], turnComplete: true })
      await until(() => turnsIn(messages) === turn + 1, 'the end of the turn')
    }
    expect(textOf(messages)).toBe('You said: one twoYou said: three')
    const [upstream] = fake.sessions
    expect(upstream).toMatchObject({ model: 'gemini-live-real', query: '' })
    expect(upstream?.headers['x-goog-api-key']).toBe(upstreamKey)
    expect(JSON.stringify([upstream?.headers, upstream?.received])).not.toContain(token)
    expect(JSON.parse(upstream?.received[0] ?? '')).toMatchObject({
      setup: { model: 'models/gemini-live-real', generationConfig: { temperature: 0.5 } },
    })
    session.close()
    await until(() => finished.length === 1, 'the settlement')
    const used = messages.flatMap(({ usageMetadata }) => (usageMetadata === undefined ? [] : [usageMetadata]))
    const sum = (field: 'promptTokenCount' | 'responseTokenCount') =>
      used.reduce((all, one) => all + (one[field] ?? 0), 0)
    expect(used).toHaveLength(2)
    expect(finished).toMatchObject([
      {
        operation: 'realtime',
        outcome: 'finished',
        status: 101,
        model: 'live',
        upstream: 'google',
        upstreamModel: 'gemini-live-real',
        identity: { id: 'rita' },
        usage: { input: { total: sum('promptTokenCount') }, output: { total: sum('responseTokenCount') } },
      },
    ])
  })

  it('runs a loop of tool calls', async () => {
    const { open } = await start()
    const { session, messages } = await open('live', {
      tools: [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: { type: 'object' } }] }],
    })
    session.sendClientContent({ turns: [{ role: 'user', parts: [{ text: 'call get_weather' }] }], turnComplete: true })
    await until(() => messages.some(({ toolCall }) => toolCall !== undefined), 'the tool call')
    const [call] = messages.flatMap(({ toolCall }) => toolCall?.functionCalls ?? [])
    expect(call).toMatchObject({ name: 'get_weather' })
    session.sendToolResponse({
      functionResponses: [{ id: call?.id ?? '', name: 'get_weather', response: { degrees: 21 } }],
    })
    await until(() => turnsIn(messages) === 1, 'the end of the turn')
    expect(textOf(messages)).toBe('You said: [{"degrees":21}]')
  })

  it('carries audio in both directions', async () => {
    const { open, finished } = await start()
    const { session, messages } = await open('live', { responseModalities: [Modality.AUDIO] })
    const data = Buffer.alloc(30_000, 7).toString('base64')
    session.sendRealtimeInput({ audio: { data, mimeType: 'audio/pcm;rate=16000' } })
    session.sendRealtimeInput({ audioStreamEnd: true })
    await until(() => turnsIn(messages) === 1, 'the end of the turn')
    const sounds = messages.flatMap(({ serverContent }) =>
      (serverContent?.modelTurn?.parts ?? []).map(({ inlineData }) => inlineData?.data),
    )
    expect(sounds).toEqual([data])
    session.close()
    await until(() => finished.length === 1, 'the settlement')
    expect(finished[0]?.usage?.output.audio).toBeGreaterThan(0)
  })

  it('falls back to the next upstream', async () => {
    const { open, finished } = await start()
    const { session } = await open('second')
    session.close()
    await until(() => finished.length === 1, 'the settlement')
    expect(finished[0]?.attempts).toMatchObject([{ error: 'upstream_unreachable' }, { status: 101 }])
  })

  it.each([
    ['an unknown model', 'nothing', {}, 1008, 'does not exist'],
    ['a model of another caller', 'live', {}, 1008, 'does not exist', 'narrow'],
    ['a resumed session', 'live', { sessionResumption: { handle: 'foreign' } }, 1008, 'sessionResumption.handle'],
    ['a model that the upstream does not have', 'missing', {}, 1008, 'models/missing is not found'],
    ['a key that the upstream rejects', 'wrong', {}, 1007, 'API key not valid'],
  ])(
    'closes a session with %s with a code and a reason',
    async (_name, model, config, code, reason, apiKey = token) => {
      const { connect, gateway } = await start()
      const { connecting, closed } = await connect(model, config, apiKey)
      // The promise of the SDK stays pending if a session is closed before its setup is complete.
      connecting.catch(() => {})
      await until(() => closed() !== undefined, 'the close')
      expect(closed()).toMatchObject({ code, reason: expect.stringContaining(reason) })
      expect(Buffer.byteLength(closed()?.reason ?? '')).toBeLessThanOrEqual(123)
      await until(() => gateway.status().activeCalls === 0, 'the end of the call')
    },
  )

  it('rejects a wrong token before the session opens', async () => {
    const { connect, fake } = await start()
    const { connecting, errors } = await connect('live', {}, 'wrong-token')
    connecting.catch(() => {})
    await until(() => errors.length > 0, 'the error')
    // Google's status for a wrong key.
    expect(errors).toEqual(['Unexpected server response: 400'])
    expect(fake.sessions).toEqual([])
  })

  it('is closed with 1001 when the gateway shuts down', async () => {
    const { open, gateway } = await start()
    const { closed } = await open('live')
    await gateway.close({ graceMs: 1 })
    await until(() => closed() !== undefined, 'the close')
    expect(closed()).toMatchObject({ code: 1001 })
  })

  it('is settled as aborted when the client disconnects', async () => {
    const { open, fake, server, finished } = await start()
    const { session, messages } = await open('live')
    await until(() => messages.length === 1, 'setupComplete')
    server.closeAllConnections()
    ;(session.conn as unknown as { ws: { terminate(): void } }).ws.terminate()
    await until(() => finished.length === 1 && fake.sessions[0]?.closed !== undefined, 'the settlement')
    expect(finished).toMatchObject([{ outcome: 'aborted', model: 'live' }])
    expect(fake.sessions[0]?.closed).toMatchObject({ code: 1001 })
  })
})
