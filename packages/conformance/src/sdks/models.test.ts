import { GoogleGenAI } from '@google/genai'
import { createGateway } from '@modelgate/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { upstreamOf } from '../base/gateways.ts'
import { anthropicClient, openaiClient } from '../base/sdk-clients.ts'
import { type Running, servers } from '../base/servers.ts'

/** The official clients fetch all pages of one list, each in its own shape. */

const models = Array.from({ length: 73 }, (_, index) => `model-${index}`)
const gateway = createGateway({
  auth: (token) => (token === 'client-token' ? { id: 'me' } : null),
  upstreams: { up: upstreamOf('chat') },
  models: Object.fromEntries([...models, 'hidden-*'].map((name) => [name, 'up' as const])),
  logger: false,
})

async function all<T>(
  pages: AsyncIterable<T>,
  nameOf: (entry: T) => string | undefined,
): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = []
  for await (const entry of pages) found.push(nameOf(entry))
  return found
}

describe('model lists in process', () => {
  const place = { fetch: gateway.fetch }
  test('are read by the OpenAI SDK', async () => {
    const client = openaiClient(place)
    expect(await all(client.models.list(), ({ id }) => id)).toEqual(models)
    expect(await client.models.retrieve('model-3')).toMatchObject({ id: 'model-3', object: 'model' })
    await expect(client.models.retrieve('nobody')).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
  })

  test.each([undefined, 7, 73, 1000])('are read by the Anthropic SDK, %s models per page', async (limit) => {
    const client = anthropicClient(place)
    const params = limit === undefined ? {} : { limit }
    expect(await all(client.models.list(params), ({ id }) => id)).toEqual(models)
  })

  test('are read by the Anthropic SDK backwards and one by one', async () => {
    const client = anthropicClient(place)
    const back = await all(client.models.list({ limit: 10, before_id: 'model-30' }), ({ id }) => id)
    expect([...back].sort()).toEqual(models.slice(0, 30).sort())
    expect(await client.models.retrieve('hidden-x')).toMatchObject({ id: 'hidden-x', type: 'model' })
    await expect(client.models.retrieve('nobody')).rejects.toMatchObject({ status: 404 })
    await expect(client.models.list({ limit: 0 })).rejects.toMatchObject({ status: 400 })
  })
})

// Google's client needs HTTP.
describe.each(servers.filter(({ name }) => name === 'node:http'))('model lists on $name', ({ start }) => {
  let running: Running
  beforeAll(async () => {
    running = await start(gateway)
  })
  afterAll(() => running.close())

  test.each(
    ['v1', 'v1beta'].flatMap((apiVersion) => [undefined, 9, 73].map((pageSize) => [apiVersion, pageSize] as const)),
  )('are read by the Google SDK on %s, %s models per page', async (apiVersion, pageSize) => {
    const client = new GoogleGenAI({ apiKey: 'client-token', httpOptions: { baseUrl: running.origin, apiVersion } })
    const pager = await client.models.list(pageSize === undefined ? {} : { config: { pageSize } })
    expect(await all(pager, ({ name }) => name)).toEqual(models.map((name) => `models/${name}`))
    expect(await client.models.get({ model: 'model-3' })).toMatchObject({
      name: 'models/model-3',
      supportedActions: ['generateContent', 'streamGenerateContent', 'countTokens'],
    })
    await expect(client.models.get({ model: 'nobody' })).rejects.toMatchObject({ status: 404 })
  })
})
