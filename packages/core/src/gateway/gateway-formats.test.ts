import { describe, expect, it } from 'vitest'
import { GatewayError } from '../base/errors.ts'
import { openai } from '../upstreams/openai.ts'
import { adapterFunctions } from './adapter.ts'
import {
  asJson,
  asStream,
  completion,
  generated,
  generatedEvents,
  message,
  setUp,
  sse,
} from './create-gateway.test-support.ts'

const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
const ask = (model: string, action = 'generateContent'): string => `/v1beta/models/${model}:${action}`
const events = (text: string): unknown[] =>
  text
    .split(/\r?\n\r?\n/)
    .filter((block) => block.startsWith('data: '))
    .map((block) => JSON.parse(block.slice('data: '.length)))

describe('a model name in the path', () => {
  it.each([
    [ask('gemini-x'), 'gemini-x'],
    [ask('org/m%20x/y'), 'org/m%20x/y'],
    ['/v1/models/gemini-x:generateContent', 'gemini-x'],
    ['/v1/v1beta/models/gemini-x:generateContent', 'gemini-x'],
    ['/v1beta1/publishers/google/models/gemini-x:generateContent', 'gemini-x'],
    [ask('gemini:7b'), 'gemini%3A7b'],
    [ask('short'), 'gemini-long'],
  ])('%s is forwarded as %s with an unchanged body', async (path, model) => {
    const { post, seen, finished } = setUp({ g: asJson(generated) })
    const body = '{ "contents":[{"parts":[{"text":"h\\u00ef"}]}], "invented": 12345678901234567890 }'
    const reply = await post(path, body)
    expect(await reply.text()).toBe(JSON.stringify(generated))
    expect(seen[0]).toMatchObject({ url: `http://g/v1beta/models/${model}:generateContent`, body })
    expect(seen[0]?.headers.get('x-goog-api-key')).toBe('sk-canary-gggggggg')
    expect(finished[0]).toMatchObject({ lane: 'wire', format: 'gemini', usage: { input: { total: 3 } } })
  })

  it.each(['org/../files', 'org/./x', 'org//x', 'org/%2e%2e/x'])(
    '%s is rejected with 404 and reaches no other upstream path',
    async (name) => {
      const { gateway, seen } = setUp({ g: asJson(generated) })
      const reply = await adapterFunctions(gateway).handle({
        method: 'POST',
        path: ask(name),
        query: 'key=good',
        header: () => undefined,
        read: async () => new TextEncoder().encode(JSON.stringify({ contents })),
        signal: new AbortController().signal,
      })
      expect([reply.status, seen.length]).toEqual([404, 0])
    },
  )

  it('is also replaced in the body', async () => {
    const { post, seen } = setUp({ g: asJson(generated) })
    await post(ask('short'), { model: 'models/short', contents })
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ model: 'models/gemini-long', contents })
  })

  it.each([
    [{ model: 'models/gemini-secret', contents }, 'model'],
    [{ model: 'tunedModels/gemini-x', contents }, 'model'],
    [{ contents, stream: true }, 'stream'],
  ])('rejects a body that contradicts the path: %j', async (body, param) => {
    const { post, seen } = setUp({ g: asJson(generated) })
    const reply = await post(ask('gemini-x'), body)
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining(param) },
    })
    expect(seen).toHaveLength(0)
  })

  it('accepts the token from the query and rejects an unknown token with the provider’s error format', async () => {
    const { gateway, seen } = setUp({ g: asJson(generated) })
    const call = (key: string): Promise<Response> =>
      gateway.fetch(`http://gw${ask('gemini-x')}?key=${key}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ contents }),
      })
    expect((await call('good')).status).toBe(200)
    const refused = await call('bad')
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: { details: [{ reason: 'API_KEY_INVALID' }] } })
    expect(seen).toHaveLength(1)
    expect(seen[0]?.url).not.toContain('key=')
  })
})

describe('a stream whose framing depends on the query', () => {
  const both = [
    ['gemini-x', { g: asStream(generatedEvents) }],
    ['real', { a: asStream(sse) }],
  ] as const

  it.each(both)('%s: sends events with alt=sse', async (model, answers) => {
    const { post, seen } = setUp(answers)
    const reply = await post(`${ask(model, 'streamGenerateContent')}?alt=sse`, { contents })
    expect(reply.headers.get('content-type')).toContain('text/event-stream')
    const texts = events(await reply.text()).map((event) => JSON.stringify(event))
    expect(texts.join('')).toContain('"text":"hel"')
    expect(texts.at(-1)).toContain('"finishReason":"STOP"')
    if (model === 'gemini-x') expect(seen[0]?.url).toBe('http://g/v1beta/models/gemini-x:streamGenerateContent?alt=sse')
  })

  it.each(both)('%s: sends one JSON array without alt=sse', async (model, answers) => {
    const { post, finished } = setUp(answers)
    const reply = await post(ask(model, 'streamGenerateContent'), { contents })
    expect(reply.headers.get('content-type')).toContain('application/json')
    const list = JSON.parse(await reply.text()) as { candidates?: { content?: { parts?: { text?: string }[] } }[] }[]
    expect(list.map((chunk) => chunk.candidates?.[0]?.content?.parts?.[0]?.text ?? '').join('')).toBe('hello')
    expect(finished[0]).toMatchObject({ outcome: 'finished', stream: true })
  })

  it.each([
    ['gemini-x', { g: asStream(generatedEvents.slice(0, 1)) }],
    ['real', { a: asStream(sse.slice(0, 2)) }],
  ] as const)('%s: ends a truncated JSON array with an error and closes the array', async (model, answers) => {
    const { post, finished } = setUp(answers)
    const reply = await post(ask(model, 'streamGenerateContent'), { contents })
    const list = JSON.parse(await reply.text()) as unknown[]
    expect(list.at(-1)).toMatchObject({ error: { code: expect.any(Number), status: expect.any(String) } })
    expect(finished[0]?.outcome).toBe('failed')
  })

  it('sends white space as heartbeats of a JSON array', async () => {
    const { post } = setUp({ g: asStream(generatedEvents, 400) }, { limits: { heartbeatMs: 15, holdMs: 20 } })
    const text = await (await post(ask('gemini-x', 'streamGenerateContent'), { contents })).text()
    expect(text).toMatch(/^ +\[/)
    expect(JSON.parse(text)).toHaveLength(2)
  })
})

describe('an upstream with several formats', () => {
  const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' }
  const input = [
    { role: 'user', content: 'hi' },
    thought,
    { role: 'assistant', content: 'ho' },
    { role: 'user', content: 'go on' },
  ]

  it('receives requests of each format on the path of that format', async () => {
    const { post, chat, seen } = setUp({ a: asJson({ ...completion, output: [] }) })
    await chat()
    await post('/v1/responses', { model: 'real', input })
    expect(seen.map(({ url }) => url)).toEqual(['http://a/v1/chat/completions', 'http://a/v1/responses'])
    expect(JSON.parse(seen[1]?.body ?? '')).toEqual({ model: 'real', input })
  })

  it('receives its first format by default and another format if that loses less', async () => {
    const { messages, seen, finished } = setUp({ a: asJson(completion) }, { retry: false })
    await messages({ model: 'real' })
    const document = { type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' } }
    await messages({ model: 'real', messages: [{ role: 'user', content: [{ type: 'text', text: 'read' }, document] }] })
    expect(seen.map(({ url }) => url)).toEqual(['http://a/v1/chat/completions', 'http://a/v1/responses'])
    expect(finished.map(({ upstreamFormat }) => upstreamFormat)).toEqual(['chat', 'responses'])
  })
})

describe('a validation error of the upstream', () => {
  const complaint = (param: string) =>
    asJson({ error: { message: 'no', type: 'invalid_request_error', param, code: null } }, { status: 400 })

  const chatOnly = { a: openai({ baseURL: 'http://a/v1', formats: ['chat'] }) }

  it.each([
    ['max_completion_tokens', 'max_output_tokens'],
    ['messages[0].content', null],
  ])('about %s reports the field name of the client’s format: %s', async (param, expected) => {
    const { post } = setUp({ a: complaint(param) }, { upstreams: chatOnly, models: { real: 'a' } } as never)
    const reply = await post('/v1/responses', { model: 'real', max_output_tokens: 20, input: 'hi' })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({ error: { message: 'no', param: expected } })
  })
})

describe('losses', () => {
  const lossy = { contents, safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] }
  const chatLossy = { logit_bias: { '1': 1 } }

  it.each([
    ['alias', 200],
    ['careful', 400],
  ])('follow the loss policy of the model %s: status %i', async (model, status) => {
    const { chat } = setUp({ a: asJson(completion), g: asJson(generated) })
    expect((await chat({ model, ...chatLossy })).status).toBe(status)
  })

  it.each<[string | undefined, object, number, boolean]>([
    [undefined, {}, 200, true],
    ['warn', {}, 200, true],
    ['reject', {}, 400, false],
    ['Reject', {}, 400, false],
    ['ignore', {}, 403, false],
    ['ignore', { onLoss: ['ignore'] }, 200, false],
    ['reject', { onLoss: ['ignore'] }, 403, false],
    ['loud', {}, 400, false],
  ])(
    'follow the policy %s of the request header for an identity with %j: status %i',
    async (policy, allowed, status, hasLossHeader) => {
      const { post, seen } = setUp({ a: asJson(completion) }, { auth: () => ({ id: 'me', ...allowed }) })
      const headers = policy === undefined ? {} : { 'modelgate-on-loss': policy }
      const reply = await post(ask('real'), lossy, headers)
      expect([reply.status, reply.headers.has('modelgate-loss'), seen.length]).toEqual([
        status,
        hasLossHeader,
        status === 200 ? 1 : 0,
      ])
      if (status !== 200)
        expect(await reply.json()).toMatchObject({
          error: { message: expect.stringMatching(/modelgate-on-loss|safetySettings/) },
        })
    },
  )
})

it('returns the failure of the first target even if a later target rejects losses', async () => {
  const { post } = setUp(
    { a: asJson({ error: { message: 'busy' } }, { status: 503 }) },
    {
      models: {
        two: [
          { upstream: 'a', onLoss: 'ignore' },
          { upstream: 'b', onLoss: 'reject' },
        ],
      } as never,
    },
  )
  const headers = { 'modelgate-on-loss': 'ignore' }
  const reply = await post(
    '/v1/chat/completions',
    { model: 'two', messages: [{ role: 'user', content: 'x' }] },
    headers,
  )
  expect(reply.status).toBe(503)
})

describe('explain', () => {
  const body = { model: 'mixed', messages: [{ role: 'user', content: 'hi' }], seed: 7, max_tokens: 10 }
  const json = { 'content-type': 'application/json' }
  const good = { ...json, authorization: 'Bearer good' }
  const request = (headers: Record<string, string> = good) =>
    new Request('http://gw/v1/chat/completions', { method: 'POST', headers, body: JSON.stringify(body) })

  it('returns the plan, requests and losses without an upstream call', async () => {
    const { gateway, seen, finished } = setUp({ a: asJson(completion), m: asJson(message) })
    const explanation = await gateway.explain(request())
    expect(explanation).toMatchObject({ format: 'chat', model: 'mixed', stream: false })
    expect(explanation.plan).toMatchObject([
      // Configured second, but preferred because it loses nothing.
      { upstream: 'a', lane: 'wire', format: 'chat', request: { path: '/chat/completions', body }, losses: [] },
      {
        upstream: 'm',
        lane: 'translate',
        format: 'messages',
        onLoss: 'warn',
        request: {
          method: 'POST',
          path: '/v1/messages',
          headers: { 'x-api-key': '***', 'anthropic-version': '2023-06-01' },
          body: { max_tokens: 10, messages: [{ role: 'user' }] },
        },
        losses: [{ path: '/seed', kind: 'unsupported' }],
      },
    ])
    expect(JSON.stringify(explanation)).not.toContain('canary')
    expect([seen.length, finished.length]).toEqual([0, 0])
  })

  it('hides the values of defaults and overrides over HTTP and, with hideConfigured, in the process', async () => {
    const target = {
      upstream: 'a',
      defaults: { store: true },
      overrides: { metadata: { account: 'internal-7' }, seed: 7 },
    }
    const { post, gateway } = setUp({}, { explain: true, models: { mixed: target } } as never)
    const hidden = { store: '(set by the configuration)', metadata: '(set by the configuration)', seed: 7 }
    const overHttp = await (await post('/v1/chat/completions?modelgate=explain', body)).json()
    expect(overHttp.plan[0].request.body).toMatchObject(hidden)
    expect(JSON.stringify(overHttp)).not.toContain('internal-7')
    const masked = await gateway.explain(request(), undefined, { hideConfigured: true })
    expect(masked.plan[0]?.request?.body).toMatchObject(hidden)
    const shown = await gateway.explain(request())
    expect(shown.plan[0]?.request?.body).toMatchObject({ store: true, metadata: { account: 'internal-7' } })
  })

  it('rejects with the error that the call would return', async () => {
    const { gateway } = setUp({})
    await expect(gateway.explain(request(json))).rejects.toBeInstanceOf(GatewayError)
    await expect(gateway.explain('http://gw/v1/models')).rejects.toThrow('cannot be explained')
    await expect(gateway.explain('http://gw/v1/images/generations', { method: 'POST' })).rejects.toThrow(
      'POST /v1/images/generations cannot be explained: it is not a chat endpoint.',
    )
    const tooMuch = { ...body, model: 'careful', logit_bias: { '1': 1 } }
    const refused = await gateway.explain('http://gw/v1/chat/completions', {
      method: 'POST',
      headers: good,
      body: JSON.stringify(tooMuch),
    })
    expect(refused.plan[0]?.refused).toMatchObject({ kind: 'invalid_request', status: 400 })
  })

  it.each([
    [undefined, 403],
    [false, 403],
    [true, 200],
    [(identity: { id: string } | null) => identity?.id === 'me', 200],
    [() => false, 403],
  ])(
    'is available over HTTP only if the configuration allows it: explain %s returns status %i',
    async (explain, status) => {
      const { post, seen, finished } = setUp({}, explain === undefined ? {} : { explain })
      const reply = await post('/v1/chat/completions?modelgate=explain', body)
      expect([reply.status, seen.length, finished.length]).toEqual([status, 0, 0])
      if (status === 200) expect(await reply.json()).toMatchObject({ plan: [{ upstream: 'a' }, { upstream: 'm' }] })
    },
  )
})
