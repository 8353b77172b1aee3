import { describe, expect, it, test } from 'vitest'
import {
  asJson,
  asStream,
  chunk,
  completion,
  generatedEvents,
  message,
  setUp,
  sse,
} from '../gateway/create-gateway.test-support.ts'
import { openai } from '../upstreams/openai.ts'

type Fields = Record<string, unknown>
const hi = [{ role: 'user', content: 'hi' }]
const linesOf = async (reply: Response): Promise<Fields[]> =>
  (await reply.text())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Fields)

describe('POST /api/chat', () => {
  it('streams lines of JSON by default', async () => {
    const { post, seen, finished } = setUp({ a: asStream(sse) })
    const reply = await post('/api/chat', { model: 'real', messages: hi })
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
    const lines = await linesOf(reply)
    expect(lines.map(({ message: said, done }) => [(said as Fields).content, done])).toEqual([
      ['hel', false],
      ['lo', false],
      ['', true],
    ])
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({ model: 'real', messages: hi, stream: true })
    expect(finished).toMatchObject([{ format: 'ollama', stream: true, upstreamFormat: 'chat', outcome: 'finished' }])
  })

  it.each([
    ['real', 'a', asJson(completion)],
    ['claude-x', 'm', asJson(message)],
  ])('responds as a whole on request: %s', async (model, host, answer) => {
    const { post } = setUp({ [host]: answer })
    const reply = await post('/api/chat', { model, messages: hi, stream: false })
    expect(reply.headers.get('content-type')).toContain('application/json')
    expect(await reply.json()).toMatchObject({
      message: { role: 'assistant', content: 'hello' },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 3,
      eval_count: 1,
    })
  })

  it('reports losses in the header, and settings of the machine as notes', async () => {
    const { post } = setUp({ a: asJson(completion) })
    const body = {
      model: 'real',
      messages: hi,
      stream: false,
      keep_alive: '5m',
      options: { num_ctx: 9, min_p: 0.1, repeat_penalty: 1 },
    }
    const reply = await post('/api/chat', body)
    expect(reply.headers.get('modelgate-loss')).toBe(
      '"/options/min_p";kind=unsupported;severity=warn, "/keep_alive";kind=unsupported;severity=note, "/options/num_ctx";kind=unsupported;severity=note',
    )
  })

  it('reports losses that a stream shows late in its last line', async () => {
    const odd = [chunk({ role: 'assistant', content: 'a', tomorrow: 1 }), chunk({}, 'stop'), 'data: [DONE]\n\n']
    const { post } = setUp({ a: asStream(odd) })
    const lines = await linesOf(await post('/api/chat', { model: 'real', messages: hi }))
    expect(lines.map(({ modelgate_loss: losses }) => losses !== undefined)).toEqual([false, true])
    expect(lines.at(-1)).toMatchObject({ done: true, modelgate_loss: expect.stringContaining('/tomorrow') })
  })

  it.each([
    ['is cut off', [sse[0], sse[1]]],
    ['fails', [sse[0], sse[1], 'data: {"error":{"message":"overheated","type":"server_error"}}\n\n']],
  ])('ends a stream that %s with an error as its last line', async (_name, parts) => {
    const { post, finished } = setUp({ a: asStream(parts as string[]) }, { retry: false })
    const lines = await linesOf(await post('/api/chat', { model: 'real', messages: hi }))
    expect(lines.slice(0, -1)).toMatchObject([{ message: { content: 'hel' }, done: false }])
    expect(Object.keys(lines.at(-1) ?? {})).toEqual(['error'])
    expect(finished).toMatchObject([{ outcome: 'failed' }])
  })

  it('keeps a silent stream alive with spaces, which JSON parsers skip', async () => {
    const { post } = setUp({ g: asStream(generatedEvents, 60) }, { limits: { heartbeatMs: 20 } })
    const text = await (await post('/api/chat', { model: 'gemini-x', messages: hi })).text()
    expect(text).toMatch(/(^|\n) +\{/)
    expect(text.split('\n').every((line) => line === '' || line.trim() !== '')).toBe(true)
    for (const line of text.split('\n').filter((one) => one !== '')) JSON.parse(line)
  })

  it('accepts any content type, as that of curl’s -d', async () => {
    const { post } = setUp({ a: asJson(completion) })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await post('/api/chat', { model: 'real', messages: hi, stream: false }, headers)).status).toBe(200)
  })

  it('explains a call with the framing and defaults of the route', async () => {
    const { gateway } = setUp({})
    const explained = await gateway.explain('http://gw/api/chat', {
      method: 'POST',
      headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'real:latest', messages: hi }),
    })
    expect(explained).toMatchObject({ format: 'ollama', model: 'real', stream: true })
  })
})

describe('names of models with a tag', () => {
  const models = { real: 'a', 'tagged:latest': { upstream: 'a', model: 'own' }, tagged: 'a', 'qwen3:8b': 'a' } as const
  it.each([
    ['real:latest', 'real'],
    ['real', 'real'],
    ['tagged:latest', 'own'],
    ['tagged', 'tagged'],
    ['qwen3:8b', 'qwen3:8b'],
  ])('mean the model: %s → %s', async (name, sent) => {
    const { post, seen } = setUp({ a: asJson(completion) }, { models })
    expect((await post('/api/chat', { model: name, messages: hi, stream: false })).status).toBe(200)
    expect(JSON.parse(seen[0]?.body ?? '').model).toBe(sent)
  })

  it('are accepted for callers who may use the model, and for no others', async () => {
    const { post } = setUp({ a: asJson(completion) }, { models, auth: () => ({ id: 'me', models: ['real'] }) })
    const statusOf = async (name: string) =>
      (await post('/api/chat', { model: name, messages: hi, stream: false })).status
    expect(await statusOf('real:latest')).toBe(200)
    expect(await statusOf('tagged:latest')).toBe(404)
    expect(await statusOf('unknown:latest')).toBe(404)
  })

  it('are no other spelling on the paths of other formats', async () => {
    const { post } = setUp({ a: asJson(completion) }, { models })
    expect((await post('/v1/chat/completions', { model: 'real:latest', messages: hi })).status).toBe(404)
  })
})

describe('requests without a prompt', () => {
  test.each([
    ['/api/chat', { messages: [] }, 'load', 'message'],
    ['/api/chat', { messages: [], keep_alive: 0 }, 'unload', 'message'],
    ['/api/chat', { keep_alive: '0s' }, 'unload', 'message'],
    ['/api/generate', {}, 'load', 'response'],
    ['/api/generate', { prompt: '', keep_alive: 0 }, 'unload', 'response'],
    ['/api/generate', { prompt: '', keep_alive: '5m' }, 'load', 'response'],
  ])('%s %j respond with %s, without a call of the upstream', async (path, more, reason, member) => {
    const { post, seen, finished } = setUp({})
    const reply = await post(path, { model: 'real', ...more })
    expect(reply.headers.get('content-type')).toContain('application/json')
    const body = (await reply.json()) as Fields
    expect(body).toMatchObject({ model: 'real', done: true, done_reason: reason })
    expect(Object.keys(body)).toContain(member)
    expect([seen, finished]).toEqual([[], []])
  })

  it('are a 404 for a model that the caller may not use', async () => {
    const { post } = setUp({}, { auth: () => ({ id: 'me', models: ['other'] }) })
    expect((await post('/api/generate', { model: 'real' })).status).toBe(404)
  })
})

describe('POST /api/generate', () => {
  it('streams pieces of the response', async () => {
    const { post, seen } = setUp({ a: asStream(sse) })
    const lines = await linesOf(await post('/api/generate', { model: 'real', prompt: 'hi', system: 'Be brief.' }))
    expect(lines.map(({ response, done }) => [response, done])).toEqual([
      ['hel', false],
      ['lo', false],
      ['', true],
    ])
    expect(JSON.parse(seen[0]?.body ?? '').messages).toEqual([{ role: 'system', content: 'Be brief.' }, ...hi])
  })

  it('responds as a whole on request', async () => {
    const { post } = setUp({ m: asJson(message) })
    const reply = await post('/api/generate', { model: 'claude-x', prompt: 'hi', stream: false })
    expect(await reply.json()).toMatchObject({ response: 'hello', done: true, eval_count: 1 })
  })

  it('names the fields of the client in errors of the upstream', async () => {
    const refused = asJson({ error: { message: 'bad', param: 'max_completion_tokens' } }, { status: 400 })
    const { post } = setUp({ a: refused })
    const reply = await post('/api/generate', { model: 'real', prompt: 'hi', options: { num_predict: 5 } })
    expect(await reply.json()).toEqual({ error: 'options.num_predict: bad' })
  })
})

describe('embeddings', () => {
  const vectors = {
    object: 'list',
    data: [0.5, 0.25].map((value, index) => ({ object: 'embedding', index, embedding: [value, 1] })),
    model: 'vec',
    usage: { prompt_tokens: 5, total_tokens: 5 },
  }
  const one = { ...vectors, data: vectors.data.slice(0, 1) }

  it('are one vector for each text', async () => {
    const { post, seen, finished } = setUp({ a: asJson(vectors) })
    const reply = await post('/api/embed', { model: 'real:latest', input: ['a', 'b'], dimensions: 2, keep_alive: 0 })
    expect(await reply.json()).toEqual({
      model: 'vec',
      embeddings: [
        [0.5, 1],
        [0.25, 1],
      ],
      prompt_eval_count: 5,
    })
    expect(reply.headers.get('modelgate-loss')).toBe('"/keep_alive";kind=unsupported;severity=note')
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      model: 'real',
      input: ['a', 'b'],
      dimensions: 2,
      encoding_format: 'float',
    })
    expect(finished).toMatchObject([{ operation: 'embeddings', format: 'ollama', usage: { input: { total: 5 } } }])
  })

  it('are one vector for a text', async () => {
    const { post } = setUp({ a: asJson(one) })
    expect(await (await post('/api/embed', { model: 'real', input: 'a' })).json()).toMatchObject({
      embeddings: [[0.5, 1]],
    })
  })

  it('are one vector without counts at the older path', async () => {
    const { post, seen } = setUp({ a: asJson(one) })
    expect(await (await post('/api/embeddings', { model: 'real', prompt: 'a' })).json()).toEqual({
      embedding: [0.5, 1],
    })
    expect(JSON.parse(seen[0]?.body ?? '').input).toEqual(['a'])
  })

  it.each([
    ['/api/embed', { input: [] }, 'input: expected at least one entry, but got an empty array'],
    ['/api/embed', { input: 5 }, 'input: expected a string or an array of strings, but got 5'],
    ['/api/embeddings', {}, 'prompt is required'],
  ])('%s %j: %s', async (path, more, error) => {
    const { post } = setUp({})
    const reply = await post(path, { model: 'real', ...more })
    expect([reply.status, await reply.json()]).toEqual([400, { error }])
  })
})

describe('lists of models', () => {
  const cards = {
    contextWindow: 8192,
    modalities: { input: ['text', 'image'] },
    capabilities: { tools: true, reasoning: true },
  }
  const config = {
    models: { plain: 'a', 'has:tag': 'a', known: { targets: [{ upstream: 'a' }], card: cards } },
    upstreams: { a: openai({ apiKey: 'k', baseURL: 'http://a/v1' }) },
  }
  const fetchWith = async (path: string, init: RequestInit = {}, more: object = {}) => {
    const { gateway } = setUp({}, { ...config, ...more } as never)
    const reply = await gateway.fetch(
      new Request(`http://gw${path}`, {
        ...init,
        headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
      }),
    )
    return { status: reply.status, body: (await reply.json()) as Fields }
  }
  const show = (body: object) => fetchWith('/api/show', { method: 'POST', body: JSON.stringify(body) })

  it('have a tag for each name, and no invented facts', async () => {
    const { body } = await fetchWith('/api/tags')
    const models = body.models as Fields[]
    expect(models.map(({ name, model, size, digest }) => [name, model, size, digest])).toEqual(
      ['plain:latest', 'has:tag', 'known:latest'].map((name) => [name, name, 0, '']),
    )
    expect(models.every(({ modified_at: date }) => !Number.isNaN(Date.parse(String(date))))).toBe(true)
  })

  it('list only what the caller may use', async () => {
    const { body } = await fetchWith('/api/tags', {}, { auth: () => ({ id: 'me', models: ['plain'] }) })
    expect((body.models as Fields[]).map(({ name }) => name)).toEqual(['plain:latest'])
  })

  it.each([{ model: 'known' }, { model: 'known:latest' }, { name: 'known' }, { name: 'known:latest', verbose: true }])(
    'show the facts of a model: %j',
    async (body) => {
      expect(await show(body)).toMatchObject({
        status: 200,
        body: {
          details: { family: '', families: [], context_length: 8192 },
          model_info: { 'general.architecture': 'modelgate', 'modelgate.context_length': 8192 },
          capabilities: expect.arrayContaining(['completion', 'tools', 'thinking', 'vision']),
        },
      })
    },
  )

  it('show no facts that are not known', async () => {
    expect((await show({ model: 'plain' })).body).toMatchObject({ model_info: {}, template: '', parameters: '' })
  })

  it.each([
    [{ model: 'unknown' }, 404],
    [{}, 400],
    [{ model: 5 }, 400],
  ])('%j is a %s', async (body, status) => {
    expect(await show(body)).toMatchObject({ status, body: { error: expect.any(String) } })
  })

  it('report no running models, and the version of the API', async () => {
    expect(await fetchWith('/api/ps')).toEqual({ status: 200, body: { models: [] } })
    // Clients split it at its dots and compare numbers.
    expect(await fetchWith('/api/version')).toEqual({
      status: 200,
      body: { version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
    })
  })
})

describe('endpoints that manage models', () => {
  it.each([
    ['POST', '/api/pull'],
    ['POST', '/api/push'],
    ['POST', '/api/create'],
    ['POST', '/api/copy'],
    ['DELETE', '/api/delete'],
  ])('%s %s is a 501 that names the list of models', async (method, path) => {
    const { gateway } = setUp({})
    const headers = { authorization: 'Bearer good', 'content-type': 'application/json' }
    const reply = await gateway.fetch(new Request(`http://gw${path}`, { method, headers, body: '{"name":"x"}' }))
    expect(reply.status).toBe(501)
    expect(await reply.json()).toEqual({ error: expect.stringContaining('GET /api/tags') })
  })
})

describe('errors', () => {
  it('are a text in Ollama’s form', async () => {
    const { post } = setUp({})
    const reply = await post('/api/chat', { model: 'real', messages: hi }, { authorization: 'Bearer wrong' })
    expect([reply.status, Object.keys((await reply.json()) as Fields)]).toEqual([401, ['error']])
  })

  it('have the status of an overload that Ollama’s clients know', async () => {
    const { post } = setUp(
      { m: asJson({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, { status: 529 }) },
      { retry: false },
    )
    const reply = await post('/api/chat', { model: 'claude-x', messages: hi })
    expect([reply.status, await reply.json()]).toEqual([503, { error: 'busy' }])
  })
})

describe('other paths below /api', () => {
  it.each([
    ['GET', '/api/users'],
    ['POST', '/api/chat/completions'],
    ['POST', '/api'],
  ])('%s %s belong to the host', (method, path) => {
    const { gateway } = setUp({})
    expect(gateway.routes.some((route) => route.method === method && route.path === path)).toBe(false)
  })
})
