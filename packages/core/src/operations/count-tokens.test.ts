import { describe, expect, it } from 'vitest'
import { type Answer, asJson, setUp } from '../gateway/create-gateway.test-support.ts'
import { anthropic } from '../upstreams/anthropic.ts'
import { openaiCompatible } from '../upstreams/openai-compatible.ts'

const version = { 'anthropic-version': '2023-06-01' }
const tools = [{ name: 'get_weather', description: 'Weather', input_schema: { type: 'object', properties: {} } }]
const messagesBody = { system: 'Be brief.', messages: [{ role: 'user', content: 'How many?' }], tools }
const geminiContents = { contents: [{ role: 'user', parts: [{ text: 'How many?' }] }] }
const responsesBody = { instructions: 'Be brief.', input: 'How many?' }

const counts: { readonly [host: string]: Answer } = {
  a: asJson({ object: 'response.input_tokens', input_tokens: 11 }),
  b: asJson({ object: 'response.input_tokens', input_tokens: 12 }),
  m: asJson({ input_tokens: 22 }),
  g: asJson({ totalTokens: 33, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 33 }] }),
}
const asks: { readonly [format: string]: (model: string) => [path: string, body: object, headers?: object] } = {
  messages: (model) => ['/v1/messages/count_tokens', { model, ...messagesBody }, version],
  gemini: (model) => [`/v1beta/models/${model}:countTokens`, geminiContents],
  responses: (model) => ['/v1/responses/input_tokens', { model, ...responsesBody }],
}
const answerOf = (format: string, tokens: number): object =>
  ({
    messages: { input_tokens: tokens },
    gemini: { totalTokens: tokens },
    responses: { object: 'response.input_tokens', input_tokens: tokens },
  })[format] as object

/** Models of each upstream format that counts, its endpoint, and the token count it returns. */
const targets = [
  ['responses', 'real', 'http://a/v1/responses/input_tokens', 11],
  ['messages', 'claude-x', 'http://m/v1/messages/count_tokens', 22],
  ['gemini', 'gemini-x', 'http://g/v1beta/models/gemini-x:countTokens', 33],
] as const
const pairs = Object.keys(asks).flatMap((client) => targets.map((target) => [client, ...target] as const))

const send = (setting: ReturnType<typeof setUp>, format: string, model: string) => {
  const [path, body, headers] = (asks[format] as (model: string) => [string, object, object?])(model)
  return setting.post(path, body, headers as Record<string, string>)
}

describe('a token count by an upstream', () => {
  it.each(pairs)(
    'converts the request of a %s client for a %s upstream',
    async (client, upstream, model, url, tokens) => {
      const setting = setUp(counts)
      const response = await send(setting, client, model)
      expect(response.status).toBe(200)
      expect(setting.seen.map((call) => call.url)).toEqual([url])
      expect(await response.json()).toMatchObject(answerOf(client, tokens))
      expect(response.headers.get('modelgate-estimate')).toBeNull()
      expect(response.headers.get('modelgate-loss')).toBeNull()
      expect(setting.finished).toHaveLength(1)
      expect(setting.finished[0]).toMatchObject({
        operation: 'count-tokens',
        format: client,
        model,
        upstreamFormat: upstream,
        lane: client === upstream ? 'wire' : 'translate',
        status: 200,
        outcome: 'finished',
      })
      // A count costs nothing: meters that add up usage must not find any.
      expect(setting.finished[0]?.usage).toBeUndefined()
      expect(setting.finished[0]?.estimate).toBeUndefined()
    },
  )

  it('passes request and response byte for byte if the formats match', async () => {
    const answer = '{ "input_tokens": 22, "new_field": 12345678901234567890 }'
    const { post, seen } = setUp({ m: () => new Response(answer) })
    const body = '{"model": "claude-x",  "messages":[{"role":"user","content":"hi"}], "big": 12345678901234567890}'
    const response = await post('/v1/messages/count_tokens?beta=true', body, { ...version, 'anthropic-beta': 'x-1' })
    expect(seen[0]?.body).toBe(body)
    expect(seen[0]?.headers.get('anthropic-beta')).toBe('x-1')
    expect(await response.text()).toBe(answer)
  })

  it('replaces an alias with the model’s name, also in the nested request', async () => {
    const { post, seen } = setUp(counts)
    const inner = '{"model":"models/short", "contents":[{"parts":[{"text":"hi"}]}]}'
    for (const key of ['generateContentRequest', 'generate_content_request'])
      await post('/v1beta/models/short:countTokens', `{ "${key}" : ${inner} }`)
    expect(seen.map(({ url }) => url)).toEqual(Array(2).fill('http://g/v1beta/models/gemini-long:countTokens'))
    expect(seen[0]?.body).toBe(`{ "generateContentRequest" : ${inner.replace('models/short', 'models/gemini-long')} }`)
    expect(seen[1]?.body).toBe(
      `{ "generate_content_request" : ${inner.replace('models/short', 'models/gemini-long')} }`,
    )
  })

  it('sets every occurrence of a duplicate model member in the nested request', async () => {
    const { post, seen } = setUp(counts)
    const twice =
      '{"generateContentRequest":{"model":"models/gemini-secret","model":"models/gemini-x","contents":"hi"}}'
    await post('/v1beta/models/gemini-x:countTokens', twice)
    expect(seen[0]?.body).not.toContain('secret')
  })

  it('omits fields that are not input', async () => {
    const { post, seen } = setUp(counts)
    const generation = { temperature: 0.5, maxOutputTokens: 9, thinkingConfig: { thinkingBudget: 0 }, seed: 1 }
    const request = { ...geminiContents, systemInstruction: { parts: [{ text: 'Be brief.' }] } }
    await post('/v1beta/models/claude-x:countTokens', {
      generateContentRequest: { model: 'models/claude-x', ...request, generationConfig: generation },
    })
    const sent = JSON.parse(seen[0]?.body ?? '')
    expect(Object.keys(sent).sort()).toEqual([
      'messages',
      'model',
      'system',
      ...('thinking' in sent ? ['thinking'] : []),
    ])
    expect(sent.model).toBe('claude-x')
  })

  it('sends tools and system text as a complete request of the other format', async () => {
    const setting = setUp(counts)
    await send(setting, 'messages', 'gemini-x')
    expect(JSON.parse(setting.seen[0]?.body ?? '')).toMatchObject({
      generateContentRequest: {
        model: 'models/gemini-x',
        contents: [{ role: 'user', parts: [{ text: 'How many?' }] }],
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
        tools: [{ functionDeclarations: [{ name: 'get_weather' }] }],
      },
    })
    await setting.post('/v1/responses/input_tokens', { model: 'gemini-x', input: 'hi' })
    expect(JSON.parse(setting.seen[1]?.body ?? '')).toEqual({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] })
  })

  it('reports a loss at the path of the client’s field', async () => {
    const { post } = setUp(counts)
    const withSearch = { ...geminiContents, tools: [{ googleSearch: {} }], model: 'models/claude-x' }
    const response = await post('/v1beta/models/claude-x:countTokens', { generateContentRequest: withSearch })
    expect(response.headers.get('modelgate-loss')).toContain('"/generateContentRequest/tools/0')
  })

  it('removes another vendor’s seals before calling an upstream of the client’s format', async () => {
    const { post, seen, finished } = setUp(counts)
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'mgs1.gemini.c2VhbA' }
    await post(
      '/v1/messages/count_tokens',
      {
        model: 'claude-x',
        messages: [
          { role: 'user', content: 'hi' },
          { role: 'assistant', content: [thinking, { type: 'text', text: 'ho' }] },
          { role: 'user', content: 'so?' },
        ],
      },
      version,
    )
    expect(seen[0]?.body).not.toContain('mgs1')
    expect(JSON.parse(seen[0]?.body ?? '')).not.toHaveProperty('max_tokens')
    expect(finished[0]?.lane).toBe('translate')
  })

  it('falls back to the next target when a target fails', async () => {
    const failing = asJson({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, { status: 529 })
    const setting = setUp({ ...counts, m: failing })
    const response = await send(setting, 'messages', 'mixed')
    expect(await response.json()).toEqual({ input_tokens: 11 })
    expect(setting.finished[0]?.attempts.map(({ upstream, status }) => [upstream, status])).toEqual([
      ['m', 529],
      ['a', 200],
    ])
  })

  it.each([
    ['a rate limit', { type: 'rate_limit_error', message: 'slow down' }, 429, 429],
    ['a bad request', { type: 'invalid_request_error', message: 'messages: no' }, 400, 400],
    ['an unknown model', { type: 'not_found_error', message: 'model: claude-x' }, 404, 404],
    ['invalid gateway credentials', { type: 'authentication_error', message: 'key' }, 401, 502],
    ['an upstream failure', { type: 'api_error', message: 'oh' }, 500, 502],
  ])('reports %s to the client in its dialect', async (_name, error, status, expected) => {
    const setting = setUp({ m: asJson({ type: 'error', error }, { status }) })
    const [asMessages, asGemini] = [
      await send(setting, 'messages', 'claude-x'),
      await send(setting, 'gemini', 'claude-x'),
    ]
    expect([asMessages.status, asGemini.status]).toEqual([expected, expected])
    expect(await asMessages.json()).toMatchObject({ type: 'error', error: { type: expect.any(String) } })
    expect(await asGemini.json()).toMatchObject({ error: { code: expected, status: expect.any(String) } })
    expect(setting.finished.map(({ outcome, operation }) => [outcome, operation])).toEqual(
      Array(2).fill(['failed', 'count-tokens']),
    )
  })

  it.each([
    ['messages', 'claude-x'],
    ['gemini', 'claude-x'],
  ])('returns 502 if the response contains no count (%s client)', async (client, model) => {
    const response = await send(setUp({ m: asJson({ tokens: 'many' }) }), client, model)
    expect(response.status).toBe(502)
  })

  it('returns 504 if the upstream does not respond in time', async () => {
    const silent: Answer = (_call, signal) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const setting = setUp({ m: silent }, { limits: { firstByteMs: 30 } })
    expect((await send(setting, 'messages', 'claude-x')).status).toBe(504)
  })
})

describe('a token count without a counting upstream', () => {
  const chatOnly = {
    upstreams: {
      local: openaiCompatible({ baseURL: 'http://l/v1' }),
      m: anthropic({ apiKey: 'sk-canary-mmmmmmmm', baseURL: 'http://m' }),
      counting: openaiCompatible({ baseURL: 'http://c/v1', formats: ['messages'], countTokens: ['messages'] }),
    },
    models: { local: 'local', both: ['local', 'm'], down: ['m', 'local'], counting: 'counting' },
  } as never

  it.each(Object.keys(asks))('is an estimate and is marked as one (%s client)', async (client) => {
    const setting = setUp({}, chatOnly)
    const response = await send(setting, client, 'local')
    expect(response.status).toBe(200)
    expect(response.headers.get('modelgate-estimate')).toBe('tokens;by="o200k_base"')
    const body = await response.json()
    const tokens = Number(body.input_tokens ?? body.totalTokens)
    expect(body).toEqual(answerOf(client, tokens))
    expect(tokens).toBeGreaterThan(5)
    expect(tokens).toBeLessThan(60)
    expect(setting.seen).toEqual([])
    expect(setting.finished).toHaveLength(1)
    expect(setting.finished[0]).toMatchObject({ operation: 'count-tokens', estimate: 'o200k_base', attempts: [] })
  })

  it('sends the text to no upstream if the first target cannot count', async () => {
    const setting = setUp(counts, chatOnly)
    expect((await send(setting, 'messages', 'both')).headers.get('modelgate-estimate')).toContain('o200k_base')
    expect(setting.seen).toEqual([])
  })

  it('is an estimate if the counting upstream is unreachable', async () => {
    const setting = setUp({}, chatOnly)
    expect((await send(setting, 'messages', 'down')).headers.get('modelgate-estimate')).toContain('o200k_base')
    expect(setting.finished[0]?.attempts.map(({ error }) => error)).toEqual(['upstream_unreachable'])
  })

  it.each([404, 405, 501])('is an estimate if the upstream’s endpoint returns %i', async (status) => {
    const setting = setUp({ m: asJson({ error: { message: 'Not Found' } }, { status }) })
    const response = await send(setting, 'messages', 'claude-x')
    expect(response.status).toBe(200)
    expect(response.headers.get('modelgate-estimate')).toContain('o200k_base')
    expect(setting.seen).toHaveLength(1)
    expect(setting.finished[0]?.attempts).toHaveLength(1)
    // The call does not fall back to another vendor either.
    const two = setUp({ ...counts, m: asJson({ error: { message: 'Not Found' } }, { status }) })
    expect((await send(two, 'messages', 'mixed')).headers.get('modelgate-estimate')).toContain('o200k_base')
    expect(two.seen).toHaveLength(1)
  })

  it('comes from a compatible server if countTokens is configured', async () => {
    const setting = setUp({ c: asJson({ input_tokens: 7 }) }, chatOnly)
    expect(await (await send(setting, 'messages', 'counting')).json()).toEqual({ input_tokens: 7 })
    expect(setting.seen[0]?.url).toBe('http://c/v1/messages/count_tokens')
    expect(setting.seen[0]?.headers.get('anthropic-version')).toBe('2023-06-01')
  })

  it('is made with the configured tokenizer', async () => {
    const texts: string[] = []
    const tokenizer = async (text: string) => {
      texts.push(text)
      return 1000.4
    }
    const setting = setUp({}, { ...(chatOnly as object), tokenizer })
    const response = await send(setting, 'messages', 'local')
    expect(response.headers.get('modelgate-estimate')).toBe('tokens;by="custom"')
    expect((await response.json()).input_tokens).toBeGreaterThanOrEqual(1000)
    expect(texts).toHaveLength(1)
    for (const word of ['Be brief.', 'How many?', 'get_weather']) expect(texts[0]).toContain(word)
    expect(setting.finished[0]?.estimate).toBe('custom')
  })

  it.each([
    ['throws', () => Promise.reject(new Error('no'))],
    ['returns NaN', () => Number.NaN],
  ])('falls back to counting characters, with a log entry, if the tokenizer %s', async (_name, tokenizer) => {
    const setting = setUp({}, { ...(chatOnly as object), tokenizer })
    const response = await send(setting, 'messages', 'local')
    expect(response.status).toBe(200)
    expect(response.headers.get('modelgate-estimate')).toBe('tokens;by="characters"')
    expect(setting.logged).toHaveLength(1)
  })

  it.each([
    [
      '/v1/responses/input_tokens',
      { model: 'local', previous_response_id: 'resp_1', input: 'hi' },
      'previous_response_id',
    ],
    ['/v1beta/models/local:countTokens', { ...geminiContents, cachedContent: 'cachedContents/1' }, 'cachedContent'],
    ['/v1beta/models/local:countTokens', { ...geminiContents, cached_content: 'cachedContents/1' }, 'cached_content'],
  ])('is rejected if the input is stored elsewhere (%s, %#)', async (path, body, field) => {
    const setting = setUp({}, { ...(chatOnly as object), references: { responses: 'pass', caches: 'pass' } })
    const response = await setting.post(path, body)
    expect(response.status).toBe(400)
    expect((await response.json()).error.message).toContain(field)
    expect(setting.finished).toHaveLength(1)
  })
})

describe('validation of a token count', () => {
  const contents = geminiContents.contents
  it.each([
    ['/v1/messages/count_tokens', { model: 'claude-x' }, 'messages: Field required'],
    ['/v1/messages/count_tokens', { model: 'claude-x', messages: [] }, 'messages: at least one message is required'],
    ['/v1/messages/count_tokens', { messages: [{ role: 'user', content: 'hi' }] }, 'model: Field required'],
    ['/v1/responses/input_tokens', { input: 'hi' }, "Missing required parameter: 'model'."],
    ['/v1/responses/input_tokens', { model: 5, input: 'hi' }, "Invalid type for 'model'"],
    // Other fields are validated only if the request is translated.
    ['/v1/responses/input_tokens', { model: 'claude-x', input: 5 }, "Invalid type for 'input'"],
    ['/v1beta/models/gemini-x:countTokens', {}, 'contents is not specified'],
    ['/v1beta/models/gemini-x:countTokens', { contents, generateContentRequest: { contents } }, 'mutually exclusive'],
    ['/v1beta/models/gemini-x:countTokens', { generateContentRequest: {} }, 'contents is not specified'],
    ['/v1beta/models/gemini-x:countTokens', { generateContentRequest: 'hi' }, 'Invalid value'],
    [
      '/v1beta/models/gemini-x:countTokens',
      { generateContentRequest: { model: 'models/gemini-secret', contents } },
      'different models',
    ],
    ['/v1beta/models/gemini-x:countTokens', [], 'not an object'],
    ['/v1/messages/count_tokens', { model: 'nobody', messages: [{ role: 'user', content: 'hi' }] }, 'nobody'],
  ])('rejects at %s the body %j with an error in its format', async (path, body, message) => {
    const setting = setUp(counts)
    const response = await setting.post(path, body, path.includes('messages') ? version : {})
    expect([400, 404]).toContain(response.status)
    expect((await response.json()).error.message).toContain(message)
    expect(setting.seen).toEqual([])
  })

  it('reports a field of the nested request by its full path', async () => {
    const { post } = setUp(counts)
    const response = await post('/v1beta/models/claude-x:countTokens', {
      generate_content_request: { contents: [{ role: 'robot', parts: [{ text: 'hi' }] }] },
    })
    expect(response.status).toBe(400)
    expect(JSON.stringify(await response.json())).toContain('generate_content_request.contents.0.role')
  })

  it('requires the version header of messages clients', async () => {
    const { post } = setUp(counts)
    const response = await post('/v1/messages/count_tokens', { model: 'claude-x', ...messagesBody })
    expect(response.status).toBe(400)
  })

  it('rejects a model that the caller may not use', async () => {
    const setting = setUp(counts, { auth: () => ({ id: 'x', models: ['real'] }) })
    expect((await send(setting, 'messages', 'claude-x')).status).toBe(404)
    expect(setting.seen).toEqual([])
  })
})
