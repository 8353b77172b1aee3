import { describe, expect, it } from 'vitest'
import { type Answer, asJson, setUp } from '../../gateway/create-gateway.test-support.ts'
import { cohere } from '../../upstreams/cohere.ts'
import { gemini } from '../../upstreams/gemini.ts'
import { jina } from '../../upstreams/jina.ts'
import { openai } from '../../upstreams/openai.ts'
import { voyage } from '../../upstreams/voyage.ts'

const halves = 'AAAAPwAAgL4='
const list = {
  object: 'list',
  data: [
    { object: 'embedding', index: 1, embedding: [0.25, 1] },
    { object: 'embedding', index: 0, embedding: [0.5, -0.25] },
  ],
  model: 'served',
  usage: { prompt_tokens: 7, total_tokens: 7 },
}
const sorted = [
  [0.5, -0.25],
  [0.25, 1],
]
const upstreams = {
  o: openai({ apiKey: 'sk-canary-oooooooo', baseURL: 'http://o/v1' }),
  g: gemini({ apiKey: 'sk-canary-gggggggg', baseURL: 'http://g' }),
  c: cohere({ apiKey: 'sk-canary-cccccccc', baseURL: 'http://c' }),
  v: voyage({ apiKey: 'sk-canary-vvvvvvvv', baseURL: 'http://v/v1' }),
  j: jina({ apiKey: 'sk-canary-jjjjjjjj', baseURL: 'http://j/v1' }),
}
const models = {
  o: 'o',
  g: 'g',
  c: 'c',
  v: 'v',
  j: 'j',
  alias: { upstream: 'o', model: 'real' },
  'short*': { upstream: 'g', model: 'long*' },
}

const answers: { [host: string]: Answer } = {
  o: asJson(list),
  g: asJson({ embeddings: sorted.map((values) => ({ values })), usageMetadata: { promptTokenCount: 7 } }),
  c: asJson({ id: 'e', embeddings: { float: sorted }, meta: { billed_units: { input_tokens: 7 } } }),
  v: asJson({ ...list, usage: { total_tokens: 7 } }),
  j: asJson(list),
}
const gatewayTo = (own: { [host: string]: Answer } = answers) => setUp(own, { upstreams, models } as never)
const sent = ({ seen }: { seen: { body: string }[] }) => JSON.parse(seen[0]?.body ?? '')

describe('embeddings for OpenAI’s clients', () => {
  it.each(['/v1/embeddings', '/embeddings', '/v1/v1/embeddings'])(
    'are passed byte for byte to an upstream of the same dialect: %s',
    async (path) => {
      const odd =
        '{ "data":[{"embedding":[0.10000000000000000001],"index":0}], "usage":{"prompt_tokens":3,"total_tokens":3} }'
      const set = gatewayTo({ o: () => new Response(odd) })
      const body = '{ "model":"alias", "input":[[1,2],[3]], "invented":12345678901234567890 }'
      const reply = await set.post(path, body)
      expect(await reply.text()).toBe(odd)
      expect(set.seen[0]).toMatchObject({ url: 'http://o/v1/embeddings', body: body.replace('alias', 'real') })
      expect(set.finished[0]).toMatchObject({ operation: 'embeddings', lane: 'wire', usage: { input: { total: 3 } } })
    },
  )

  const bodies: [string, string, object][] = [
    [
      'g',
      'http://g/v1beta/models/g:batchEmbedContents',
      {
        requests: ['a', 'b'].map((text) => ({
          model: 'models/g',
          content: { parts: [{ text }] },
          outputDimensionality: 2,
        })),
      },
    ],
    [
      'c',
      'http://c/v2/embed',
      {
        model: 'c',
        texts: ['a', 'b'],
        input_type: 'search_document',
        embedding_types: ['float'],
        output_dimension: 2,
        truncate: 'NONE',
      },
    ],
    ['v', 'http://v/v1/embeddings', { model: 'v', input: ['a', 'b'], output_dimension: 2, truncation: false }],
    ['j', 'http://j/v1/embeddings', { model: 'j', input: ['a', 'b'], dimensions: 2, embedding_type: 'float' }],
  ]
  it.each(bodies)('are requested from %s in its own dialect', async (model, url, body) => {
    const set = gatewayTo()
    const reply = await set.post('/v1/embeddings', { model, input: ['a', 'b'], dimensions: 2, user: 'me' })
    expect(await reply.json()).toEqual({
      object: 'list',
      data: sorted.map((embedding, index) => ({ object: 'embedding', index, embedding })),
      model: model === 'v' || model === 'j' ? 'served' : model,
      usage: { prompt_tokens: 7, total_tokens: 7 },
    })
    expect(set.seen[0]?.url).toBe(url)
    expect(sent(set)).toEqual(body)
    expect(reply.headers.get('modelgate-loss')).toContain('"/user";kind=unsupported;severity=note')
    expect(set.finished[0]).toMatchObject({ lane: 'translate', usage: { input: { total: 7 }, output: { total: 0 } } })
  })

  it.each(['g', 'c', 'v', 'j'])('are returned from %s in the requested encoding', async (model) => {
    const set = gatewayTo()
    const reply = await set.post('/v1/embeddings', { model, input: ['a', 'b'], encoding_format: 'base64' })
    expect((await reply.json()).data[0].embedding).toBe(halves)
  })

  it('are decoded to numbers if the upstream always sends base64', async () => {
    const set = gatewayTo({ v: asJson({ data: [{ embedding: halves, index: 0 }], usage: { total_tokens: 1 } }) })
    const reply = await set.post('/v1/embeddings', { model: 'v', input: 'a' })
    expect((await reply.json()).data).toEqual([{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }])
  })

  it.each([
    ['c', 'query', { input_type: 'search_query' }],
    ['v', 'document', { input_type: 'document' }],
    ['j', 'search_query', { task: 'retrieval.query' }],
    ['g', 'clustering', { requests: [{ taskType: 'CLUSTERING' }, { taskType: 'CLUSTERING' }] }],
  ])('pass the input_type of compatible servers on to %s: %s', async (model, word, body) => {
    const set = gatewayTo()
    const reply = await set.post('/v1/embeddings', { model, input: ['a', 'b'], input_type: word })
    expect(reply.headers.get('modelgate-loss') ?? '').not.toContain('input_type')
    expect(sent(set)).toMatchObject(body)
  })

  it.each([
    [{ input_type: 'clustering' }, 'v', '"/input_type";kind=unsupported;severity=warn'],
    [{ input_type: 'invented' }, 'c', '"/input_type";kind=unsupported;severity=warn'],
    [{ invented: { x: 1 } }, 'g', '"/invented";kind=unsupported;severity=warn'],
    [{}, 'c', '"/input_type";kind=approximated;severity=note'],
    [{ dimensions: 3 }, 'j', '"";kind=approximated;severity=warn;in=answer'],
  ])('report the losses of %j at %s', async (extra, model, losses) => {
    const set = gatewayTo()
    const reply = await set.post('/v1/embeddings', { model, input: ['a', 'b'], ...extra })
    expect(reply.status).toBe(200)
    expect(reply.headers.get('modelgate-loss')).toContain(losses)
  })

  it.each(['g', 'c', 'v', 'j'])('reject tokens for %s, which cannot read them', async (model) => {
    for (const input of [
      [1, 2],
      [[1], [2]],
    ]) {
      const set = gatewayTo()
      const reply = await set.post('/v1/embeddings', { model, input })
      expect(reply.status).toBe(400)
      expect(await reply.json()).toMatchObject({ error: { param: 'input', code: 'unsupported_parameter' } })
      expect(set.seen).toHaveLength(0)
    }
  })

  it('report a usage of zero as a loss if the upstream counted no tokens', async () => {
    const set = gatewayTo({ g: asJson({ embeddings: [{ values: [1] }] }) })
    const reply = await set.post('/v1/embeddings', { model: 'g', input: 'a' })
    expect(await reply.json()).toMatchObject({ usage: { prompt_tokens: 0, total_tokens: 0 } })
    expect(reply.headers.get('modelgate-loss')).toContain('"";kind=approximated;severity=note;in=answer')
  })

  it.each([
    ['without a list', {}],
    ['one vector short', { data: [{ embedding: [1], index: 0 }] }],
    ['two vectors with the same index', { data: [0, 0].map((index) => ({ embedding: [1], index })) }],
    ['an index out of range', { data: [0, 5].map((index) => ({ embedding: [1], index })) }],
    ['a list without vectors', { data: [0, 1].map((index) => ({ embedding: 'x', index })) }],
  ])('result in an upstream error if the response is %s', async (_, body) => {
    const set = gatewayTo({ v: asJson(body) })
    const reply = await set.post('/v1/embeddings', { model: 'v', input: ['a', 'b'] })
    expect(reply.status).toBe(502)
    expect(await reply.json()).toMatchObject({ error: { code: 'upstream_bad_response' } })
  })

  it.each([
    [{ input: 'x' }, 'model', 'missing_required_parameter'],
    [{ model: 5, input: 'x' }, 'model', 'invalid_type'],
    [{ model: 'o' }, 'input', 'missing_required_parameter'],
    [{ model: 'o', input: null }, 'input', 'invalid_type'],
    [{ model: 'o', input: '' }, 'input', 'empty_string'],
    [{ model: 'o', input: [] }, 'input', 'empty_array'],
    [{ model: 'o', input: [[]] }, 'input.0', 'invalid_type'],
    [{ model: 'o', input: ['a', 1] }, 'input.1', 'invalid_type'],
    [{ model: 'o', input: [1, 1.5] }, 'input.1', 'invalid_type'],
    [{ model: 'o', input: [{}] }, 'input.0', 'invalid_type'],
    [{ model: 'o', input: 'x', dimensions: 0 }, 'dimensions', 'integer_below_min_value'],
    [{ model: 'o', input: 'x', dimensions: 1.5 }, 'dimensions', 'invalid_type'],
    [{ model: 'o', input: 'x', dimensions: 'x' }, 'dimensions', 'invalid_type'],
    [{ model: 'o', input: 'x', encoding_format: 'hex' }, 'encoding_format', 'invalid_value'],
    [{ model: 'o', input: 'x', user: 5 }, 'user', 'invalid_type'],
  ])('reject %j with the parameter %s', async (body, param, code) => {
    const set = gatewayTo()
    const reply = await set.post('/v1/embeddings', body)
    expect([reply.status, set.seen.length]).toEqual([400, 0])
    expect(await reply.json()).toMatchObject({ error: { param, code, type: 'invalid_request_error' } })
  })

  it('ignore stream, which embeddings do not have', async () => {
    const set = gatewayTo()
    const reply = await set.post('/v1/embeddings', { model: 'o', input: 'x', stream: true })
    expect(await reply.json()).toEqual(list)
  })

  it('name the client’s field, not the upstream’s field, in an upstream error', async () => {
    const set = gatewayTo({
      v: asJson({ detail: 'output_dimension is not supported' }, { status: 400 }),
      j: asJson({ error: { message: 'bad', param: 'embedding_type' } }, { status: 400 }),
    })
    const fromVoyage = await set.post('/v1/embeddings', { model: 'v', input: 'x' })
    expect(await fromVoyage.json()).toMatchObject({ error: { message: 'output_dimension is not supported' } })
    const fromJina = await set.post('/v1/embeddings', { model: 'j', input: 'x' })
    expect(await fromJina.json()).toMatchObject({ error: { message: 'bad', param: null } })
  })

  it('are rejected for an upstream without embeddings, as chat is for one with embeddings only', async () => {
    const { post, chat } = setUp({})
    expect(await (await post('/v1/embeddings', { model: 'claude-x', input: 'x' })).json()).toMatchObject({
      error: { param: 'model', message: expect.stringContaining('embeddings') },
    })
    const only = gatewayTo()
    expect((await only.chat({ model: 'v' })).status).toBe(400)
    expect([(await chat({ model: 'none' })).status]).toEqual([404])
  })
})

describe('embeddings for Google’s clients', () => {
  const one = { content: { parts: [{ text: 'a' }] } }

  it('are passed unchanged to an upstream of the same dialect', async () => {
    const set = gatewayTo({ g: () => new Response('{ "embedding":{"values":[1.0]} }') })
    const body = '{ "model":"models/g", "content":{"parts":[{"text":"a"}]}, "task_type":"CLUSTERING" }'
    const reply = await set.post('/v1beta/models/g:embedContent', body)
    expect(await reply.text()).toBe('{ "embedding":{"values":[1.0]} }')
    expect(set.seen[0]).toMatchObject({ url: 'http://g/v1beta/models/g:embedContent', body })
  })

  it.each(['/v1beta/models', '/v1/models', '/v1/v1beta/models'])(
    'have every model name in a batch replaced: %s',
    async (prefix) => {
      const set = gatewayTo()
      const requests = [{ ...one, model: 'models/short-x' }, one]
      const reply = await set.post(`${prefix}/short-x:batchEmbedContents?key=good`, { requests })
      expect(reply.status).toBe(200)
      expect(set.seen[0]?.url).toBe('http://g/v1beta/models/long-x:batchEmbedContents')
      expect(sent(set)).toEqual({ requests: [{ ...one, model: 'models/long-x' }, one] })
      expect(set.finished[0]).toMatchObject({ lane: 'wire', usage: { input: { total: 7 } } })
    },
  )

  const batch = {
    requests: ['a', 'b'].map((text) => ({
      model: 'models/x',
      content: { role: 'user', parts: [{ text }] },
      task_type: 'RETRIEVAL_QUERY',
      outputDimensionality: 2,
    })),
  }
  it.each([
    ['o', { input: ['a', 'b'], dimensions: 2, encoding_format: 'float' }, '"/requests/0/task_type";kind=unsupported'],
    ['c', { texts: ['a', 'b'], input_type: 'search_query', output_dimension: 2 }, undefined],
    ['v', { input: ['a', 'b'], input_type: 'query', output_dimension: 2 }, undefined],
    ['j', { input: ['a', 'b'], task: 'retrieval.query', dimensions: 2 }, undefined],
  ])('are requested from %s in its own dialect', async (model, body, expected) => {
    const set = gatewayTo()
    const requests = batch.requests.map((request) => ({ ...request, model: `models/${model}` }))
    const reply = await set.post(`/v1beta/models/${model}:batchEmbedContents`, { requests })
    expect(await reply.json()).toEqual({
      embeddings: sorted.map((values) => ({ values })),
      usageMetadata: { promptTokenCount: 7 },
    })
    expect(sent(set)).toMatchObject({ model, ...body })
    const header = reply.headers.get('modelgate-loss')
    if (expected === undefined) expect(header).toBeNull()
    else expect(header).toContain(expected)
  })

  it('return one vector for one content', async () => {
    const set = gatewayTo({ v: asJson({ data: [{ index: 0, embedding: [1, 2] }], usage: { total_tokens: 2 } }) })
    const requested = {
      ...one,
      embedContentConfig: { taskType: 'CODE_RETRIEVAL_QUERY', autoTruncate: true, documentOcr: true },
    }
    const reply = await set.post('/v1/models/v:embedContent', requested)
    expect(await reply.json()).toEqual({ embedding: { values: [1, 2] }, usageMetadata: { promptTokenCount: 2 } })
    expect(sent(set)).toEqual({ model: 'v', input: ['a'], input_type: 'query', truncation: true })
    expect(reply.headers.get('modelgate-loss')).toBe(
      '"/embedContentConfig/documentOcr";kind=unsupported;severity=warn, "/embedContentConfig/taskType";kind=approximated;severity=warn',
    )
  })

  it('include an image if the upstream accepts one, and are rejected otherwise', async () => {
    const image = { inline_data: { mime_type: 'image/png', data: 'iVBORw0KGgo=' } }
    const body = { content: { parts: [{ text: 'logo' }, image] } }
    const one = { embeddings: { float: [[1, 2]] } }
    const set = gatewayTo({ c: asJson(one) })
    expect((await set.post('/v1beta/models/c:embedContent', body)).status).toBe(200)
    expect(sent(set).inputs).toEqual([
      {
        content: [
          { type: 'text', text: 'logo' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
    ])
    for (const model of ['o', 'v', 'j']) {
      const reply = await set.post(`/v1beta/models/${model}:embedContent`, body)
      expect([reply.status, (await reply.json()).error.status]).toEqual([400, 'INVALID_ARGUMENT'])
    }
  })

  it('join several texts of a content if the upstream accepts one text', async () => {
    const set = gatewayTo({ v: asJson({ data: [{ embedding: [1] }] }) })
    const parts = [{ text: 'a' }, { text: 'b' }]
    const reply = await set.post('/v1beta/models/v:embedContent', { content: { parts } })
    expect(sent(set).input).toEqual(['a\nb'])
    expect(reply.headers.get('modelgate-loss')).toBe('"/content";kind=approximated;severity=note')
  })

  it('reject different sizes for each input unless the upstream has the same dialect', async () => {
    const requests = [2, 3].map((outputDimensionality) => ({ ...one, outputDimensionality }))
    const set = gatewayTo()
    expect((await set.post('/v1beta/models/g:batchEmbedContents', { requests })).status).toBe(200)
    const reply = await set.post('/v1beta/models/o:batchEmbedContents', { requests })
    expect(reply.status).toBe(400)
    expect((await reply.json()).error.message).toContain('requests.1.outputDimensionality')
  })

  it.each([
    ['embedContent', {}, 'content'],
    ['embedContent', { content: 'a' }, 'content'],
    ['embedContent', { content: { parts: [] } }, 'content.parts'],
    ['embedContent', { content: { parts: [{ text: 5 }] } }, 'content.parts[0].text'],
    ['embedContent', { ...one, output_dimensionality: 'x' }, 'output_dimensionality'],
    ['embedContent', { ...one, outputDimensionality: 0 }, 'output_dimensionality'],
    ['embedContent', { ...one, taskType: 5 }, 'task_type'],
    ['embedContent', { ...one, embedContentConfig: { autoTruncate: 'x' } }, 'embed_content_config.auto_truncate'],
    ['embedContent', { ...one, model: 'models/other' }, 'model'],
    ['batchEmbedContents', {}, 'requests'],
    ['batchEmbedContents', { requests: [] }, 'requests'],
    ['batchEmbedContents', { requests: [5] }, 'requests[0]'],
    ['batchEmbedContents', { requests: [one, { ...one, model: 'models/other' }] }, 'requests[1].model'],
    ['batchEmbedContents', { requests: [{}] }, 'requests[0].content'],
  ])('are rejected by %s for %j with the parameter %s', async (action, body, field) => {
    const set = gatewayTo()
    const reply = await set.post(`/v1beta/models/g:${action}`, body)
    expect([reply.status, set.seen.length]).toEqual([400, 0])
    const { error } = await reply.json()
    expect(error).toMatchObject({ code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining(field) })
  })
})
