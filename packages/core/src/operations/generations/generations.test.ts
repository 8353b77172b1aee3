import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../base/errors.ts'
import type { GatewayConfig } from '../../config/config.ts'
import type { Plugin } from '../../config/plugin.ts'
import {
  type Answer,
  asJson,
  asStream,
  completion,
  generated,
  message,
  setUp,
  sse,
} from '../../gateway/create-gateway.test-support.ts'
import { boundedStore, memoryResponseStore } from '../responses/store.ts'

const say = [{ role: 'user', content: 'hi' }]
const chat = { model: 'real', messages: say }
const priced: Plugin = { name: 'prices', costOf: () => ({ amount: 0.25, currency: 'USD' }) }

/** A gateway for two callers, with the record of a call by the id of its response. */
function start(answers: { [host: string]: Answer }, config: Partial<GatewayConfig> = {}) {
  const auth = (token: string) => (token === 'good' || token === 'other' ? { id: token } : null)
  const { gateway, post, logged } = setUp(answers, { auth, plugins: [priced], ...config })
  const find = async (id: string | undefined, token = 'good', path = '/api/v1/generation') => {
    const query = id === undefined ? '' : `?id=${encodeURIComponent(id)}`
    const reply = await gateway.fetch(`http://gw${path}${query}`, { headers: { authorization: `Bearer ${token}` } })
    return { status: reply.status, headers: reply.headers, body: await reply.json() }
  }
  return { gateway, post, find, logged }
}

describe('a generation', () => {
  it.each(['/api/v1/generation', '/v1/generation'])('states the usage and cost of a call, on %s', async (path) => {
    const { post, find } = start({ a: asJson(completion) })
    const reply = await post('/api/v1/chat/completions', chat)
    const { id } = await reply.json()
    const { status, headers, body } = await find(id, 'good', path)
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(body.data).toMatchObject({
      id: 'chatcmpl-1',
      request_id: reply.headers.get('modelgate-request-id'),
      api_type: 'completions',
      model: 'real',
      provider_name: 'a',
      total_cost: 0.25,
      usage: 0.25,
      tokens_prompt: 3,
      tokens_completion: 1,
      native_tokens_reasoning: null,
      streamed: false,
      cancelled: false,
      finish_reason: 'stop',
      native_finish_reason: 'stop',
      upstream_id: null,
      is_byok: false,
    })
    expect(body.data.generation_time).toBeLessThanOrEqual(body.data.latency)
    expect(new Date(body.data.created_at).getTime()).toBeGreaterThan(Date.now() - 60_000)
  })

  const messageStart = `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { ...message, content: [], stop_reason: null } })}\n\n`
  const messageEvents = [
    ': ping\n\n',
    messageStart,
    `event: message_delta\ndata: ${JSON.stringify({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } })}\n\n`,
    `event: message_stop\ndata: ${JSON.stringify({ type: 'message_stop' })}\n\n`,
  ]
  const empty = { ...message, content: [] }
  const responses = { input: 'hi', model: 'claude-x' }

  it.each([
    ['of chat completions', '/api/v1/chat/completions', chat, { a: asStream(sse) }, /"id":"(c)"/],
    [
      'of messages',
      '/api/v1/messages',
      { messages: say, model: 'claude-x', max_tokens: 9 },
      { m: asStream(messageEvents) },
      /"id":"(msg_1)"/,
    ],
    ['of responses', '/api/v1/responses', responses, { m: asStream(messageEvents) }, /"id":"(resp_\w+)"/],
  ])('is known by the id in a stream %s', async (_, path, body, answers, shown) => {
    const { post, find } = start(answers)
    const reply = await post(path, { ...body, stream: true }, { 'anthropic-version': '2023-06-01' })
    const [, id] = shown.exec(await reply.text()) ?? []
    const { data } = (await find(id)).body
    expect(data).toMatchObject({ id, streamed: true, cancelled: false, finish_reason: 'stop', total_cost: 0.25 })
  })

  it.each([
    ['messages', '/api/v1/messages', { messages: say, model: 'claude-x', max_tokens: 9 }, { m: asJson(empty) }],
    ['responses', '/api/v1/responses', responses, { m: asJson(message) }],
    ['a translated chat completion', '/api/v1/chat/completions', { ...chat, model: 'org/x' }, { g: asJson(generated) }],
  ])('is known by the id of %s', async (_, path, body, answers) => {
    const { post, find } = start(answers)
    const { id } = await (await post(path, body, { 'anthropic-version': '2023-06-01' })).json()
    expect((await find(id)).body.data).toMatchObject({ id, streamed: false, tokens_prompt: 3 })
  })

  it('of a stream that its client leaves was cancelled', async () => {
    const { gateway, find } = start({ a: asStream(sse, 1) })
    const reply = await gateway.fetch('http://gw/api/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
      body: JSON.stringify({ ...chat, stream: true }),
    })
    const reader = reply.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    expect((await find('c')).body.data).toMatchObject({ cancelled: true, finish_reason: null })
  })

  it('of a stream that fails has the finish reason error', async () => {
    const { post, find } = start({ a: asStream(sse.slice(0, 2)) }, { retry: false })
    await (await post('/api/v1/chat/completions', { ...chat, stream: true })).text()
    expect((await find('c')).body.data).toMatchObject({ cancelled: false, finish_reason: 'error' })
  })

  it.each([
    ['end_turn', 'stop', 'end_turn'],
    ['tool_use', 'tool_calls', 'tool_use'],
    ['pause_turn', null, 'pause_turn'],
  ])('has the word of OpenRouter for the finish reason %s', async (reason, finish, native) => {
    const { post, find } = start({ m: asJson({ ...message, stop_reason: reason }) })
    const body = { messages: say, model: 'claude-x', max_tokens: 9 }
    await post('/api/v1/messages', body, { 'anthropic-version': '2023-06-01' })
    expect((await find('msg_1')).body.data).toMatchObject({ finish_reason: finish, native_finish_reason: native })
  })

  it('of a translated response has no finish reason of the provider', async () => {
    const { post, find } = start({ g: asJson(generated) })
    const { id } = await (await post('/api/v1/chat/completions', { ...chat, model: 'org/x' })).json()
    expect((await find(id)).body.data).toMatchObject({ finish_reason: 'stop', native_finish_reason: null })
  })
})

describe('a generation is not found', () => {
  const openRouterError = (status: number, type: string) => ({
    status,
    body: { error: { code: status, metadata: { error_type: type } } },
  })

  it('by another caller, also if both received the same id', async () => {
    const { post, find } = start({ a: asJson(completion) })
    await post('/api/v1/chat/completions', chat)
    expect(await find('chatcmpl-1', 'other')).toMatchObject(openRouterError(404, 'not_found'))
    const reply = await post('/api/v1/chat/completions', chat, { authorization: 'Bearer other' })
    const requestIds = await Promise.all(
      ['good', 'other'].map(async (token) => (await find('chatcmpl-1', token)).body.data.request_id),
    )
    expect(requestIds[1]).toBe(reply.headers.get('modelgate-request-id'))
    expect(requestIds[0]).not.toBe(requestIds[1])
  })

  it('for calls to other paths, which store nothing', async () => {
    const keys: string[] = []
    const memory = memoryResponseStore()
    const store = {
      ...memory,
      set(...args: Parameters<typeof memory.set>) {
        keys.push(args[0])
        return memory.set(...args)
      },
    }
    const { post, find } = start({ a: asJson(completion) }, { responses: { store } })
    await post('/v1/chat/completions', chat)
    expect(keys).toEqual([])
    expect((await find('chatcmpl-1')).status).toBe(404)
    await post('/api/v1/chat/completions', chat)
    expect(keys).toEqual(['generation:good:chatcmpl-1'])
  })

  it('after the lifetime of stored responses', async () => {
    let time = 0
    const store = boundedStore({ now: () => time }, 1)
    const { post, find } = start({ a: asJson(completion) }, { responses: { store, ttlMs: 1000 } })
    await post('/api/v1/chat/completions', chat)
    time = 999
    expect((await find('chatcmpl-1')).status).toBe(200)
    time = 1000
    expect((await find('chatcmpl-1')).status).toBe(404)
  })

  it('if its id is too long to be stored', async () => {
    const id = 'x'.repeat(257)
    const { post, find } = start({ a: asJson({ ...completion, id }) })
    await post('/api/v1/chat/completions', chat)
    expect((await find(id)).status).toBe(404)
  })

  it('without an id', async () => {
    expect(await start({}).find(undefined)).toMatchObject(openRouterError(400, 'invalid_request'))
  })

  it('without a cost in US dollars', async () => {
    const euros: Plugin = { name: 'prices', costOf: () => ({ amount: 1, currency: 'EUR' }) }
    const { post, find } = start({ a: asJson(completion) }, { plugins: [euros] })
    await post('/api/v1/chat/completions', chat)
    const found = await find('chatcmpl-1')
    expect(found).toMatchObject(openRouterError(404, 'not_found'))
    expect(found.body.error.message).toContain('US dollars')
  })

  it.each<[string, Partial<GatewayConfig>]>([
    ['prices', { plugins: [] }],
    ['a store', { responses: { store: false } }],
  ])('without %s: the path is not available', async (_, config) => {
    const { post, find } = start({ a: asJson(completion) }, config)
    await post('/api/v1/chat/completions', chat)
    const found = await find('chatcmpl-1')
    expect(found).toMatchObject(openRouterError(501, 'server'))
    expect(found.body.error.message).toContain('GET /api/v1/generation is not available')
  })

  it('for a call that a plugin rejects, without a look at the store', async () => {
    const gets: string[] = []
    const store = { ...memoryResponseStore(), get: (key: string) => void gets.push(key) }
    const admit = () => {
      throw new GatewayError('rate_limited', 'Too many requests.')
    }
    const { find } = start({}, { responses: { store }, plugins: [priced, { name: 'limits', admit }] })
    expect([(await find('chatcmpl-1')).status, gets]).toEqual([429, []])
  })
})

it('a store that fails is logged, and the response is sent', async () => {
  const store = {
    ...memoryResponseStore(),
    set() {
      throw new Error('full')
    },
  }
  const { post, logged } = start({ a: asJson(completion) }, { responses: { store } })
  const reply = await post('/api/v1/chat/completions', chat)
  expect((await reply.json()).id).toBe('chatcmpl-1')
  expect(logged).toMatchObject([[expect.stringContaining('could not be stored'), { message: 'full' }]])
})
