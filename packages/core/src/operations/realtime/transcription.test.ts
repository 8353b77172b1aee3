import { describe, expect, it } from 'vitest'
import { createCanceller } from '../../base/async.ts'
import { GatewayError } from '../../base/errors.ts'
import type { GatewayConfig } from '../../config/config.ts'
import type { FinishEvent } from '../../config/finish-event.ts'
import type { Identity } from '../../config/identity.ts'
import type { GatewayNotice } from '../../config/notices.ts'
import type { PendingSession, RealtimeSession, RealtimeTransport } from '../../config/realtime.ts'
import { adapterFunctions } from '../../gateway/adapter.ts'
import { createGateway } from '../../gateway/create-gateway.ts'
import { azure } from '../../upstreams/azure.ts'
import { openai } from '../../upstreams/openai.ts'
import { openaiCompatible } from '../../upstreams/openai-compatible.ts'

const key = 'sk-canary-12345678'

function setUp(
  dial: RealtimeTransport<string> = async () => ({ socket: 'a socket' }),
  config: Partial<GatewayConfig> = {},
) {
  const finished: FinishEvent[] = []
  const notices: GatewayNotice[] = []
  const dialled: string[] = []
  const gateway = createGateway({
    auth: (token): Identity | null =>
      token === 'good' ? { id: 'me' } : token === 'narrow' ? { id: 'ned', models: ['scribe', 'lost'] } : null,
    upstreams: {
      up: openai({ apiKey: key, baseURL: 'https://up.example/v1' }),
      own: openaiCompatible({ baseURL: 'http://own.example/v1', realtime: true }),
      az: azure({ apiKey: key, resource: 'res' }),
      old: azure({ apiKey: key, resource: 'res', apiVersion: '2025-04-01-preview' }),
    },
    models: {
      scribe: { upstream: 'up', model: 'real-scribe' },
      other: 'up',
      own: 'own',
      az: 'az',
      old: 'old',
      both: ['own', 'up'],
    },
    plugins: [
      {
        name: 'witness',
        onFinish: (event) => void finished.push(event),
        onNotice: (notice) => void notices.push(notice),
      },
    ],
    logger: false,
    ...config,
  })
  const open = (query: string, token = 'good', signal = createCanceller()) => {
    const headers: Readonly<Record<string, string>> = {
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-protocol': `realtime, openai-insecure-api-key.${token}`,
    }
    const inbound = {
      method: 'GET',
      path: '/v1/realtime',
      query,
      header: (name: string) => headers[name],
      read: async () => new Uint8Array(),
      signal,
    }
    return adapterFunctions(gateway).realtime(inbound, (request) => {
      dialled.push(request.url)
      return dial(request)
    })
  }
  const pending = async (
    token?: string,
    signal?: ReturnType<typeof createCanceller>,
  ): Promise<PendingSession<string>> => {
    const opening = await open('intent=transcription', token, signal)
    if (!opening.ok || opening.pending === undefined) throw new Error('the session does not wait for a message')
    return opening.pending
  }
  const connected = async (model = 'scribe', token?: string): Promise<RealtimeSession<string>> => {
    const result = await (await pending(token)).connect(update(model), false)
    if (!('session' in result)) throw new Error(`refused: ${JSON.stringify(result.closing)}`)
    return result.session
  }
  return { gateway, open, pending, connected, finished, notices, dialled }
}

const update = (model: string): string =>
  `{ "type":"session.update", "event_id":"e1","session":{"type":"transcription","audio":{"input":{"transcription":{"model":${JSON.stringify(model)},"language":"de"},"turn_detection":null}}}}`
const betaUpdate = (model: string): string =>
  `{"type":"transcription_session.update","session":{"input_audio_transcription":{"model":"${model}"}}}`

describe('a transcription session without a model in its URL', () => {
  it('accepts the client before an upstream is called', async () => {
    const { pending, dialled, finished } = setUp()
    const { protocol, firstMessageMs, headers } = await pending()
    expect([protocol, firstMessageMs]).toEqual(['realtime', 30_000])
    expect(headers['x-request-id']).toMatch(/^req_/)
    expect([dialled, finished]).toEqual([[], []])
  })

  it.each([
    ['scribe', update, 'https://up.example/v1/realtime?intent=transcription', 'real-scribe'],
    ['scribe', betaUpdate, 'https://up.example/v1/realtime?intent=transcription', 'real-scribe'],
    ['own', update, 'http://own.example/v1/realtime?intent=transcription', 'own'],
    ['az', update, 'https://res.openai.azure.com/openai/v1/realtime?intent=transcription', 'az'],
  ])(
    'connects for %s, and replaces nothing but the name in the first message',
    async (model, message, url, written) => {
      const { pending, dialled } = setUp()
      const result = await (await pending()).connect(message(model), false)
      expect(dialled.map((one) => one.replace('services.ai.azure.com', 'openai.azure.com'))).toEqual([url])
      expect(result).toMatchObject({ first: message(written), session: { upstream: 'a socket' } })
    },
  )

  it('falls back to the next target, and settles once with the name of the client', async () => {
    let dials = 0
    const { connected, finished } = setUp(async () => {
      if (dials++ === 0) throw Object.assign(new Error('no'), { code: 'ECONNREFUSED' })
      return { socket: 'second' }
    })
    const session = await connected('both')
    expect(session.upstream).toBe('second')
    session.settle({ outcome: 'finished' })
    session.settle({ outcome: 'failed' })
    expect(finished).toMatchObject([
      {
        operation: 'realtime',
        model: 'both',
        upstreamModel: 'both',
        status: 101,
        attempts: [{ error: 'upstream_unreachable' }, { status: 101 }],
      },
    ])
  })

  it.each([
    ['no JSON', 'not valid JSON', ''],
    [
      '{"type":"input_audio_buffer.append","audio":"AAAA"}',
      'must name the model',
      'session.audio.input.transcription.model',
    ],
    [update(''), 'must name the model', 'session.audio.input.transcription.model'],
    [update('nothing'), 'does not exist', 'model'],
    [update('old'), 'does not support realtime transcription', 'model'],
    ['{"type":"session.update","session":{"type":"realtime","model":"scribe"}}', 'session.type', 'session.type'],
    [
      update('scribe').replace('"turn_detection":null', '"transcription":{"model":"other"}'),
      'Duplicate',
      'transcription',
    ],
    [update('scribe').replace('{ "type"', '{"Session":{}, "type"'), "use 'session'", 'Session'],
    [update('scribe').replace('"audio"', '"model":"other","audio"'), "'session.model' names a model", 'session.model'],
    [
      update('scribe').replace('"audio"', '"input_audio_transcription":{"model":"other"},"audio"'),
      'two models',
      'transcription.model',
    ],
  ])('rejects the first message %s with an error event and a close', async (text, message, param) => {
    const { pending, dialled, finished, notices } = setUp()
    const result = await (await pending()).connect(text, false)
    if (!('closing' in result)) throw new Error('the session was opened')
    const { event = '', code, reason } = result.closing
    expect([code, reason]).toEqual([1008, expect.stringContaining(message)])
    const { error, ...rest } = JSON.parse(event)
    expect(rest).toMatchObject({ type: 'error', event_id: expect.stringMatching(/^event_/) })
    expect(error).toMatchObject({ type: 'invalid_request_error', message: expect.stringContaining(message) })
    expect(String(error.param ?? '')).toContain(param)
    expect(dialled).toEqual([])
    // A call that reached a model's route is settled. All others are reported as rejected.
    expect(finished.length + notices.filter(({ kind }) => kind === 'call-rejected').length).toBe(1)
  })

  it('rejects a model that the token may not use as an unknown one', async () => {
    const { pending, dialled } = setUp()
    const result = await (await pending('narrow')).connect(update('other'), false)
    expect(result).toMatchObject({ closing: { code: 1008, event: expect.stringContaining('model_not_found') } })
    expect(dialled).toEqual([])
  })

  it('hides hosts and keys of an upstream that refuses the session', async () => {
    const { pending, finished } = setUp(async () => ({
      refusal: {
        status: 500,
        header: () => undefined,
        bytes: async () => new TextEncoder().encode(JSON.stringify({ error: { message: `${key} at up.example` } })),
        stream: () => {
          throw new Error('unused')
        },
        discard() {},
      },
    }))
    const result = await (await pending()).connect(update('scribe'), false)
    expect(result).toMatchObject({ closing: { code: 1011 } })
    expect(JSON.stringify(result)).not.toMatch(/canary|up\.example/)
    expect(finished).toMatchObject([{ outcome: 'failed', model: 'scribe', status: 502 }])
  })

  it('ends the attempt when the client disconnects', async () => {
    const left = createCanceller()
    const { pending, finished } = setUp(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('given up')))
          left.abort(new GatewayError('cancelled', 'The client disconnected.'))
        }),
    )
    const result = await (await pending('good', left)).connect(update('scribe'), false)
    expect(result).toHaveProperty('closing')
    expect(finished).toMatchObject([{ outcome: 'aborted', status: 499 }])
  })

  it('reports a client that sends nothing, and no longer counts as an active call', async () => {
    const { gateway, pending, finished, notices } = setUp()
    const { fail } = await pending()
    expect(gateway.status().activeCalls).toBe(1)
    expect(fail(new GatewayError('timeout', 'No message.'))).toMatchObject({ reason: 'No message.' })
    expect(gateway.status().activeCalls).toBe(0)
    expect([finished.length, notices.filter(({ kind }) => kind === 'call-rejected').length]).toEqual([0, 1])
  })

  it('closes with 1001 when the gateway shuts down', async () => {
    const { gateway, pending } = setUp()
    const { signal, fail } = await pending()
    const closing = gateway.close({ graceMs: 1 })
    await new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined)))
    expect(fail(signal.reason as GatewayError)).toMatchObject({ code: 1001 })
    await closing
  })
})

describe('an open transcription session', () => {
  it('is dialled at once if the URL names the model, which the upstream does not receive', async () => {
    const { open, dialled } = setUp()
    const opening = await open('intent=transcription&model=scribe')
    if (!opening.ok || opening.session === undefined) throw new Error('not open')
    expect(dialled).toEqual(['https://up.example/v1/realtime?intent=transcription'])
    expect(opening.session.readClient?.(update('scribe'), false)).toEqual({ forward: update('real-scribe') })
  })

  it('replaces the name in each update', async () => {
    const { connected } = setUp()
    const { readClient } = await connected()
    for (const message of [update, betaUpdate])
      expect(readClient?.(message('scribe'), false)).toEqual({ forward: message('real-scribe') })
  })

  it.each([
    '{"type":"input_audio_buffer.append","audio":"AAAA"}',
    '{"type":"input_audio_buffer.append","audio":"model"}',
    '{"type":"input_audio_buffer.commit"}',
    '{"type":"session.update","session":{"type":"transcription","audio":{"input":{"transcription":null}}}}',
  ])('passes %s unchanged', async (text) => {
    const { connected } = setUp()
    expect((await connected()).readClient?.(text, false)).toEqual({ forward: text })
  })

  it.each([
    [update('other'), 'session.audio.input.transcription.model'],
    // The upstream's own name is not one that the gateway knows.
    [update('real-scribe'), 'session.audio.input.transcription.model'],
    [betaUpdate('other'), 'session.audio.input.transcription.model'],
    ['{"type":"session.update","event_id":"e1","session":{"model":"other"}}', 'session.model'],
    ['{"type":"session.update","session":{"mod\\u0065l":"other"}}', 'session.model'],
    ['{"type":"session.update","session":{"type":"realtime"}}', 'session.type'],
    ['{"type":"response.create","response":{"model":"other"}}', 'type'],
    ['{"type":"response.create"}', 'type'],
    ['{"Type":"response.create","type":"session.update"}', 'type'],
    ['{"type":"session.update","session":{"type":"transcription","Type":"realtime"}}', 'session.type'],
    ['{"type":"session.update","Session":{"type":"realtime"}}', 'session.type'],
    ['no JSON with a model', ''],
  ])('rejects %s with an error event', async (text, param) => {
    const { connected } = setUp()
    const read = (await connected()).readClient?.(text, false)
    if (read === undefined || !('reply' in read)) throw new Error(`accepted: ${JSON.stringify(read)}`)
    const event = JSON.parse(read.reply)
    expect([event.type, event.error.param ?? '', event.error.event_id]).toEqual([
      'error',
      param,
      text.includes('"e1"') ? 'e1' : null,
    ])
  })

  it('adds up tokens, and seconds of audio', async () => {
    const { connected, finished } = setUp()
    const { readUpstream, settle } = await connected()
    const done = (usage: unknown): string =>
      JSON.stringify({ type: 'conversation.item.input_audio_transcription.completed', transcript: 'x', usage })
    const tokens = { type: 'tokens', input_tokens: 10, output_tokens: 4, input_token_details: { audio_tokens: 8 } }
    for (const text of [
      done(tokens),
      done(tokens),
      done({ type: 'duration', seconds: 1.5 }),
      done({ type: 'duration', seconds: 2 }),
      done(null),
      JSON.stringify({ type: 'response.done', response: { usage: { input_tokens: 99, output_tokens: 99 } } }),
      // One of three turns is not transcribed before the end.
      ...Array.from({ length: 3 }, () => '{"type":"input_audio_buffer.committed","item_id":"i"}'),
      '{"type":"conversation.item.input_audio_transcription.failed","item_id":"i","error":{}}',
      done({ type: 'duration', seconds: 0 }),
    ])
      expect(readUpstream(text)).toBe(text)
    settle({ outcome: 'finished' })
    expect(finished).toMatchObject([
      {
        usage: { input: { total: 20, audio: 16 }, output: { total: 8 } },
        units: { seconds: 3.5 },
        unreportedResponses: 1,
      },
    ])
  })
})
