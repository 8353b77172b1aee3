import { describe, expect, it } from 'vitest'
import { asJson, asStream } from '../../gateway/create-gateway.test-support.ts'
import { asBytes, audioResponse, recording, set, upload } from './audio.test-support.ts'
import { mediaTypeOf } from './request.ts'

const delta = 'data: {"type":"transcript.text.delta","delta":"Hel"}\n\n'
const done =
  'data: {"type":"transcript.text.done","text":"Hello","usage":{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":0,"audio_tokens":14},"output_tokens":2,"total_tokens":16}}\n\n'

describe('transcription that is passed through', () => {
  it.each([
    ['json', '{"text":"Hello","usage":{"type":"duration","seconds":9}}', 'application/json'],
    ['verbose_json', '{"text":"Hello","duration":9,"segments":[{"id":0}]}', 'application/json'],
    ['text', 'Hello\n', 'text/plain; charset=utf-8'],
    ['srt', '1\n00:00:00,000 --> 00:00:01,000\nHello\n', 'text/plain; charset=utf-8'],
    ['vtt', 'WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n', 'text/vtt'],
    ['text', '', 'text/plain'],
  ])('passes %s unchanged', async (format, text, type) => {
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

  it('passes a stream of events and counts its usage', async () => {
    const { gateway, finished } = set({ a: asStream([delta, done]) })
    const reply = await upload(gateway, [
      ['file', recording()],
      ['model', 'real'],
      ['stream', 'true'],
    ])
    expect(await reply.text()).toBe(delta + done)
    expect(finished[0]).toMatchObject({ outcome: 'finished', stream: true, usage: { input: { total: 14, audio: 14 } } })
  })

  it('reports a stream that is cut off', async () => {
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

  it('sends events to a streaming client if the model does not stream', async () => {
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

  it('sends the same upload to the next target', async () => {
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
  ] as const)('rejects %j with the parameter %s', async (fields, param) => {
    const { gateway, seen } = set({ a: asJson({}), m: asJson({}) })
    const reply = await upload(gateway, fields)
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param, type: 'invalid_request_error' } })
  })

  it('rejects a body above the limit, and a body that is not an upload', async () => {
    const { gateway, post, seen } = set({ a: asJson({}) }, { limits: { uploadBytes: 300 } })
    const large = await upload(gateway, [
      ['file', new File([new Uint8Array(1000)], 'a.wav')],
      ['model', 'real'],
    ])
    expect(large.status).toBe(413)
    expect((await post('/v1/audio/transcriptions', { model: 'real', file: 'x' })).status).toBe(415)
    expect(seen).toEqual([])
  })

  it('applies the limit of other bodies to uploads that are held in memory', async () => {
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

describe('transcription by a general model', () => {
  it('is requested by an instruction', async () => {
    const { gateway, seen, finished } = set({ g: asJson(audioResponse(' Hello \n')) })
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

  it('returns text as text, a stream as a stream, and silence as an empty text', async () => {
    const { gateway } = set({ g: asJson(audioResponse('Hello')) })
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
    const silent = set({ g: asJson(audioResponse(undefined)) })
    expect(
      await (
        await upload(silent.gateway, [
          ['file', recording()],
          ['model', 'gemini-x'],
        ])
      ).json(),
    ).toMatchObject({ text: '' })
  })

  it('translates to English', async () => {
    const { gateway, seen } = set({ g: asJson(audioResponse('Hello')) })
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

  it.each(['srt', 'vtt', 'verbose_json', 'diarized_json'])(
    'rejects the format %s, which requires timestamps',
    async (format) => {
      const { gateway, seen } = set({ g: asJson(audioResponse('Hello')) })
      const reply = await upload(gateway, [
        ['file', recording()],
        ['model', 'gemini-x'],
        ['response_format', format],
      ])
      expect([reply.status, seen.length]).toEqual([400, 0])
      expect(await reply.json()).toMatchObject({ error: { param: 'response_format' } })
    },
  )

  it('results in an error if the response was cut at a token limit', async () => {
    const { gateway } = set({ g: asJson(audioResponse('Hel', 'MAX_TOKENS')) })
    expect(
      (
        await upload(gateway, [
          ['file', recording()],
          ['model', 'gemini-x'],
        ])
      ).status,
    ).toBe(502)
  })

  it('rejects a file that is too large for a JSON body', async () => {
    const { gateway, seen } = set({ g: asJson(audioResponse('x')) })
    const big = new File([new Uint8Array(16 * 1024 * 1024)], 'a.wav')
    const reply = await upload(gateway, [
      ['file', big],
      ['model', 'gemini-x'],
    ])
    expect([reply.status, seen.length]).toEqual([413, 0])
    expect(await reply.json()).toMatchObject({ error: { param: 'file' } })
  })
})

describe('an upload’s media type', () => {
  it.each([
    [{ media_type: 'audio/x-m4a; q=1', filename: 'a' }, 'audio/x-m4a'],
    [{ media_type: 'application/octet-stream', filename: 'talk.MP3' }, 'audio/mpeg'],
    [{ filename: 'a.ogg' }, 'audio/ogg'],
    [{ filename: 'constructor' }, 'audio/wav'],
    [undefined, 'audio/wav'],
  ])('is detected for %j as %s', (file, type) => expect(mediaTypeOf(file)).toBe(type))
})
