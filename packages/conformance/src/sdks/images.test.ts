import { GoogleGenAI } from '@google/genai'
import type OpenAI from 'openai'
import { type APIError, toFile } from 'openai'
import { describe, expect, test } from 'vitest'
import { type Running, servers } from '../base/servers.ts'
import { eventResponse, jsonResponse, type MediaUpstream, sha256, useMediaFixture } from './multipart-fixture.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)
const made = {
  created: 1,
  data: [{ b64_json: png.toString('base64') }],
  usage: {
    total_tokens: 3,
    input_tokens: 1,
    output_tokens: 2,
    input_tokens_details: { text_tokens: 1, image_tokens: 0 },
  },
}
const drawn = {
  candidates: [
    {
      content: { role: 'model', parts: [{ inlineData: { mimeType: 'image/png', data: png.toString('base64') } }] },
      finishReason: 'STOP',
    },
  ],
}
const event = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

for (const server of servers)
  describe(server.name, () => {
    let upstream: MediaUpstream
    let running: Running
    let client: OpenAI
    useMediaFixture(server, (setting) => {
      upstream = setting.upstream
      running = setting.running
      client = setting.client
    })

    // Google's SDK needs HTTP.
    if (server.name !== 'in process')
      test('generates images with the Google SDK', async () => {
        const prediction = { mimeType: 'image/png', bytesBase64Encoded: png.toString('base64') }
        upstream.answer = (_call, res) => jsonResponse(res, { predictions: [prediction] })
        const google = new GoogleGenAI({ vertexai: true, apiKey: 'good', httpOptions: { baseUrl: running.origin } })
        const { generatedImages } = await google.models.generateImages({
          model: 'imagen-4',
          prompt: 'a cat',
          config: { numberOfImages: 1 },
        })
        expect(generatedImages?.[0]?.image?.imageBytes).toBe(png.toString('base64'))
        expect(upstream.calls).toHaveLength(1)
      })

    test('generates images', async () => {
      upstream.answer = (_call, res) => jsonResponse(res, made)
      const answer = await client.images.generate({ model: 'alias', prompt: 'a cat', n: 1 })
      expect(answer).toMatchObject(made)
      expect(upstream.calls[0]).toMatchObject({
        path: '/v1/images/generations',
        json: { model: 'real', prompt: 'a cat' },
      })
    })

    test('generates images with partial images', async () => {
      upstream.answer = (_call, res) =>
        eventResponse(
          res,
          event('image_generation.partial_image', { b64_json: 'aa', partial_image_index: 0 }) +
            event('image_generation.completed', { b64_json: 'bb', usage: made.usage }),
        )
      const types: string[] = []
      const stream = await client.images.generate({ model: 'alias', prompt: 'x', stream: true, partial_images: 1 })
      for await (const { type } of stream) types.push(type)
      expect(types).toEqual(['image_generation.partial_image', 'image_generation.completed'])
    })

    test('throws for a truncated stream', async () => {
      upstream.answer = (_call, res) =>
        eventResponse(res, event('image_generation.partial_image', { b64_json: 'aa', partial_image_index: 0 }))
      const stream = await client.images.generate({ model: 'alias', prompt: 'x', stream: true, partial_images: 1 })
      const reading = (async () => {
        for await (const _ of stream);
      })()
      await expect(reading).rejects.toThrow(/before the end of its response/)
    })

    test('edits image files', async () => {
      upstream.answer = (_call, res) => jsonResponse(res, made)
      const image = [await toFile(png, 'ä "1".png', { type: 'image/png' }), await toFile(png.subarray(1), 'b.png')]
      const mask = await toFile(png, 'mask.png', { type: 'image/png' })
      expect(await client.images.edit({ model: 'alias', prompt: 'a hat', image, mask })).toMatchObject(made)
      const [call] = upstream.calls
      expect(call).toMatchObject({ path: '/v1/images/edits', fields: { model: ['real'], prompt: ['a hat'] } })
      // openai 7 sends the mask first.
      expect(call?.files.toSorted((one, other) => one.name.localeCompare(other.name))).toMatchObject([
        { name: 'image[]', filename: 'ä "1".png', type: 'image/png', sha256: sha256(png) },
        { name: 'image[]', filename: 'b.png', sha256: sha256(png.subarray(1)) },
        { name: 'mask', filename: 'mask.png', sha256: sha256(png) },
      ])
    })

    test('creates an image variation', async () => {
      upstream.answer = (_call, res) => jsonResponse(res, made)
      const image = await toFile(png, 'a.png', { type: 'image/png' })
      expect(await client.images.createVariation({ model: 'alias', image })).toMatchObject(made)
      expect(upstream.calls[0]).toMatchObject({ path: '/v1/images/variations', files: [{ sha256: sha256(png) }] })
    })

    test('serves images of models with another API', async () => {
      upstream.answer = ({ path }, res) =>
        jsonResponse(
          res,
          path.endsWith(':predict') ? { predictions: [{ bytesBase64Encoded: 'aW1n', mimeType: 'image/png' }] } : drawn,
        )
      const generated = await client.images.generate({ model: 'imagen-4', prompt: 'x' })
      expect(generated.data?.[0]?.b64_json).toBe('aW1n')
      const image = await toFile(png, 'a.png', { type: 'image/png' })
      const edited = await client.images.edit({ model: 'gemini-image', prompt: 'x', image, size: '1024x1024' })
      expect(edited.data?.[0]?.b64_json).toBe(png.toString('base64'))
      expect(JSON.stringify(upstream.calls[1]?.json)).toContain(png.toString('base64'))
    })

    test('rejects invalid input with the name of the field and without an upstream call', async () => {
      const image = await toFile(png, 'a.png')
      const refusal = (promise: Promise<unknown>) =>
        promise.then(
          () => undefined,
          (error: APIError) => error,
        )
      expect(await refusal(client.images.generate({ prompt: 'x' }))).toMatchObject({ status: 400, param: 'model' })
      expect(await refusal(client.images.generate({ model: 'nobody', prompt: 'x' }))).toMatchObject({ status: 404 })
      expect(await refusal(client.images.edit({ model: 'alias', prompt: '', image }))).toMatchObject({
        param: 'prompt',
      })
      expect(await refusal(client.images.edit({ model: 'alias', prompt: 'x', image: [] }))).toMatchObject({
        param: 'image',
      })
      expect(upstream.calls).toEqual([])
    })
  })
