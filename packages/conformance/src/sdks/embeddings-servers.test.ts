import { GoogleGenAI } from '@google/genai'
import { cohere, createGateway, openaiCompatible, voyage } from '@modelgate/core'
import { CohereClientV2 } from 'cohere-ai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openaiClient } from '../base/sdk-clients.ts'
import { parsingServers, type Running, servers } from '../base/servers.ts'

/** Provider responses by path. The vectors are exact in float32. */
const vectors = [
  [0.5, -0.25, 3],
  [0.25, 1, -7],
]
const event = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const answers: Readonly<Record<string, () => Response>> = {
  '/v1/embeddings': () =>
    Response.json({
      data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })).reverse(),
      model: 'voyage-x',
      usage: { total_tokens: 5 },
    }),
  '/v2/rerank': () =>
    Response.json({
      id: 'r',
      results: [{ index: 1, relevance_score: 0.75 }],
      meta: { billed_units: { search_units: 1 } },
    }),
  '/v1/chat/completions': () =>
    new Response(`${event({ content: 'wor' }, null)}${event({ content: 'ld' }, 'stop')}data: [DONE]\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    }),
}

const makeGateway = () =>
  createGateway({
    auth: (token) => (token === 'client-token' ? { id: 'me' } : null),
    upstreams: {
      voyage: voyage({ apiKey: 'key', baseURL: 'http://upstream.test/v1' }),
      cohere: cohere({ apiKey: 'key', baseURL: 'http://upstream.test' }),
      chat: openaiCompatible({ apiKey: 'key', baseURL: 'http://upstream.test/v1' }),
    },
    models: { 'voyage-*': 'voyage', 'rerank-*': 'cohere', chat: 'chat' },
    fetch: async (url) => answers[new URL(String(url)).pathname]?.() ?? new Response('', { status: 404 }),
    logger: false,
  })

describe.each([...servers, ...parsingServers])('embeddings and rerank on $name', (server) => {
  let running: Running
  beforeAll(async () => {
    running = await server.start(makeGateway())
  })
  afterAll(() => running.close())

  test('are served to the OpenAI SDK, with embeddings as base64 by default', async () => {
    const client = openaiClient(running)
    const requested = { model: 'voyage-x', input: ['a', 'b'] }
    const { data, usage } = await client.embeddings.create(requested)
    expect(data.map(({ embedding }) => [...embedding])).toEqual(vectors)
    expect(usage).toEqual({ prompt_tokens: 5, total_tokens: 5 })
    const plain = await client.embeddings.create({ ...requested, encoding_format: 'float' })
    expect(plain.data.map(({ embedding }) => embedding)).toEqual(vectors)
    await expect(client.embeddings.create({ ...requested, input: [] })).rejects.toMatchObject({
      status: 400,
      param: 'input',
      code: 'empty_array',
    })
  })

  // The SDK does not accept a function instead of fetch.
  test.each(server.name === 'in process' ? [] : ['v1', 'v1beta'])(
    'are served to Google’s SDK under /%s',
    async (apiVersion) => {
      const client = new GoogleGenAI({ apiKey: 'client-token', apiVersion, httpOptions: { baseUrl: running.origin } })
      const { embeddings } = await client.models.embedContent({ model: 'voyage-x', contents: ['a', 'b'] })
      expect(embeddings?.map(({ values }) => values)).toEqual(vectors)
      const unknown = client.models.embedContent({ model: 'unknown', contents: 'a' })
      await expect(unknown).rejects.toMatchObject({ status: 404 })
    },
  )

  test('are served to Cohere’s SDK', async () => {
    const client = new CohereClientV2({
      token: 'client-token',
      environment: running.origin,
      ...(running.fetch === undefined ? {} : { fetch: running.fetch }),
    })
    const { results } = await client.rerank({ model: 'rerank-x', query: 'q', documents: ['a', 'b'], topN: 1 })
    expect(results).toEqual([{ index: 1, relevanceScore: 0.75 }])
  })

  test('are served next to streamed completions of a chat model', async () => {
    const requested = { model: 'chat', prompt: 'hello ', echo: true, stream: true } as const
    let text = ''
    for await (const { choices } of await openaiClient(running).completions.create(requested)) text += choices[0]?.text
    expect(text).toBe('hello world')
  })
})
