import type Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { createGateway, type ModelCard } from '@modelgate/core'
import { OpenRouter } from '@openrouter/sdk'
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

const card: ModelCard = {
  name: 'House model',
  contextWindow: 200_000,
  maxOutput: 20_000,
  modalities: { input: ['text', 'image'], output: ['text'] },
  capabilities: { tools: true, structuredOutputs: true, efforts: ['low', 'high'] },
  prices: { input: 2.5, output: 10 },
}
/** One model with facts and one without, as every client must be able to read both. */
const describing = createGateway({
  auth: 'none',
  upstreams: { up: upstreamOf('chat') },
  models: { house: { upstream: 'up', model: 'unknown', card }, bare: { upstream: 'up', model: 'unknown' } },
  logger: false,
})
const yes = { supported: true }
const no = { supported: false }

describe('facts of models', () => {
  test('are read by the OpenAI SDK', async () => {
    const { data } = await openaiClient({ fetch: describing.fetch }).models.list()
    expect(data).toMatchObject([
      {
        id: 'house',
        context_length: 200_000,
        max_output_tokens: 20_000,
        architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
        supported_parameters: expect.arrayContaining(['tools', 'structured_outputs', 'reasoning']),
        pricing: { prompt: '0.0000025', completion: '0.00001' },
      },
      { id: 'bare', object: 'model' },
    ])
  })

  test('are read by the Anthropic SDK with every member of its types', async () => {
    const client = anthropicClient({ fetch: describing.fetch })
    const [house, bare] = (await client.models.list()).data
    expect(house).toEqual({
      id: 'house',
      type: 'model',
      display_name: 'House model',
      created_at: '1970-01-01T00:00:00Z',
      deprecated_at: null,
      retires_at: null,
      lifecycle: 'active',
      line: null,
      max_input_tokens: 200_000,
      max_tokens: 20_000,
      capabilities: {
        batch: no,
        citations: no,
        code_execution: no,
        context_management: {
          ...no,
          clear_thinking_20251015: no,
          clear_tool_uses_20250919: no,
          compact_20260112: no,
        },
        effort: { ...yes, low: yes, medium: no, high: yes, xhigh: no, max: no },
        image_input: yes,
        pdf_input: no,
        server_tools: { ...no, code_execution: no, web_search: no },
        structured_outputs: yes,
        thinking: { ...yes, types: { adaptive: yes, between_tools: no, disabled: no, enabled: yes } },
      },
    } satisfies Anthropic.ModelInfo)
    expect(bare).toMatchObject({ id: 'bare', capabilities: null, max_input_tokens: null, max_tokens: null })
  })

  test('are read by the OpenRouter SDK, which checks every member', async () => {
    const running = await (servers.find(({ name }) => name === 'node:http') ?? servers[0])?.start(describing)
    if (running === undefined) throw new Error('no server')
    try {
      const client = new OpenRouter({ apiKey: 'any', serverURL: `${running.origin}/api/v1` })
      const { data } = (await client.models.list()).result
      expect(data).toMatchObject([
        {
          id: 'house',
          contextLength: 200_000,
          architecture: { inputModalities: ['text', 'image'] },
          topProvider: { maxCompletionTokens: 20_000 },
          pricing: { prompt: '0.0000025' },
        },
        { id: 'bare', contextLength: null, supportedParameters: [] },
      ])
    } finally {
      await running.close()
    }
  })
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

test('facts of models are read by the Google SDK', async () => {
  const running = await servers.find(({ name }) => name === 'node:http')?.start(describing)
  if (running === undefined) throw new Error('node:http is missing')
  try {
    const client = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: running.origin } })
    expect(await client.models.get({ model: 'house' })).toMatchObject({
      name: 'models/house',
      displayName: 'House model',
      inputTokenLimit: 200_000,
      outputTokenLimit: 20_000,
      supportedActions: ['generateContent', 'streamGenerateContent', 'countTokens'],
    })
  } finally {
    await running.close()
  }
})
