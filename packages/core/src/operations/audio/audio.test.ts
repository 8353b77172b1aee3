import { describe, expect, it } from 'vitest'
import { asJson, asStream, setUp } from '../../gateway.test-support.ts'
import { mediaTypeOf } from './request.ts'
import { fromWav, toWav } from './wav.ts'

const models = {
  models: { real: 'a', alias: { upstream: 'a', model: 'real' }, both: ['a', 'b'], 'gemini*': 'g', 'claude*': 'm' },
} as never
const set = (answers: Parameters<typeof setUp>[0], more: object = {}) =>
  setUp(answers, { ...(models as object), ...more } as never)

const recording = () => new File([new Uint8Array([82, 73, 70, 70])], 'a.wav', { type: 'audio/wav' })
function upload(
  gateway: ReturnType<typeof setUp>['gateway'],
  fields: readonly (readonly [string, string | File])[],
  path = '/v1/audio/transcriptions',
  init: RequestInit = {},
) {
  const body = new FormData()
  for (const [name, value] of fields) body.append(name, value)
  return gateway.fetch(`http://gw${path}`, { method: 'POST', body, headers: { authorization: 'Bearer good' }, ...init })
}
const asBytes =
  (parts: readonly (string | Uint8Array)[], type: string, failing = false) =>
  () => {
    const left = [...parts]
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const next = left.shift()
        if (next !== undefined) controller.enqueue(typeof next === 'string' ? new TextEncoder().encode(next) : next)
        else if (failing) controller.error(new TypeError('terminated'))
        else controller.close()
      },
    })
    return new Response(body, { headers: type === '' ? {} : { 'content-type': type } })
  }
const said = (text: string | undefined, finishReason = 'STOP') => ({
  candidates: [{ content: { role: 'model', parts: text === undefined ? [] : [{ text }] }, finishReason }],
  usageMetadata: {
    promptTokenCount: 30,
    candidatesTokenCount: 5,
    totalTokenCount: 35,
    promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 20 }],
  },
})
const delta = 'data: {"type":"transcript.text.delta","delta":"Hel"}\n\n'
const done =
  'data: {"type":"transcript.text.done","text":"Hello","usage":{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":0,"audio_tokens":14},"output_tokens":2,"total_tokens":16}}\n\n'

describe('transcription on the wire', () => {
  it.each([
    ['json', '{"text":"Hello","usage":{"type":"duration","seconds":9}}', 'application/json'],
    ['verbose_json', '{"text":"Hello","duration":9,"segments":[{"id":0}]}', 'application/json'],
    ['text', 'Hello\n', 'text/plain; charset=utf-8'],
    ['srt', '1\n00:00:00,000 --> 00:00:01,000\nHello\n', 'text/plain; charset=utf-8'],
    ['vtt', 'WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n', 'text/vtt'],
    ['text', '', 'text/plain'],
  ])('passes %s as it comes', async (format, text, type) => {
    const { gateway, seen, finished } = set({ a: asBytes([text], type) })
    const reply = await upload(gateway, [
      ['file', recording()],
      ['response_format', format],
      ['timestamp_granularities[]', 'word'],
      ['model', 'alias'],
    ])
    expect(await reply.text()).toBe(text)
    expect(reply.headers.get('content-type')).toContain(type)
    expect(seen[0]?.url).toBe('http://a/v1/audio/transcriptions')
    expect(seen[0]?.body).toMatch(/name="timestamp_granularities\[\]"\r\n\r\nword\r\n.*name="model"\r\n\r\nreal\r\n/s)
    expect(finished[0]).toMatchObject({ operation: 'transcriptions', outcome: 'finished', lane: 'wire' })
    if (type.includes('json')) expect(finished[0]?.units).toEqual({ seconds: 9 })
  })

  it('passes a stream of events, and counts', async () => {
    const { gateway, finished } = set({ a: asStream([delta, done]) })
    const reply = await upload(gateway, [
      ['file', recording()],
      ['model', 'real'],
      ['stream', 'true'],
    ])
    expect(await reply.text()).toBe(delta + done)
    expect(finished[0]).toMatchObject({ outcome: 'finished', stream: true, usage: { input: { total: 14, audio: 14 } } })
  })

  it('tells of a stream that is cut', async () => {
    const { gateway, finished } = set({ a: asStream([delta]) })
    const reply = await upload(gateway, [
      ['file', recording()],
      ['model', 'real'],
      ['stream', 'true'],
    ])
    expect(await reply.text()).toMatch(
      /^data: .*Hel.*\n\nevent: error\ndata: \{"type":"error","error":\{"message".*\n\n$/,
    )
    expect(finished[0]).toMatchObject({ outcome: 'failed' })
  })

  it('gives a streaming client its events where the model does not stream', async () => {
    const { gateway, finished } = set({ a: asJson({ text: 'Hello', usage: { type: 'duration', seconds: 9 } }) })
    const reply = await upload(gateway, [
      ['file', recording()],
      ['model', 'real'],
      ['stream', 'True'],
    ])
    expect((await reply.text()).split('\n\n').filter((event) => event !== '')).toEqual([
      'event: transcript.text.delta\ndata: {"type":"transcript.text.delta","delta":"Hello"}',
      'event: transcript.text.done\ndata: {"type":"transcript.text.done","text":"Hello","usage":{"type":"duration","seconds":9}}',
      'data: [DONE]',
    ])
    expect(finished[0]).toMatchObject({ outcome: 'finished', units: { seconds: 9 } })
  })

  it('asks the next target with the same upload', async () => {
    const { gateway, seen } = set({
      a: asJson({ error: { message: 'busy' } }, { status: 503 }),
      b: asJson({ text: 'x' }),
    })
    const reply = await upload(gateway, [
      ['file', recording()],
      ['model', 'both'],
    ])
    expect(await reply.json()).toEqual({ text: 'x' })
    expect(seen[1]?.body).toContain('RIFF')
  })

  it.each([
    [[['model', 'real']], 'file'],
    [
      [
        ['file', 'not a file'],
        ['model', 'real'],
      ],
      'file',
    ],
    [[['file', recording()]], 'model'],
    [
      [
        ['file', recording()],
        ['model', 'real'],
        ['temperature', 'hot'],
      ],
      'temperature',
    ],
    [
      [
        ['file', recording()],
        ['model', 'real'],
        ['temperature', '3'],
      ],
      'temperature',
    ],
    [
      [
        ['file', recording()],
        ['model', 'claude-x'],
      ],
      'model',
    ],
  ] as const)('refuses %j, naming %s', async (fields, param) => {
    const { gateway, seen } = set({ a: asJson({}), m: asJson({}) })
    const reply = await upload(gateway, fields)
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param, type: 'invalid_request_error' } })
  })

  it('refuses what is larger than the limit, and what is no upload', async () => {
    const { gateway, post, seen } = set({ a: asJson({}) }, { limits: { uploadBytes: 300 } })
    const large = await upload(gateway, [
      ['file', new File([new Uint8Array(1000)], 'a.wav')],
      ['model', 'real'],
    ])
    expect(large.status).toBe(413)
    expect((await post('/v1/audio/transcriptions', { model: 'real', file: 'x' })).status).toBe(415)
    expect(seen).toEqual([])
  })

  it('keeps uploads within the limit for other bodies where there is nothing but memory', async () => {
    const { gateway } = set({ a: asJson({}) }, { limits: { bodyBytes: 300 } })
    expect(
      (
        await upload(gateway, [
          ['file', new File([new Uint8Array(1000)], 'a.wav')],
          ['model', 'real'],
        ])
      ).status,
    ).toBe(413)
  })
})

describe('transcription by a model that hears', () => {
  it('is asked for in words', async () => {
    const { gateway, seen, finished } = set({ g: asJson(said(' Hello \n')) })
    const reply = await upload(gateway, [
      ['file', new File([new Uint8Array([1, 2, 3])], 'a.mp3')],
      ['model', 'gemini-x'],
      ['language', 'de'],
      ['prompt', 'Modelgate'],
      ['keywords[]', 'Kiwi'],
      ['temperature', '0.5'],
      ['include[]', 'logprobs'],
    ])
    expect(await reply.json()).toEqual({
      text: 'Hello',
      usage: {
        type: 'tokens',
        input_tokens: 30,
        input_token_details: { text_tokens: 10, audio_tokens: 20 },
        output_tokens: 5,
        total_tokens: 35,
      },
    })
    const sent = JSON.parse(seen[0]?.body ?? '')
    expect(seen[0]?.url).toBe('http://g/v1beta/models/gemini-x:generateContent')
    expect(sent.contents[0].parts[0]).toEqual({ inlineData: { mimeType: 'audio/mpeg', data: 'AQID' } })
    expect(sent.contents[0].parts[1].text).toMatch(/Transcribe.*'de'.*Kiwi.*Modelgate/s)
    expect(sent.generationConfig).toEqual({ temperature: 0.5 })
    expect(finished[0]?.losses.map(({ path, severity }) => [path, severity])).toEqual([
      ['/language', 'note'],
      ['/keywords', 'note'],
      ['/prompt', 'note'],
      ['/include', 'warn'],
    ])
  })

  it('answers text as text, a stream as a stream, silence as nothing', async () => {
    const { gateway } = set({ g: asJson(said('Hello')) })
    const text = await upload(gateway, [
      ['file', recording()],
      ['model', 'gemini-x'],
      ['response_format', 'text'],
    ])
    expect([text.headers.get('content-type'), await text.text()]).toEqual(['text/plain; charset=utf-8', 'Hello'])
    const stream = await upload(gateway, [
      ['file', recording()],
      ['model', 'gemini-x'],
      ['stream', 'true'],
    ])
    expect(await stream.text()).toContain(
      'event: transcript.text.done\ndata: {"type":"transcript.text.done","text":"Hello"',
    )
    const silent = set({ g: asJson(said(undefined)) })
    expect(
      await (
        await upload(silent.gateway, [
          ['file', recording()],
          ['model', 'gemini-x'],
        ])
      ).json(),
    ).toMatchObject({ text: '' })
  })

  it('translates', async () => {
    const { gateway, seen } = set({ g: asJson(said('Hello')) })
    const reply = await upload(
      gateway,
      [
        ['file', recording()],
        ['model', 'gemini-x'],
      ],
      '/v1/audio/translations',
    )
    expect(await reply.json()).toMatchObject({ text: 'Hello' })
    expect(seen[0]?.body).toContain('into English')
  })

  it.each(['srt', 'vtt', 'verbose_json', 'diarized_json'])('is refused as %s: there are no times', async (format) => {
    const { gateway, seen } = set({ g: asJson(said('Hello')) })
    const reply = await upload(gateway, [
      ['file', recording()],
      ['model', 'gemini-x'],
      ['response_format', format],
    ])
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param: 'response_format' } })
  })

  it('that was cut at a limit is no answer', async () => {
    const { gateway } = set({ g: asJson(said('Hel', 'MAX_TOKENS')) })
    expect(
      (
        await upload(gateway, [
          ['file', recording()],
          ['model', 'gemini-x'],
        ])
      ).status,
    ).toBe(502)
  })

  it('refuses a file too large to be written into a body', async () => {
    const { gateway, seen } = set({ g: asJson(said('x')) })
    const big = new File([new Uint8Array(16 * 1024 * 1024)], 'a.wav')
    const reply = await upload(gateway, [
      ['file', big],
      ['model', 'gemini-x'],
    ])
    expect([reply.status, seen.length]).toEqual([413, 0])
    expect(await reply.json()).toMatchObject({ error: { param: 'file' } })
  })
})

const speech = { model: 'real', input: 'Hellö', voice: 'alloy' }

describe('speech on the wire', () => {
  it('passes the sound as it comes, under its own type', async () => {
    const sound = [new Uint8Array([255, 251, 0]), new Uint8Array([13, 10, 0, 128])]
    const { post, seen, finished } = set({ a: asBytes(sound, 'audio/mpeg') })
    const reply = await post('/v1/audio/speech', { ...speech, model: 'alias' })
    expect(reply.headers.get('content-type')).toBe('audio/mpeg')
    expect(new Uint8Array(await reply.arrayBuffer())).toEqual(new Uint8Array([255, 251, 0, 13, 10, 0, 128]))
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual(speech)
    expect(finished[0]).toMatchObject({
      operation: 'speech',
      outcome: 'finished',
      units: { characters: 5 },
      stream: false,
    })
  })

  it('begins before the upstream has ended', async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { post } = set({
      a: () =>
        new Response(
          new ReadableStream<Uint8Array>({
            async pull(controller) {
              controller.enqueue(new Uint8Array([1]))
              await held
              controller.close()
            },
          }),
          { headers: { 'content-type': 'audio/mpeg' } },
        ),
    })
    const reader = (await post('/v1/audio/speech', speech)).body?.getReader()
    expect((await reader?.read())?.value).toEqual(new Uint8Array([1]))
    release()
    expect((await reader?.read())?.done).toBe(true)
  })

  it('that is cut breaks, and never looks whole', async () => {
    const { post, finished } = set({ a: asBytes(['abc'], 'audio/mpeg', true) })
    const reply = await post('/v1/audio/speech', speech)
    expect(reply.status).toBe(200)
    await expect(reply.arrayBuffer()).rejects.toThrow()
    expect(finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_truncated' } } }])
  })

  it('that falls silent breaks', async () => {
    const never = () =>
      new Response(new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array([1])) }), {
        headers: { 'content-type': 'audio/mpeg' },
      })
    const { post, finished } = set({ a: never }, { limits: { idleMs: 30 } })
    await expect((await post('/v1/audio/speech', speech)).arrayBuffer()).rejects.toThrow()
    expect(finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_timeout' } } }])
  })

  it('is stopped when the client leaves', async () => {
    let cancelled = false
    const endless = () =>
      new Response(
        new ReadableStream<Uint8Array>({
          pull: (controller) => controller.enqueue(new Uint8Array(1000)),
          cancel: () => {
            cancelled = true
          },
        }),
        { headers: { 'content-type': 'audio/mpeg' } },
      )
    const { post, finished } = set({ a: endless })
    const reader = (await post('/v1/audio/speech', speech)).body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(cancelled).toBe(true)
    expect(finished).toMatchObject([{ outcome: 'aborted' }])
  })

  it.each([
    ['before its first byte', asBytes([], 'audio/mpeg', true)],
    ['with nothing', asBytes([], 'audio/mpeg')],
    ['with a web page', asBytes(['<html>'], 'text/html')],
    ['with an error under 200', asJson({ error: { message: 'no' } })],
    ['with an error', asJson({ error: { message: 'no' } }, { status: 500 })],
  ])('that ends %s is an error, and the next target is asked', async (_how, answer) => {
    const { post, seen } = set({ a: answer, b: asBytes(['ok'], 'audio/wav') })
    const reply = await post('/v1/audio/speech', { ...speech, model: 'both' })
    expect([await reply.text(), seen.length]).toEqual(['ok', 2])
    const alone = await post('/v1/audio/speech', speech)
    expect(alone.status).toBe(502)
    expect(await alone.json()).toHaveProperty('error.message')
  })

  it('passes events for those who ask for them', async () => {
    const events = [
      'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\n',
      'data: {"type":"speech.audio.done","usage":{"input_tokens":3,"output_tokens":5,"total_tokens":8}}\n\n',
    ]
    const { post, finished } = set({ a: asStream(events) })
    const reply = await post('/v1/audio/speech', { ...speech, stream_format: 'sse' })
    expect(await reply.text()).toBe(events.join(''))
    expect(finished[0]).toMatchObject({ outcome: 'finished', stream: true, usage: { output: { total: 5 } } })
    const cut = set({ a: asStream(events.slice(0, 1)) })
    expect(await (await cut.post('/v1/audio/speech', { ...speech, stream_format: 'sse' })).text()).toContain(
      'event: error',
    )
  })

  it.each([
    [{ ...speech, model: undefined }, 'model'],
    [{ ...speech, input: undefined }, 'input'],
    [{ ...speech, input: '' }, 'input'],
    [{ ...speech, input: ['x'] }, 'input'],
    [{ ...speech, voice: undefined }, 'voice'],
    [{ ...speech, speed: 9 }, 'speed'],
    [{ ...speech, model: 'claude-x' }, 'model'],
  ])('refuses %j, naming %s', async (body, param) => {
    const { post, seen } = set({ a: asJson({}), m: asJson({}) })
    const reply = await post('/v1/audio/speech', body)
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param } })
  })
})

describe('speech by a model that speaks', () => {
  const samples = new Uint8Array([1, 0, 2, 0, 255, 127])
  const spoken = (mimeType = 'audio/L16;codec=pcm;rate=24000', data = 'AQACAP9/') => ({
    candidates: [{ content: { parts: [{ inlineData: { mimeType, data } }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 60, totalTokenCount: 64 },
  })
  const asked = { ...speech, model: 'gemini-tts' }

  it('comes as a WAV file', async () => {
    const { post, seen, finished } = set({ g: asJson(spoken()) })
    const reply = await post('/v1/audio/speech', { ...asked, instructions: 'Cheerfully', speed: 2 })
    expect(reply.headers.get('content-type')).toBe('audio/wav')
    expect(fromWav(new Uint8Array(await reply.arrayBuffer()))).toEqual({ samples, rate: 24000 })
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Cheerfully:\nHellö' }] }],
      generationConfig: {
        responseModalities: ['AUDIO'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
      },
    })
    expect(reply.headers.get('modelgate-loss')).toContain('/voice')
    expect(finished[0]?.losses.map(({ path, severity }) => [path, severity])).toEqual([
      ['/response_format', 'warn'],
      ['/instructions', 'note'],
      ['/speed', 'warn'],
      ['/voice', 'warn'],
    ])
    expect(finished[0]).toMatchObject({ usage: { output: { total: 60 } }, units: { characters: 5 } })
  })

  it.each([
    ['pcm', 'audio/pcm', spoken()],
    ['pcm', 'audio/pcm', spoken('audio/wav', btoa(String.fromCharCode(...toWav(samples, 24000))))],
  ])('comes as %s', async (format, type, answer) => {
    const { post, finished } = set({ g: asJson(answer) })
    const reply = await post('/v1/audio/speech', { ...asked, voice: 'Puck', response_format: format })
    expect(reply.headers.get('content-type')).toBe(type)
    expect(new Uint8Array(await reply.arrayBuffer())).toEqual(samples)
    expect(finished[0]?.losses).toEqual([])
  })

  it('comes as events', async () => {
    const { post } = set({ g: asJson(spoken()) })
    const reply = await post('/v1/audio/speech', { ...asked, response_format: 'pcm', stream_format: 'sse' })
    expect((await reply.text()).split('\n\n').slice(0, 2)).toEqual([
      'event: speech.audio.delta\ndata: {"type":"speech.audio.delta","audio":"AQACAP9/"}',
      'event: speech.audio.done\ndata: {"type":"speech.audio.done","usage":{"input_tokens":4,"output_tokens":60,"total_tokens":64}}',
    ])
  })

  it.each([
    [{ response_format: 'mp3' }, 'response_format'],
    [{ voice: { id: 'voice_1' } }, 'voice'],
  ])('is refused with %j', async (more, param) => {
    const { post, seen } = set({ g: asJson(spoken()) })
    const reply = await post('/v1/audio/speech', { ...asked, ...more })
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param } })
  })

  it.each([said('no'), spoken('audio/mystery'), {}])('that does not come is an error: %j', async (answer) => {
    const { post } = set({ g: asJson(answer) })
    expect((await post('/v1/audio/speech', { ...asked, response_format: 'wav' })).status).toBe(502)
  })
})

describe('an upload’s media type', () => {
  it.each([
    [{ media_type: 'audio/x-m4a; q=1', filename: 'a' }, 'audio/x-m4a'],
    [{ media_type: 'application/octet-stream', filename: 'talk.MP3' }, 'audio/mpeg'],
    [{ filename: 'a.ogg' }, 'audio/ogg'],
    [{ filename: 'constructor' }, 'audio/wav'],
    [undefined, 'audio/wav'],
  ])('%j is %s', (file, type) => expect(mediaTypeOf(file)).toBe(type))
})
