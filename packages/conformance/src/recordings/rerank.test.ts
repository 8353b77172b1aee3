import { cohere, type Gateway, jina, openaiCompatible, type Upstream, voyage } from '@modelgate/core'
import { CohereClient, CohereClientV2, CohereError } from 'cohere-ai'
import { describe, expect, test } from 'vitest'
import { type JsonObject, listOf, objectOf, parseJson } from '../base/json.ts'
import { at, type OperationExchange, recordedOperations, replay, whyNoOperations } from './operation-exchanges.ts'

const upstreamOf: Readonly<Record<string, Upstream>> = {
  cohere: cohere({ apiKey: 'key', baseURL: 'http://upstream.test' }),
  jina: jina({ apiKey: 'key', baseURL: 'http://upstream.test/v1' }),
  together: openaiCompatible({ apiKey: 'key', baseURL: 'http://upstream.test/v1', operations: ['rerank'] }),
  openrouter: openaiCompatible({ apiKey: 'key', baseURL: 'http://upstream.test/v1', operations: ['rerank'] }),
  voyage: voyage({ apiKey: 'key', baseURL: 'http://upstream.test/v1' }),
}
const of = (name: string): Upstream => upstreamOf[name] as Upstream

const exchanges = recordedOperations('rerank')
/** Documents for recordings without a request, as many as their responses refer to. */
const tenDocuments = Array.from({ length: 10 }, (_, index) => `document ${index}`)

const rankedOf = (answer: string) =>
  listOf(at(parseJson(answer), 'results') ?? at(parseJson(answer), 'data')).map((item) => {
    const { index, relevance_score: score } = objectOf(item)
    return { index, score }
  })

const options = (gateway: Gateway) => ({
  token: 'good',
  environment: 'http://gateway.test',
  fetch: gateway.fetch as typeof fetch,
  maxRetries: 0,
})

if (exchanges.length === 0) console.log(`rerank: ${whyNoOperations}`)

describe.skipIf(exchanges.length === 0)('recorded rerank responses', () => {
  const wire = exchanges.filter(({ vendor }) => vendor !== 'voyage')

  test('pass byte for byte to clients of their dialect', async () => {
    for (const exchange of wire) {
      const path = new URL(exchange.url).pathname.replace('/api/', '/')
      const body = exchange.request ?? { model: 'm', query: 'q', documents: tenDocuments }
      const model = typeof body.model === 'string' ? body.model : 'm'
      const { post, received, finished } = replay(exchange, of(exchange.vendor))
      const text = JSON.stringify({ ...body, model })
      const reply = await post(path, text)
      expect([reply.status, await reply.text()], exchange.path).toEqual([200, exchange.answer])
      expect(received[0], exchange.path).toBe(text)
      expect(finished[0], exchange.path).toMatchObject({ lane: 'wire', outcome: 'finished' })
      const tokens = at(parseJson(exchange.answer), 'usage', 'total_tokens')
      expect(finished[0]?.usage?.input.total, exchange.path).toBe(tokens)
    }
    expect(wire.length).toBeGreaterThan(8)
  })

  test('have the same result in Cohere’s SDK, v1 and v2, for every provider', async () => {
    for (const exchange of exchanges) {
      const requested = objectOf(exchange.request)
      const documents = Array.isArray(requested.documents) ? (requested.documents as string[]) : tenDocuments
      const { gateway } = replay(exchange, of(exchange.vendor))
      const ask = { model: 'm', query: 'q', documents }
      const ranked = rankedOf(exchange.answer)
      const v2 = await new CohereClientV2(options(gateway)).rerank(ask)
      expect(
        v2.results.map(({ index, relevanceScore: score }) => ({ index, score })),
        exchange.path,
      ).toEqual(ranked)
      const v1 = await new CohereClient(options(gateway)).rerank({ ...ask, returnDocuments: true })
      expect(
        v1.results.map(({ index, relevanceScore: score }) => ({ index, score })),
        exchange.path,
      ).toEqual(ranked)
      // In pass-through, they depend on the upstream's response.
      if (exchange.vendor === 'voyage')
        expect(v1.results.map(({ document }) => document?.text)).toEqual(
          ranked.map(({ index }) => documents[Number(index)]),
        )
    }
  })
})

describe('rerank with Cohere’s SDK, in process', () => {
  const answered = (body: JsonObject, status = 200): OperationExchange => ({
    path: '',
    vendor: 'jina',
    stream: false,
    status,
    url: '',
    request: undefined,
    answer: JSON.stringify(body),
  })
  const documents = ['a', 'b']

  test('supports an upstream of another dialect', async () => {
    const results = [{ index: 1, relevance_score: 0.5 }]
    const set = replay(answered({ model: 'm', results, usage: { total_tokens: 3 } }), of('jina'))
    const ranking = await new CohereClientV2(options(set.gateway)).rerank({
      model: 'm',
      query: 'q',
      documents,
      topN: 1,
    })
    expect(ranking).toMatchObject({
      results: [{ index: 1, relevanceScore: 0.5 }],
      meta: { tokens: { inputTokens: 3 } },
    })
    expect(parseJson(set.received[0] ?? '')).toMatchObject({ documents, top_n: 1 })
  })

  test('throws the SDK’s own error with the message of the provider', async () => {
    const set = replay(answered({ detail: 'no such thing' }, 422), of('jina'))
    const client = new CohereClientV2(options(set.gateway))
    const upstreams = await client.rerank({ model: 'm', query: 'q', documents }).catch((error: unknown) => error)
    expect(upstreams).toBeInstanceOf(CohereError)
    expect(upstreams).toMatchObject({ body: { message: 'no such thing' } })
    const own = await client.rerank({ model: 'm', query: 'q', documents: [] }).catch((error: unknown) => error)
    expect(own).toMatchObject({ statusCode: 400, body: { message: expect.stringContaining("'documents'") } })
  })
})
