import { describe, expect, it } from 'vitest'
import { asJson, asStream, completion, generated, message, setUp, sse } from '../gateway/create-gateway.test-support.ts'
import { cohere } from '../upstreams/cohere.ts'

const say = [{ role: 'user', content: 'hi' }]
const vectors = {
  object: 'list',
  data: [0, 1].map((index) => ({ object: 'embedding', index, embedding: [index, 0.5] })),
  model: 'real',
  usage: { prompt_tokens: 2, total_tokens: 2 },
}

describe('POST /v2/chat', () => {
  it.each([
    ['real', 'a', completion],
    ['claude-x', 'm', message],
    ['gemini-x', 'g', generated],
  ])('with the model %s returns a message of Cohere', async (model, host, answer) => {
    const { post } = setUp({ [host]: asJson(answer) })
    const reply = await post('/v2/chat', { model, messages: say, stream: false })
    expect(await reply.json()).toMatchObject({
      finish_reason: 'COMPLETE',
      message: { role: 'assistant', content: [{ type: 'text', text: 'hello' }] },
      usage: { tokens: { input_tokens: 3, output_tokens: 1 } },
    })
  })

  it('streams its events, and settles the call with the usage', async () => {
    const { post, finished } = setUp({ a: asStream(sse) })
    const reply = await post('/v2/chat', { model: 'real', messages: say, stream: true })
    expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const text = await reply.text()
    expect(text.match(/^event: .*$/gm)?.map((line) => line.slice(7))).toEqual([
      'message-start',
      'content-start',
      'content-delta',
      'content-delta',
      'content-end',
      'message-end',
    ])
    expect(finished).toMatchObject([{ outcome: 'finished' }])
  })

  it('ends a stream that was cut with an error', async () => {
    const { post, finished } = setUp({ a: asStream(sse.slice(0, 2)) }, { retry: false })
    const text = await (await post('/v2/chat', { model: 'real', messages: say, stream: true })).text()
    expect(text).toContain('"finish_reason":"ERROR","error":"')
    expect(text).not.toContain('COMPLETE')
    expect(finished[0]?.outcome).toBe('failed')
  })

  it('rejects documents, which would be lost, and names the field', async () => {
    const { post, seen } = setUp({ a: asJson(completion) })
    const reply = await post('/v2/chat', { model: 'real', messages: say, documents: ['a fact'] })
    expect(reply.status).toBe(400)
    expect((await reply.json()).message).toContain('documents')
    expect(seen).toEqual([])
  })

  it('reports other losses under the client’s names', async () => {
    const { post, finished } = setUp({ m: asJson(message) })
    const body = { model: 'claude-x', messages: say, frequency_penalty: 0.5, safety_mode: 'STRICT', k: 4 }
    const reply = await post('/v2/chat', body)
    expect(reply.status).toBe(200)
    const paths = finished[0]?.losses.map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['/safety_mode', '/frequency_penalty']))
    expect(reply.headers.get('modelgate-loss')).toContain('/safety_mode')
  })
})

describe('POST /v2/embed', () => {
  const request = { model: 'real', texts: ['one', 'two'], input_type: 'search_query', embedding_types: ['float'] }

  it('is translated for other providers', async () => {
    const { post, seen } = setUp({ a: asJson(vectors) })
    const reply = await post('/v2/embed', { ...request, output_dimension: 2 })
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      model: 'real',
      input: ['one', 'two'],
      encoding_format: 'float',
      dimensions: 2,
    })
    expect(await reply.json()).toEqual({
      id: expect.stringMatching(/^embed-/),
      embeddings: {
        float: [
          [0, 0.5],
          [1, 0.5],
        ],
      },
      texts: ['one', 'two'],
      response_type: 'embeddings_by_type',
      meta: { api_version: { version: '2' }, billed_units: { input_tokens: 2 } },
    })
    expect(reply.headers.get('modelgate-loss')).toContain('/input_type')
  })

  it('passes to Cohere with the same bytes', async () => {
    const body = '{ "model":"embed-x", "texts":["one"], "embedding_types":["int8"],"new_field":1 }'
    const answer = { id: '1', embeddings: { int8: [[1]] }, meta: { billed_units: { input_tokens: 1 } } }
    const { post, seen, finished } = setUp({ c: asJson(answer) }, {
      upstreams: { c: cohere({ apiKey: 'k', baseURL: 'http://c' }) },
      models: { 'embed-x': 'c' },
    } as object)
    const reply = await post('/v2/embed', body)
    expect(await reply.text()).toBe(JSON.stringify(answer))
    expect(seen).toMatchObject([{ url: 'http://c/v2/embed', body }])
    expect(finished[0]?.usage?.input.total).toBe(1)
  })

  it.each([
    [{ texts: undefined }, 'texts'],
    [{ texts: [1] }, 'texts'],
    [{ texts: [] }, 'texts'],
    [{ embedding_types: ['int8'] }, 'embedding_types'],
    [{ texts: undefined, images: ['data:image/png;base64,AAAA'] }, 'images'],
  ])('with %j is rejected by a model that cannot serve it, and names %s', async (change, field) => {
    const { post } = setUp({ a: asJson(vectors) })
    const reply = await post('/v2/embed', { ...request, ...change })
    expect(reply.status).toBe(400)
    expect((await reply.json()).message).toContain(field)
  })

  it('returns base64, and reports a second type', async () => {
    const { post } = setUp({ a: asJson(vectors) })
    const reply = await post('/v2/embed', { ...request, embedding_types: ['base64', 'int8'] })
    expect((await reply.json()).embeddings).toEqual({ base64: ['AAAAAAAAAD8=', 'AACAPwAAAD8='] })
    expect(reply.headers.get('modelgate-loss')).toContain('/embedding_types/1')
  })
})

describe('GET /v1/models for Cohere’s clients', () => {
  const list = async (agent: string, query = '') => {
    const { gateway } = setUp({}, { models: { 'gpt-5': 'a', 'text-embedding-3-small': 'a' } })
    const reply = await gateway.fetch(`http://gw/v1/models${query}`, {
      headers: { authorization: 'Bearer good', 'user-agent': agent },
    })
    return await reply.json()
  }

  it.each(['cohere-ai/8.1.0', 'cohere/5.20.0'])('lists models with their endpoints to %s', async (agent) => {
    expect((await list(agent)).models).toMatchObject([
      { name: 'gpt-5', endpoints: ['chat'] },
      { name: 'text-embedding-3-small', endpoints: ['embed'] },
    ])
  })

  it('lists the models of one endpoint', async () => {
    const { models } = await list('cohere-ai/8.1.0', '?endpoint=embed')
    expect(models.map(({ name }: { name: string }) => name)).toEqual(['text-embedding-3-small'])
  })

  it('describes one model, and reports an unknown one in Cohere’s form', async () => {
    const { gateway } = setUp({}, { models: { 'gpt-5': 'a' } })
    const get = (name: string) =>
      gateway.fetch(`http://gw/v1/models/${name}`, {
        headers: { authorization: 'Bearer good', 'user-agent': 'cohere-ai/8.1.0' },
      })
    expect(await (await get('gpt-5')).json()).toMatchObject({ name: 'gpt-5', endpoints: ['chat'] })
    const unknown = await get('gpt-6')
    expect([unknown.status, typeof (await unknown.json()).message]).toEqual([404, 'string'])
  })
})
