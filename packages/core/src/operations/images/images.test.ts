import { describe, expect, it } from 'vitest'
import { asJson, asStream } from '../../gateway/create-gateway.test-support.ts'
import { completed, drawn, made, partial, png, set } from './images.test-support.ts'

describe('image generation that is passed through', () => {
  it('changes only the model’s name and counts images', async () => {
    const odd = `{ "created":1, "data":[{"b64_json":"aW1n"},{"url":"http://x"}], "big":12345678901234567890 }`
    const { post, seen, finished } = set({
      a: () => new Response(odd, { headers: { 'content-type': 'application/json' } }),
    })
    const body = '{ "model":"alias", "prompt":"a cat", "n": 2, "invented": 1.0 }'
    const reply = await post('/v1/images/generations', body)
    expect(await reply.text()).toBe(odd)
    expect(seen[0]).toMatchObject({ url: 'http://a/v1/images/generations', body: body.replace('alias', 'real') })
    expect(finished[0]).toMatchObject({ operation: 'images', lane: 'wire', units: { images: 2 } })
  })

  it('passes partial images and counts usage', async () => {
    const parts = [partial(0), partial(1), completed]
    const { post, finished } = set({ a: asStream(parts) })
    const reply = await post('/v1/images/generations', {
      model: 'real',
      prompt: 'a cat',
      stream: true,
      partial_images: 2,
    })
    expect(reply.headers.get('content-type')).toContain('text/event-stream')
    expect(await reply.text()).toBe(parts.join(''))
    expect(finished[0]).toMatchObject({ outcome: 'finished', units: { images: 1 }, usage: { output: { total: 50 } } })
  })

  it.each([
    ['before the image', [partial(0)], {}],
    ['in the middle of an event', [partial(0), completed.slice(0, -30)], {}],
    ['before the second image', [completed], { n: 2 }],
  ])('reports a stream that is cut off %s', async (_when, parts, requested) => {
    const { post, finished } = set({ a: asStream(parts) })
    const reply = await post('/v1/images/generations', { model: 'real', prompt: 'x', stream: true, ...requested })
    expect(await reply.text()).toMatch(/event: error\ndata: \{"type":"error","error":\{"message":.*upstream_truncated/)
    expect(finished[0]).toMatchObject({ outcome: 'failed' })
  })

  it('converts a whole response to the event that a streaming client expects', async () => {
    const { post, finished } = set({ a: asJson(made) })
    const reply = await post('/v1/images/generations', { model: 'real', prompt: 'x', stream: true, size: '1024x1024' })
    expect(reply.headers.get('content-type')).toContain('text/event-stream')
    const [event] = (await reply.text()).split('\n\n')
    expect(event?.split('\n')[0]).toBe('event: image_generation.completed')
    expect(JSON.parse(event?.split('\n')[1]?.slice(6) ?? '')).toMatchObject({
      b64_json: 'aW1n',
      size: '1024x1024',
      usage: made.usage,
    })
    expect(finished[0]).toMatchObject({ outcome: 'finished', usage: { output: { total: 50 } } })
  })

  it.each([
    [{ prompt: 'x' }, 'model'],
    [{ model: 'real' }, 'prompt'],
    [{ model: 'real', prompt: '' }, 'prompt'],
    [{ model: 'real', prompt: 5 }, 'prompt'],
    [{ model: 'real', prompt: 'x', n: 0 }, 'n'],
    [{ model: 'real', prompt: 'x', n: 1.5 }, 'n'],
    [{ model: 'real', prompt: 'x', size: 5 }, 'size'],
    [{ model: 'real', prompt: 'x', stream: 'yes' }, 'stream'],
    [{ model: 'claude-x', prompt: 'x' }, 'model'],
  ])('rejects %j with the parameter %s', async (body, param) => {
    const { post, seen } = set({ a: asJson(made), m: asJson(made) })
    const reply = await post('/v1/images/generations', body)
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param, type: 'invalid_request_error' } })
  })
})

describe('image generation in other dialects', () => {
  it('calls a model with image output', async () => {
    const { post, seen, finished } = set({ g: asJson(drawn([{ text: 'Here:' }, png])) })
    const reply = await post('/v1/images/generations', {
      model: 'gemini-image',
      prompt: 'a cat',
      n: 2,
      size: '1536x1024',
      quality: 'high',
      background: 'transparent',
      user: 'u',
    })
    expect(await reply.json()).toMatchObject({
      data: [{ b64_json: 'aW1n' }],
      output_format: 'png',
      usage: { input_tokens: 5, output_tokens: 1290, total_tokens: 1295 },
    })
    expect(seen[0]?.url).toBe('http://g/v1beta/models/gemini-image:generateContent')
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'a cat' }] }],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '3:2' }, candidateCount: 2 },
    })
    const [event] = finished
    expect(event).toMatchObject({ lane: 'translate', units: { images: 1 } })
    expect(event?.losses.map(({ path, severity, side }) => [path, severity, side])).toEqual([
      ['/size', 'note', undefined],
      ['/n', 'note', undefined],
      ['/quality', 'warn', undefined],
      ['/background', 'warn', undefined],
      ['/user', 'note', undefined],
      ['/candidates/0/content/parts/0', 'note', 'answer'],
      ['', 'warn', 'answer'],
    ])
  })

  it('calls Imagen through :predict', async () => {
    const { post, seen, finished } = set({
      g: asJson({
        predictions: [
          { mimeType: 'image/jpeg', bytesBase64Encoded: 'aW1n', prompt: 'a nice cat' },
          { raiFilteredReason: 'No.' },
        ],
      }),
    })
    const reply = await post('/v1/images/generations', {
      model: 'imagen-4',
      prompt: 'a cat',
      n: 2,
      size: '1792x1024',
      output_format: 'jpeg',
      output_compression: 50,
    })
    expect(await reply.json()).toMatchObject({
      data: [{ b64_json: 'aW1n', revised_prompt: 'a nice cat' }],
      output_format: 'jpeg',
    })
    expect(seen[0]?.url).toBe('http://g/v1beta/models/imagen-4:predict')
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      instances: [{ prompt: 'a cat' }],
      parameters: {
        sampleCount: 2,
        includeRaiReason: true,
        aspectRatio: '16:9',
        outputOptions: { mimeType: 'image/jpeg', compressionQuality: 50 },
      },
    })
    expect(finished[0]?.losses.map(({ path, detail }) => `${path} ${detail}`)).toEqual([
      expect.stringMatching(/^\/size .*16:9/),
      expect.stringMatching(/ 2 images were requested, 1 returned: No\./),
    ])
  })

  it('sends one event to a streaming client', async () => {
    const { post, finished } = set({ g: asJson(drawn()) })
    const reply = await post('/v1/images/generations', { model: 'gemini-image', prompt: 'x', stream: true })
    expect(await reply.text()).toMatch(
      /^event: image_generation.completed\ndata: \{"type":"image_generation.completed","b64_json":"aW1n"/,
    )
    expect(finished[0]).toMatchObject({ outcome: 'finished', stream: true, units: { images: 1 } })
  })

  it.each([
    ['gemini-image', { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }, 400, 'moderation_blocked'],
    ['gemini-image', drawn([], { finishReason: 'IMAGE_SAFETY' }), 400, 'moderation_blocked'],
    ['gemini-image', drawn([{ text: 'I cannot.' }]), 502, 'upstream_bad_response'],
    ['imagen-4', { predictions: [{ raiFilteredReason: 'Filtered.' }] }, 400, 'moderation_blocked'],
    ['imagen-4', {}, 502, 'upstream_bad_response'],
  ])('reports a response of %s without an image as an error: %j', async (model, body, status, code) => {
    const { post } = set({ g: asJson(body) })
    const reply = await post('/v1/images/generations', { model, prompt: 'x' })
    expect([reply.status, ((await reply.json()) as { error: { code: string } }).error.code]).toEqual([status, code])
  })
})
