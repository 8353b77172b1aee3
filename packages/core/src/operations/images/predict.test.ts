import { describe, expect, it } from 'vitest'
import { asJson } from '../../gateway/create-gateway.test-support.ts'
import { set } from './images.test-support.ts'

const predictions = { predictions: [{ mimeType: 'image/png', bytesBase64Encoded: 'aW1n' }] }
const body = { instances: [{ prompt: 'a cat' }], parameters: { sampleCount: 2 } }
const path = (model: string): string => `/v1beta/models/${model}:predict`

describe('a client of :predict', () => {
  it('has its request passed byte for byte to an upstream of the same dialect', async () => {
    const { post, seen, finished } = set({ g: asJson(predictions) })
    const text = '{ "instances":[{"prompt":"h\\u00ef"}], "invented": 12345678901234567890 }'
    const reply = await post(path('imagen-4'), text)
    expect(await reply.json()).toEqual(predictions)
    expect(seen[0]).toMatchObject({ url: 'http://g/v1beta/models/imagen-4:predict', body: text })
    expect(finished[0]).toMatchObject({ operation: 'images', lane: 'wire', outcome: 'finished', units: { images: 4 } })
  })

  it.each([
    [{}, 'instances'],
    [{ instances: [] }, 'instances'],
    [{ instances: [{}] }, 'instances.0.prompt'],
    [{ ...body, parameters: { sampleCount: 'two' } }, 'parameters.sampleCount'],
  ])('receives an error for %j without an upstream call', async (wrong, field) => {
    const { post, seen } = set({ g: asJson(predictions) })
    const reply = await post(path('imagen-4'), wrong)
    expect([reply.status, seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({
      error: { status: 'INVALID_ARGUMENT', message: expect.stringContaining(field) },
    })
  })

  it('receives an error if the upstream has no such operation', async () => {
    const { post, seen } = set({ a: asJson(predictions) })
    const reply = await post(path('real'), body)
    expect([reply.status, seen.length]).toEqual([400, 0])
  })

  it.each([
    [{}, 'text-embedding-005'],
    [{ instances: [] }, 'gemini-embedding-001'],
    [{ instances: [{ title: 'a page' }] }, 'text-embedding-005'],
    [{ instances: [{ task_type: 'RETRIEVAL_QUERY' }] }, 'vectors'],
  ])('receives an error of embeddings for %j if the model is %s', async (wrong, model) => {
    const models = { '*': 'g', vectors: { upstream: 'g', model: 'text-embedding-005' } } as const
    const { post, seen } = set({ g: asJson(predictions) }, { models })
    const reply = await post(path(model), wrong)
    expect([reply.status, seen.length]).toEqual([400, 0])
    const { error } = await reply.json()
    expect(error.message).not.toContain('prompt')
    expect(error.message).toMatch(/instances/)
  })
})
