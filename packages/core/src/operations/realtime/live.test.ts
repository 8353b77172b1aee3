import { describe, expect, it } from 'vitest'
import { createCanceller } from '../../base/async.ts'
import type { FinishEvent } from '../../config/finish-event.ts'
import type { Identity } from '../../config/identity.ts'
import type { PendingSession, RealtimeSession, RealtimeTransportRequest } from '../../config/realtime.ts'
import { adapterFunctions } from '../../gateway/adapter.ts'
import { createGateway } from '../../gateway/create-gateway.ts'
import { gemini } from '../../upstreams/gemini.ts'
import { openai } from '../../upstreams/openai.ts'

const key = 'google-canary-12345678'
const service = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'

function setUp() {
  const finished: FinishEvent[] = []
  const dialled: RealtimeTransportRequest[] = []
  const gateway = createGateway({
    auth: (token): Identity | null =>
      token === 'good' ? { id: 'me' } : token === 'narrow' ? { id: 'ned', models: ['live'] } : null,
    upstreams: {
      google: gemini({ apiKey: key, baseURL: 'https://proxy.example/google/v1beta' }),
      openai: openai({ apiKey: key }),
    },
    models: { live: { upstream: 'google', model: 'real-live' }, other: 'google', voice: 'openai' },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
  })
  const open = (query = 'key=good', headers: Readonly<Record<string, string>> = {}, path = service) => {
    const all: Readonly<Record<string, string>> = {
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...headers,
    }
    const inbound = {
      method: 'GET',
      path,
      query,
      header: (name: string) => all[name],
      read: async () => new Uint8Array(),
      signal: createCanceller(),
    }
    return adapterFunctions(gateway).realtime(inbound, async (request) => {
      dialled.push(request)
      return { socket: 'a socket' }
    })
  }
  const pending = async (token = 'good', headers = {}): Promise<PendingSession<string>> => {
    const opening = await open(`key=${token}`, headers)
    if (!opening.ok || opening.pending === undefined) throw new Error('the session does not wait for a message')
    return opening.pending
  }
  const connected = async (token?: string): Promise<RealtimeSession<string>> => {
    const result = await (await pending(token)).connect(setup('"models/live"'), false)
    if (!('session' in result)) throw new Error(`refused: ${result.closing.reason}`)
    return result.session
  }
  return { open, pending, connected, finished, dialled }
}

const setup = (model: string, more = ''): string =>
  `{ "setup" : {"model": ${model}${more}, "n": 12345678901234567890} }`

describe("a session of Gemini's Live API", () => {
  it.each([service, `/${service}`])('is authenticated by the query or a header: %s', async (path) => {
    const { open } = setUp()
    expect(await open('key=good', {}, path)).toHaveProperty('pending.firstMessageMs', 30_000)
    expect(await open('', { 'x-goog-api-key': 'good' }, path)).toHaveProperty('pending')
    for (const [query, headers] of [
      ['key=bad', {}],
      ['', {}],
      ['key=good', { 'x-goog-api-key': 'bad' }],
      ['access_token=good', {}],
    ] as const) {
      const opening = await open(query, headers, path)
      if (opening.ok) throw new Error('accepted')
      // Google's status for a wrong key.
      expect(opening.reply.status).toBe(400)
      expect(JSON.parse(String(opening.reply.body))).toMatchObject({
        error: { message: expect.stringMatching(/API key/), details: [{ reason: 'API_KEY_INVALID' }] },
      })
    }
  })

  it.each(['model=live', 'intent=transcription', 'alt=ws'])('rejects the query parameter %s', async (query) => {
    const { open } = setUp()
    const opening = await open(`key=good&${query}`)
    expect(opening).toMatchObject({ ok: false, reply: { status: 400 } })
  })

  it.each(['"models/live"', '"live"'])(
    'sends the setup with the model %s under the name of the upstream',
    async (model) => {
      const { pending, dialled } = setUp()
      const result = await (await pending('good', { 'openai-beta': 'x', 'x-goog-api-client': 'sdk' })).connect(
        setup(model),
        true,
      )
      expect(result).toMatchObject({ first: setup('"models/real-live"'), session: { readsBinary: true } })
      expect(dialled).toMatchObject([
        { url: `https://proxy.example/google${service}`, headers: { 'x-goog-api-key': key } },
      ])
      expect(Object.keys(dialled[0]?.headers ?? {})).toEqual(['x-goog-api-key'])
    },
  )

  it.each([
    ['no JSON', 'not valid JSON'],
    ['{"clientContent":{}}', 'must name the model'],
    [setup('"models/nothing"'), 'does not exist'],
    [setup('"models/voice"'), 'does not support the Live API'],
    [setup('"models/live","model":"models/other"'), 'Duplicate'],
    [setup('"models/live"', ',"Model":"models/other"'), "use 'setup.model'"],
    [setup('"models/live"', ',"sessionResumption":{"handle":"h"}'), 'setup.sessionResumption.handle'],
    [setup('"models/live"', ',"session_resumption":{"handle":"h"}'), 'handle'],
    [setup('"models/live"', ',"tools":[{"fileSearch":{"fileSearchStoreNames":["s"]}}]'), 'fileSearch'],
    [setup('"models/live"', ',"systemInstruction":{"parts":[{"fileData":{"fileUri":"u"}}]}'), 'fileData'],
  ])('closes for the first message %s', async (text, reason) => {
    const { pending, dialled } = setUp()
    const result = await (await pending()).connect(text, false)
    expect(result).toEqual({ closing: { code: 1008, reason: expect.stringContaining(reason) } })
    expect(dialled).toEqual([])
  })

  it.each([
    [setup('"models/other"'), 'does not exist'],
    [
      setup('"models/live"', ',"generationConfig":{"modelConfig":{"featureSelectionPreference":"BALANCED"}}'),
      'modelConfig',
    ],
    [
      setup('"models/live"', ',"generation_config":{"routing_config":{"manual_mode":{"model_name":"other"}}}'),
      'model_name',
    ],
  ])('closes for a caller with a list of models and the setup %s', async (text, reason) => {
    const { pending, dialled } = setUp()
    const result = await (await pending('narrow')).connect(text, false)
    expect(result).toEqual({ closing: { code: 1008, reason: expect.stringContaining(reason) } })
    expect(dialled).toEqual([])
  })

  it.each(['good', 'narrow'])(
    'passes later messages of the caller %s unchanged, but no second setup',
    async (token) => {
      const { connected } = setUp()
      const { readClient } = await connected(token)
      for (const text of [
        '{"realtimeInput":{"audio":{"data":"c2V0dXA=","mimeType":"audio/pcm"}}}',
        '{ "clientContent":{"turns":[{"parts":[{"text":"setup \\"x\\""}]}],"turnComplete":true} }',
        '{"toolResponse":{"functionResponses":[]}}',
      ])
        for (const isBinary of [false, true]) expect(readClient?.(text, isBinary)).toEqual({ forward: text })
      for (const [text, reason] of [
        [setup('"models/live"'), 'setup'],
        ['{"Setup":{}}', 'setup'],
        ['{"s\\u0065tup":{}}', 'setup'],
        ['setup', 'JSON'],
        ['{"clientContent":{"turns":[{"parts":[{"file_data":{"file_uri":"files/x"}}]}]}}', 'file_data'],
        ['{"client_content":{"turns":[{"parts":[{"fileData":{"fileUri":"files/x"}}]}]}}', 'fileData'],
      ] as const)
        expect(readClient?.(text, false)).toEqual({ close: { code: 1007, reason: expect.stringContaining(reason) } })
    },
  )

  it('adds up the usage of its turns, in messages with and without content', async () => {
    const { connected, finished } = setUp()
    const { readUpstream, settle, passesUnread } = await connected()
    const turn = {
      promptTokenCount: 100,
      responseTokenCount: 30,
      totalTokenCount: 145,
      thoughtsTokenCount: 10,
      toolUsePromptTokenCount: 5,
      cachedContentTokenCount: 20,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 60 },
        { modality: 'AUDIO', tokenCount: 40 },
      ],
      responseTokensDetails: [{ modality: 'AUDIO', tokenCount: 30 }],
    }
    const audio = { modelTurn: { parts: [{ inlineData: { mimeType: 'audio/pcm', data: 'A'.repeat(5000) } }] } }
    for (const message of [
      { serverContent: { turnComplete: true }, usageMetadata: turn },
      { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 }, serverContent: audio },
      { serverContent: audio },
      { serverContent: { modelTurn: { parts: [{ text: JSON.stringify({ usageMetadata: turn }) }] } } },
      { setupComplete: {} },
    ]) {
      const text = JSON.stringify(message)
      expect(passesUnread(new TextEncoder().encode(text))).toBe(false)
      expect(readUpstream(text)).toBe(text)
    }
    settle({ outcome: 'finished' })
    expect(finished).toMatchObject([
      {
        usage: {
          input: { total: 106, cacheRead: 20, audio: 40, tool: 5 },
          output: { total: 42, audio: 30, reasoning: 10 },
        },
        unreportedResponses: 1,
      },
    ])
  })

  it('removes keys and hosts of the upstream from messages and close reasons, but not from content', async () => {
    const { connected } = setUp()
    const { readUpstream, closeReason } = await connected()
    const error = JSON.stringify({ error: { message: `${key} at proxy.example` }, note: key })
    expect(readUpstream(error)).toBe('{"error":{"message":"*** at [upstream]"},"note":"***"}')
    const content = JSON.stringify({ serverContent: { modelTurn: { parts: [{ text: `see ${key}` }] } } })
    expect(readUpstream(content)).toBe(content)
    expect(closeReason(`API key ${key} not valid at https://proxy.example`)).toBe('API key *** not valid at [upstream]')
  })
})
