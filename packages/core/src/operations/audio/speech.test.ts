import { describe, expect, it } from 'vitest'
import { asJson, asStream } from '../../gateway/create-gateway.test-support.ts'
import { asBytes, audioResponse, set } from './audio.test-support.ts'
import { fromWav, toWav } from './wav.ts'

const speech = { model: 'real', input: 'Hellö', voice: 'alloy' }

describe('speech that is passed through', () => {
  it('keeps its bytes and content type', async () => {
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

  it('begins before the upstream has finished', async () => {
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

  it('ends in an error if it is cut off', async () => {
    const { post, finished } = set({ a: asBytes(['abc'], 'audio/mpeg', true) })
    const reply = await post('/v1/audio/speech', speech)
    expect(reply.status).toBe(200)
    await expect(reply.arrayBuffer()).rejects.toThrow()
    expect(finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_truncated' } } }])
  })

  it('ends in an error if the upstream stops sending', async () => {
    const never = () =>
      new Response(new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array([1])) }), {
        headers: { 'content-type': 'audio/mpeg' },
      })
    const { post, finished } = set({ a: never }, { limits: { idleMs: 30 } })
    await expect((await post('/v1/audio/speech', speech)).arrayBuffer()).rejects.toThrow()
    expect(finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_idle_timeout' } } }])
  })

  it('is cancelled when the client disconnects', async () => {
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
    ['with an empty body', asBytes([], 'audio/mpeg')],
    ['with a web page', asBytes(['<html>'], 'text/html')],
    ['with an error body and status 200', asJson({ error: { message: 'no' } })],
    ['with an error and status 500', asJson({ error: { message: 'no' } }, { status: 500 })],
  ])('falls back to the next target if it ends %s', async (_how, answer) => {
    const { post, seen } = set({ a: answer, b: asBytes(['ok'], 'audio/wav') }, { retry: { attempts: 2 } })
    const reply = await post('/v1/audio/speech', { ...speech, model: 'both' })
    expect([await reply.text(), seen.length]).toEqual(['ok', 2])
    const alone = await post('/v1/audio/speech', speech)
    expect(alone.status).toBe(502)
    expect(await alone.json()).toHaveProperty('error.message')
  })

  it('passes events to clients that request them', async () => {
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

  it('results in an error if the upstream sends audio instead of the requested events', async () => {
    const { post } = set({ a: asBytes(['abc'], 'audio/mpeg') })
    expect((await post('/v1/audio/speech', { ...speech, stream_format: 'sse' })).status).toBe(502)
  })

  it.each([
    [{ ...speech, model: undefined }, 'model'],
    [{ ...speech, input: undefined }, 'input'],
    [{ ...speech, input: '' }, 'input'],
    [{ ...speech, input: ['x'] }, 'input'],
    [{ ...speech, voice: undefined }, 'voice'],
    [{ ...speech, speed: 9 }, 'speed'],
    [{ ...speech, model: 'claude-x' }, 'model'],
  ])('rejects %j with the parameter %s', async (body, param) => {
    const { post, seen } = set({ a: asJson({}), m: asJson({}) })
    const reply = await post('/v1/audio/speech', body)
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param } })
  })
})

describe('speech by a general model', () => {
  const samples = new Uint8Array([1, 0, 2, 0, 255, 127])
  const spoken = (mimeType = 'audio/L16;codec=pcm;rate=24000', data = 'AQACAP9/') => ({
    candidates: [{ content: { parts: [{ inlineData: { mimeType, data } }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 60, totalTokenCount: 64 },
  })
  const requested = { ...speech, model: 'gemini-tts' }

  it('is returned as a WAV file', async () => {
    const { post, seen, finished } = set({ g: asJson(spoken()) })
    const reply = await post('/v1/audio/speech', { ...requested, instructions: 'Cheerfully', speed: 2 })
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
  ])('is returned as %s', async (format, type, answer) => {
    const { post, finished } = set({ g: asJson(answer) })
    const reply = await post('/v1/audio/speech', { ...requested, voice: 'Puck', response_format: format })
    expect(reply.headers.get('content-type')).toBe(type)
    expect(new Uint8Array(await reply.arrayBuffer())).toEqual(samples)
    expect(finished[0]?.losses).toEqual([])
  })

  it('is returned as events', async () => {
    const { post } = set({ g: asJson(spoken()) })
    const reply = await post('/v1/audio/speech', { ...requested, response_format: 'pcm', stream_format: 'sse' })
    expect((await reply.text()).split('\n\n').slice(0, 2)).toEqual([
      'event: speech.audio.delta\ndata: {"type":"speech.audio.delta","audio":"AQACAP9/"}',
      'event: speech.audio.done\ndata: {"type":"speech.audio.done","usage":{"input_tokens":4,"output_tokens":60,"total_tokens":64}}',
    ])
  })

  it.each([
    [{ response_format: 'mp3' }, 'response_format'],
    [{ voice: { id: 'voice_1' } }, 'voice'],
  ])('rejects %j', async (more, param) => {
    const { post, seen } = set({ g: asJson(spoken()) }, { references: { voices: 'pass' } })
    const reply = await post('/v1/audio/speech', { ...requested, ...more })
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param } })
  })

  it.each([audioResponse('no'), spoken('audio/mystery'), {}])(
    'results in an error if the response contains no audio: %j',
    async (answer) => {
      const { post } = set({ g: asJson(answer) })
      expect((await post('/v1/audio/speech', { ...requested, response_format: 'wav' })).status).toBe(502)
    },
  )
})
