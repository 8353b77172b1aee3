import { describe, expect, it } from 'vitest'
import { type Answer, asJson, setUp } from '../../gateway/create-gateway.test-support.ts'
import { cohere } from '../../upstreams/cohere.ts'
import { jina } from '../../upstreams/jina.ts'
import { openaiCompatible } from '../../upstreams/openai-compatible.ts'
import { voyage } from '../../upstreams/voyage.ts'

const upstreams = {
  c: cohere({ apiKey: 'sk-canary-cccccccc', baseURL: 'http://c' }),
  j: jina({ apiKey: 'sk-canary-jjjjjjjj', baseURL: 'http://j/v1' }),
  t: openaiCompatible({ apiKey: 'sk-canary-tttttttt', baseURL: 'http://t/v1', operations: ['rerank'] }),
  v: voyage({ apiKey: 'sk-canary-vvvvvvvv', baseURL: 'http://v/v1' }),
}
const ranked = [
  { index: 2, relevance_score: 0.9 },
  { index: 0, relevance_score: 0.25 },
]
const answers: { [host: string]: Answer } = {
  c: asJson({ id: 'r1', results: ranked, meta: { api_version: { version: '2' }, billed_units: { search_units: 1 } } }),
  j: asJson({ model: 'served', results: ranked, usage: { total_tokens: 9 } }),
  t: asJson({ id: 'r2', model: 'served', results: ranked, usage: { prompt_tokens: 9, total_tokens: 9 } }),
  v: asJson({ object: 'list', data: ranked, model: 'served', usage: { total_tokens: 9 } }),
}
const gatewayTo = (own: { [host: string]: Answer } = answers) =>
  setUp(own, {
    upstreams,
    models: { c: 'c', j: 'j', t: 't', v: 'v', alias: { upstream: 'c', model: 'real' } },
  } as never)
const sent = ({ seen }: { seen: { body: string }[] }) => JSON.parse(seen[0]?.body ?? '')
const documents = ['a', 'b', 'c']

describe('rerank', () => {
  it.each([
    ['/v2/rerank', 'c', 'http://c/v2/rerank'],
    ['/v1/rerank', 'c', 'http://c/v1/rerank'],
    ['/v1/rerank', 'j', 'http://j/v1/rerank'],
    ['/v1/rerank', 't', 'http://t/v1/rerank'],
    ['/v1/v2/rerank', 'c', 'http://c/v2/rerank'],
  ])('passes a request at %s unchanged to an upstream of the same dialect: %s', async (path, model, url) => {
    const odd = '{ "results":[ ], "big":12345678901234567890, "usage":{"total_tokens":2} }'
    const set = gatewayTo({ [model]: () => new Response(odd) })
    const body = `{ "model":"${model}", "query":"q", "documents":["h\\u00ef"], "invented": 12345678901234567890 }`
    const reply = await set.post(path, body)
    expect(await reply.text()).toBe(odd)
    expect(set.seen[0]).toMatchObject({ url, body })
    expect(set.finished[0]).toMatchObject({ operation: 'rerank', lane: 'wire', outcome: 'finished' })
  })

  it.each([
    ['/v2/rerank', 'j', 'http://j/v1/rerank', { documents, top_n: 2, return_documents: false }],
    ['/v2/rerank', 'v', 'http://v/v1/rerank', { documents, top_k: 2 }],
    ['/v1/rerank', 'v', 'http://v/v1/rerank', { documents, top_k: 2 }],
  ])('translates a request at %s to the dialect of %s', async (path, model, url, body) => {
    const set = gatewayTo()
    const reply = await set.post(path, { model, query: 'q', documents, top_n: 2 })
    expect(set.seen[0]?.url).toBe(url)
    expect(sent(set)).toEqual({ model, query: 'q', ...body })
    expect(reply.headers.get('modelgate-loss')).toBeNull()
    expect(await reply.json()).toMatchObject({ id: expect.any(String), results: ranked })
    expect(set.finished[0]).toMatchObject({ lane: 'translate', usage: { input: { total: 9 }, output: { total: 0 } } })
  })

  it('responds in the shape of each path', async () => {
    const requested = { model: 'v', query: 'q', documents }
    const v2 = await gatewayTo().post('/v2/rerank', requested)
    expect(await v2.json()).toEqual({
      id: expect.stringMatching(/^rerank-/),
      results: ranked,
      meta: { api_version: { version: '2' }, tokens: { input_tokens: 9 } },
    })
    const v1 = await gatewayTo().post('/v1/rerank', requested)
    expect(await v1.json()).toEqual({
      id: expect.stringMatching(/^rerank-/),
      model: 'served',
      object: 'list',
      results: ranked,
      meta: { api_version: { version: '1' }, tokens: { input_tokens: 9 } },
      usage: { total_tokens: 9 },
    })
  })

  it('returns the client’s documents with all their fields', async () => {
    const set = gatewayTo()
    const own = [{ text: 'a', title: 'A' }, 'b', { text: 'c' }]
    const reply = await set.post('/v1/rerank', { model: 'v', query: 'q', documents: own, return_documents: true })
    expect(sent(set).documents).toEqual(['a', 'b', 'c'])
    expect((await reply.json()).results).toEqual([
      { ...ranked[0], document: { text: 'c' } },
      { ...ranked[1], document: { text: 'a', title: 'A' } },
    ])
    expect(reply.headers.get('modelgate-loss')).toBe('"/documents/0";kind=approximated;severity=note')
  })

  it('ranks the named fields as Cohere does', async () => {
    const set = gatewayTo()
    const own = [{ title: 'T', text: 'x', year: 2020 }, 'plain', { text: 'only' }]
    await set.post('/v1/rerank', { model: 'v', query: 'q', documents: own, rank_fields: ['title', 'year', 'text'] })
    expect(sent(set).documents).toEqual(['title: T\nyear: 2020\ntext: x', 'plain', 'text: only'])
  })

  it('ranks a field once if it is named twice', async () => {
    const set = gatewayTo()
    await set.post('/v1/rerank', { model: 'v', query: 'q', documents: [{ a: 'x' }], rank_fields: ['a', 'a'] })
    expect(sent(set).documents).toEqual(['a: x'])
  })

  it('sorts and truncates results if the upstream did not', async () => {
    const data = [0.1, 0.9, 0.5].map((relevance_score, index) => ({ index, relevance_score }))
    const set = gatewayTo({ v: asJson({ data }) })
    const reply = await set.post('/v2/rerank', { model: 'v', query: 'q', documents, top_n: 2 })
    expect((await reply.json()).results.map(({ index }: { index: number }) => index)).toEqual([1, 2])
  })

  it.each([
    ['/v2/rerank', { max_tokens_per_doc: 5 }, '"/max_tokens_per_doc";kind=unsupported;severity=warn'],
    ['/v2/rerank', { priority: 5 }, '"/priority";kind=unsupported;severity=note'],
    ['/v2/rerank', { invented: 5 }, '"/invented";kind=unsupported;severity=warn'],
    ['/v1/rerank', { max_chunks_per_doc: 5 }, '"/max_chunks_per_doc";kind=unsupported;severity=warn'],
  ])('reports the losses at %s of %j', async (path, extra, losses) => {
    const reply = await gatewayTo().post(path, { model: 'v', query: 'q', documents, ...extra })
    expect([reply.status, reply.headers.get('modelgate-loss')]).toEqual([200, losses])
  })

  it('rejects a document without text for upstreams that rank only texts', async () => {
    const set = gatewayTo()
    const reply = await set.post('/v1/rerank', { model: 'v', query: 'q', documents: ['a', { image: 'http://i' }] })
    expect([reply.status, set.seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param: 'documents.1' } })
  })

  it.each([
    ['without a list', {}],
    ['with an index out of range', { data: [{ index: 3, relevance_score: 1 }] }],
    ['with a fractional index', { data: [{ index: 0.5, relevance_score: 1 }] }],
    ['with a duplicate document', { data: [ranked[0], ranked[0]] }],
    ['without a score', { data: [{ index: 0 }] }],
  ])('results in an upstream error if the response is %s', async (_, body) => {
    const reply = await gatewayTo({ v: asJson(body) }).post('/v2/rerank', { model: 'v', query: 'q', documents })
    expect(reply.status).toBe(502)
  })

  it.each([
    ['/v1/rerank', { query: 'q', documents }, 'model'],
    ['/v1/rerank', { model: 'c', documents }, 'query'],
    ['/v1/rerank', { model: 'c', query: 5, documents }, 'query'],
    ['/v1/rerank', { model: 'c', query: 'q' }, 'documents'],
    ['/v1/rerank', { model: 'c', query: 'q', documents: [] }, 'documents'],
    ['/v1/rerank', { model: 'c', query: 'q', documents: 'a' }, 'documents'],
    ['/v1/rerank', { model: 'c', query: 'q', documents: ['a', 5] }, 'documents.1'],
    ['/v1/rerank', { model: 'c', query: 'q', documents, top_n: 0 }, 'top_n'],
    ['/v1/rerank', { model: 'c', query: 'q', documents, return_documents: 'yes' }, 'return_documents'],
    ['/v2/rerank', { model: 'c', query: 'q', documents: [{ text: 'a' }] }, 'documents.0'],
    ['/v2/rerank', { model: 'c', query: 'q', documents, top_n: 1.5 }, 'top_n'],
    ['/v2/rerank', { model: 'none', query: 'q', documents }, 'model'],
  ])('rejects at %s %j with the parameter %s for all clients', async (path, body, param) => {
    const set = gatewayTo()
    const reply = await set.post(path, body)
    expect([reply.status, set.seen.length]).toEqual([param === 'model' && 'model' in body ? 404 : 400, 0])
    const responseBody = await reply.json()
    expect(responseBody).toMatchObject({ message: expect.any(String), error: { param, message: responseBody.message } })
  })

  it('reports an upstream’s error and an invalid token to all clients', async () => {
    const set = gatewayTo({ c: asJson({ id: 'x', message: 'too many documents' }, { status: 400 }) })
    const reply = await set.post('/v2/rerank', { model: 'c', query: 'q', documents })
    expect(await reply.json()).toMatchObject({
      message: 'too many documents',
      error: { message: 'too many documents' },
    })
    const unknown = await set.post('/v2/rerank', {}, { authorization: 'Bearer bad' })
    expect([unknown.status, await unknown.json()]).toMatchObject([401, { message: expect.any(String) }])
  })
})
