import { describe, expect, it } from 'vitest'
import { asJson, asStream, setUp } from '../../gateway/create-gateway.test-support.ts'
import { completed, drawn, form, made, picture, set, upload } from './images.test-support.ts'

describe('image edits', () => {
  it('pass an upload with unchanged parts', async () => {
    const { gateway, seen, finished } = set({ a: asJson(made) })
    const body = form([
      ['image[]', picture('ä "1".png')],
      ['image[]', picture('b.png')],
      ['mask', picture('m.png')],
      ['prompt', 'a hät'],
      ['model', 'alias'],
      ['n', '1'],
    ])
    expect((await upload(gateway, '/v1/images/edits', body)).status).toBe(200)
    expect(seen[0]?.url).toBe('http://a/v1/images/edits')
    const sent = await new Response(seen[0]?.body, {
      headers: { 'content-type': seen[0]?.headers.get('content-type') ?? '' },
    }).formData()
    expect([...sent.entries()].map(([name, value]) => [name, typeof value === 'string' ? value : value.name])).toEqual([
      ['image[]', 'ä "1".png'],
      ['image[]', 'b.png'],
      ['mask', 'm.png'],
      ['prompt', 'a hät'],
      ['model', 'real'],
      ['n', '1'],
    ])
    expect(finished[0]).toMatchObject({ operation: 'image-edits', lane: 'wire', usage: { input: { image: 40 } } })
  })

  it('pass JSON and its event stream, and send the same upload to the next target', async () => {
    const { post, gateway, seen } = set({
      a: asJson({ error: { message: 'busy' } }, { status: 500 }),
      b: asStream([completed.replaceAll('generation', 'edit')]),
    })
    const json = await post('/v1/images/edits', {
      model: 'both',
      prompt: 'x',
      images: [{ image_url: 'data:image/png;base64,aa' }],
      stream: true,
    })
    expect(await json.text()).toContain('event: image_edit.completed')
    const form1 = await upload(
      gateway,
      '/v1/images/edits',
      form([
        ['image', picture()],
        ['model', 'both'],
        ['prompt', 'x'],
        ['stream', 'true'],
      ]),
    )
    expect(await form1.text()).toContain('event: image_edit.completed')
    expect(seen.map(({ url }) => new URL(url).host)).toEqual(['a', 'a', 'b', 'a', 'a', 'b'])
    expect(seen[5]?.body).toContain('name="image"; filename="a.png"')
  })

  it.each(['upload', 'json'])('are created by models with image output from an %s', async (how) => {
    const { gateway, post, seen, finished } = set({ g: asJson(drawn()) }, { references: { files: ['f'] } })
    const reply =
      how === 'upload'
        ? await upload(
            gateway,
            '/v1/images/edits',
            form([
              ['image[]', picture()],
              ['mask', picture()],
              ['prompt', 'hat'],
              ['model', 'gemini-image'],
            ]),
          )
        : await post('/v1/images/edits', {
            model: 'gemini-image',
            prompt: 'hat',
            images: [{ image_url: 'data:image/png;base64,iVBORwANCi0t' }],
            mask: { file_id: 'f' },
          })
    expect(await reply.json()).toMatchObject({ data: [{ b64_json: 'aW1n' }] })
    expect(JSON.parse(seen[0]?.body ?? '').contents).toEqual([
      { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORwANCi0t' } }, { text: 'hat' }] },
    ])
    expect(finished[0]?.losses.map(({ path, severity }) => [path, severity])).toEqual([['/mask', 'warn']])
  })

  it('reject an image stored by another provider with its parameter', async () => {
    const { post, seen } = set({ g: asJson(drawn()) })
    const reply = await post('/v1/images/edits', {
      model: 'gemini-image',
      prompt: 'x',
      images: [{ file_id: 'file-1' }],
    })
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param: expect.stringContaining('images') } })
  })

  it.each([
    [
      [
        ['prompt', 'x'],
        ['model', 'real'],
      ],
      400,
      'image',
    ],
    [
      [
        ['image', 'text'],
        ['prompt', 'x'],
        ['model', 'real'],
      ],
      400,
      'image.0',
    ],
    [
      [
        ['image', picture()],
        ['model', 'real'],
      ],
      400,
      'prompt',
    ],
    [
      [
        ['image', picture()],
        ['prompt', 'x'],
      ],
      400,
      'model',
    ],
    [
      [
        ['image', picture()],
        ['prompt', 'x'],
        ['model', 'real'],
        ['n', 'two'],
      ],
      400,
      'n',
    ],
    [
      [
        ['image', picture()],
        ['prompt', 'x'],
        ['model', 'real'],
        ['stream', 'maybe'],
      ],
      400,
      'stream',
    ],
    [
      [
        ['image', picture()],
        ['prompt', 'x'],
        ['model', 'nobody'],
      ],
      404,
      'model',
    ],
  ] as const)('return for an upload of %j the status %i with the parameter %s', async (fields, status, param) => {
    const { gateway, seen } = set({ a: asJson(made) })
    const reply = await upload(gateway, '/v1/images/edits', form(fields as never))
    expect([reply.status, seen.length]).toEqual([status, 0])
    expect(await reply.json()).toMatchObject({ error: { param } })
  })

  it.each([
    ['/v1/images/edits', '{"model":"real","prompt":"x"}', 'application/json', 400],
    ['/v1/images/edits', 'x', 'text/plain', 415],
    ['/v1/images/variations', '{"model":"real"}', 'application/json', 415],
    ['/v1/images/generations', 'x', 'multipart/form-data; boundary=x', 415],
    ['/v1/images/edits', '--x\r\nContent-Disp', 'multipart/form-data; boundary=x', 400],
    ['/v1/images/edits', '', 'multipart/form-data; boundary=x', 400],
    ['/v1/images/edits', 'x', 'multipart/form-data', 400],
  ])('return at %s for the body %j of type %s the status %i', async (path, body, type, status) => {
    const { gateway, seen } = set({ a: asJson(made) })
    const reply = await upload(gateway, path, body, { 'content-type': type })
    expect([reply.status, seen.length]).toEqual([status, 0])
    expect(await reply.json()).toHaveProperty('error.message')
  })
})

describe('image variations', () => {
  it('are passed unchanged, also without a model', async () => {
    const { gateway, seen } = setUp({ a: asJson(made) }, { models: { 'dall-e-2': 'a' } as never })
    expect((await upload(gateway, '/v1/images/variations', form([['image', picture()]]))).status).toBe(200)
    expect(seen[0]).toMatchObject({ url: 'http://a/v1/images/variations' })
    expect(seen[0]?.body).toContain('name="model"\r\n\r\ndall-e-2')
  })

  it('are rejected by other providers', async () => {
    const { gateway, seen } = set({ g: asJson(drawn()) })
    const reply = await upload(
      gateway,
      '/v1/images/variations',
      form([
        ['image', picture()],
        ['model', 'gemini-image'],
      ]),
    )
    expect([reply.status, seen.length]).toEqual([400, 0])
  })
})
