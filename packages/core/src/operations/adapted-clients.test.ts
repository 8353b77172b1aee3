import { describe, expect, it } from 'vitest'
import { asJson, asStream, completion, message, setUp, sse } from '../gateway/create-gateway.test-support.ts'

const say = [{ role: 'user', content: 'hi' }]
const mistral = { 'user-agent': 'mistral-client-typescript/2.7.0' }
const chat = '/v1/chat/completions'

describe('a client that its header user-agent identifies', () => {
  it('gets the form of its vendor, and its request reaches the upstream in that of the format', async () => {
    const { post, seen } = setUp({ a: asJson(completion) })
    const body = { model: 'alias', messages: say, random_seed: 7, tool_choice: 'any' }
    const reply = await post(chat, body, mistral)
    expect((await reply.json()).choices[0].message).toEqual({ role: 'assistant', content: 'hello', prefix: false })
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ model: 'real', messages: say, seed: 7, tool_choice: 'required' })
  })

  it.each([undefined, 'OpenAI/JS 6.49.0', 'my-mistral-client-typescript/1', 'Mistral'])(
    'is no other one: the bytes of %s pass unchanged',
    async (agent) => {
      const { post, seen } = setUp({ a: asJson(completion) })
      const body = '{ "model":"real", "messages" : [{"role":"user","content":"hi"}], "random_seed":7}'
      const reply = await post(chat, body, agent === undefined ? {} : { 'user-agent': agent })
      expect(await reply.text()).toBe(JSON.stringify(completion))
      expect(seen[0]?.body).toBe(body)
    },
  )

  it('gets a name of its own API for a field that is lost', async () => {
    const { post, finished } = setUp({ m: asJson(message) })
    const reply = await post(chat, { model: 'claude-x', messages: say, random_seed: 7 }, mistral)
    expect(reply.status).toBe(200)
    expect(reply.headers.get('modelgate-loss')).toContain('/random_seed')
    expect(finished[0]?.losses.map(({ path }) => path)).toContain('/random_seed')
  })

  it('is explained in the form that the upstream gets', async () => {
    const { post } = setUp({}, { explain: true })
    const reply = await post(`${chat}?modelgate=explain`, { model: 'real', messages: say, random_seed: 7 }, mistral)
    expect((await reply.json()).plan[0].request.body).toEqual({ model: 'real', messages: say, seed: 7 })
  })
})

describe('GET /v1/models', () => {
  it('lists models of Mistral’s kind for its clients only', async () => {
    const { gateway } = setUp({}, { models: { real: 'a' } })
    const typesOf = async (headers: Record<string, string>) => {
      const reply = await gateway.fetch('http://gw/v1/models', {
        headers: { authorization: 'Bearer good', ...headers },
      })
      return (await reply.json()).data.map(({ type }: { type?: string }) => type)
    }
    expect(await typesOf(mistral)).toEqual(['base'])
    expect(await typesOf({})).toEqual([undefined])
  })
})

describe('a stream for OpenRouter’s clients', () => {
  it('has the usage that the client did not request', async () => {
    const usage =
      'data: {"id":"c","created":1,"model":"real","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\n'
    const { post, seen } = setUp({ a: asStream([...sse.slice(0, -1), usage, 'data: [DONE]\n\n']) })
    const reply = await post('/api/v1/chat/completions', { model: 'real', messages: say, stream: true })
    const text = await reply.text()
    expect(JSON.parse(seen[0]?.body ?? '').stream_options).toEqual({ include_usage: true })
    expect(text).toContain('"usage":{"prompt_tokens":3,"completion_tokens":1}')
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  it('that is cut ends with an error chunk', async () => {
    const { post, finished } = setUp({ a: asStream(sse.slice(0, 2)) }, { retry: false })
    const reply = await post('/api/v1/chat/completions', { model: 'real', messages: say, stream: true })
    const last = (await reply.text()).trim().split('\n\n').at(-1) ?? ''
    expect(JSON.parse(last.slice('data: '.length))).toMatchObject({
      id: 'c',
      error: { code: 502 },
      choices: [{ finish_reason: 'error' }],
    })
    expect(finished[0]?.outcome).toBe('failed')
  })
})

describe('errors for OpenRouter’s clients', () => {
  it('have the status as their code', async () => {
    const { post } = setUp({})
    const reply = await post('/api/v1/chat/completions', { model: 'unknown!', messages: say })
    expect(reply.status).toBe(404)
    expect((await reply.json()).error).toMatchObject({
      code: 404,
      metadata: { error_type: 'not_found', provider_code: 'model_not_found' },
    })
  })

  it('of its other formats are those of the formats', async () => {
    const { post } = setUp({})
    const reply = await post('/api/v1/messages', { model: 'unknown!', messages: say, max_tokens: 1 })
    expect(await reply.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
  })
})

describe('a path that is known but not offered', () => {
  it.each([
    ['GET', '/api/v1/key', 501],
    ['POST', '/v1/fim/completions', 'not_implemented'],
    ['POST', '/v1/ocr', 'not_implemented'],
  ])('%s %s is rejected with 501, the reason and no call', async (method, path, code) => {
    const { gateway, seen, finished } = setUp({})
    const reply = await gateway.fetch(`http://gw${path}`, {
      method,
      headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
      ...(method === 'POST' ? { body: '{}' } : {}),
    })
    expect(reply.status).toBe(501)
    const { error } = await reply.json()
    expect(error.code).toBe(code)
    expect(error.message).toMatch(/^\/(api\/)?v1\/\w+.*: The gateway .*\. .*\.$/)
    expect([seen.length, finished.length]).toEqual([0, 0])
  })
})
