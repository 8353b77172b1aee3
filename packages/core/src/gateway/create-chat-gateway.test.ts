import { describe, expect, it, vi } from 'vitest'
import type { Gateway, Plugin } from '../index.ts'
import { anthropic } from '../upstreams/anthropic.ts'
import { createGateway, openai, openaiCompatible } from './chat.ts'
import { chatEdition } from './chat-edition.ts'
import { completion, sse } from './create-gateway.test-support.ts'
import { fullEdition } from './full-edition.ts'

const upstreams = { one: openai({ apiKey: 'k' }) }

function create(respond: () => Response = () => Response.json(completion)) {
  const fetch = vi.fn((_url: string | URL | Request, _init?: RequestInit) => Promise.resolve(respond()))
  const gateway = createGateway({
    auth: (token) => (token === 'good' ? { id: 'me' } : null),
    upstreams,
    models: { m: 'one' },
    fetch,
    logger: false,
  })
  return { gateway, fetch }
}

function post(gateway: Gateway, path: string, body: object, headers: Record<string, string> = {}) {
  return gateway.fetch(`http://gw${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer good', ...headers },
    body: JSON.stringify(body),
  })
}

const question = { model: 'm', messages: [{ role: 'user', content: 'x' }] }
const advice = "Import createGateway from '@modelgate/core'"

describe('the gateway of @modelgate/core/chat', () => {
  it('passes chat completions through', async () => {
    const { gateway, fetch } = create()
    const response = await post(gateway, '/v1/chat/completions', question)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual(completion)
    expect(fetch.mock.calls[0]?.[0]).toBe('https://api.openai.com/v1/chat/completions')
  })

  it('passes streams through', async () => {
    const { gateway } = create(() => new Response(sse.join(''), { headers: { 'content-type': 'text/event-stream' } }))
    const response = await post(gateway, '/v1/chat/completions', { ...question, stream: true })
    expect(await response.text()).toBe(sse.join(''))
  })

  it('lists models', async () => {
    const { gateway } = create()
    const get = async (path: string) =>
      (await gateway.fetch(`http://gw${path}`, { headers: { authorization: 'Bearer good' } })).json()
    expect(await get('/v1/models')).toMatchObject({ object: 'list', data: [{ id: 'm', object: 'model' }] })
    expect(await get('/v1/models/m')).toMatchObject({ id: 'm', object: 'model' })
  })

  it('checks bodies and credentials', async () => {
    const { gateway, fetch } = create()
    expect((await post(gateway, '/v1/chat/completions', question, { authorization: 'Bearer bad' })).status).toBe(401)
    const invalid = await post(gateway, '/v1/chat/completions', { model: 'm' })
    expect(await invalid.json()).toMatchObject({ error: { param: 'messages', type: 'invalid_request_error' } })
    expect(fetch).not.toHaveBeenCalled()
  })

  it('rejects references to files that the caller did not receive', async () => {
    const { gateway, fetch } = create()
    const content = [{ type: 'file', file: { file_id: 'file-of-another' } }]
    const response = await post(gateway, '/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content }] })
    expect(response.status).toBe(400)
    expect(fetch).not.toHaveBeenCalled()
  })

  it('knows the ids of files and audio that it passed to the caller', async () => {
    const audio = { id: 'audio_1', data: '', expires_at: 1, transcript: 'hi' }
    const choices = [{ index: 0, message: { role: 'assistant', content: null, audio }, finish_reason: 'stop' }]
    const { gateway, fetch } = create(() => Response.json({ ...completion, choices }))
    await post(gateway, '/v1/chat/completions', question)
    const next = [
      { role: 'user', content: 'x' },
      { role: 'assistant', audio: { id: 'audio_1' } },
      { role: 'user', content: 'y' },
    ]
    expect((await post(gateway, '/v1/chat/completions', { model: 'm', messages: next })).status).toBe(200)
    expect(fetch).toHaveBeenCalledTimes(2)
  })

  it.each([
    ['/v1/embeddings', { error: { message: expect.stringContaining(advice), type: 'invalid_request_error' } }],
    ['/v1/responses', { error: { message: expect.stringContaining(advice), type: 'invalid_request_error' } }],
    ['/v1/messages', { type: 'error', error: { type: 'not_found_error', message: expect.stringContaining(advice) } }],
    [
      '/v1beta/models/m:generateContent',
      { error: { code: 404, status: 'NOT_FOUND', message: expect.stringContaining(advice) } },
    ],
  ])(
    'responds to %s with a 404 in the form of its clients, which names the import with everything',
    async (path, body) => {
      const { gateway } = create()
      const response = await post(gateway, path, question)
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject(body)
    },
  )

  it('rejects requests that only a translation could carry', async () => {
    const { gateway, fetch } = create()
    const sealed = { role: 'assistant', content: 'y', reasoning_content: 'z', signature: 'mgs1.messages.EqQB' }
    const response = await post(gateway, '/v1/chat/completions', {
      model: 'm',
      messages: [...question.messages, sealed],
    })
    expect(response.status).toBe(501)
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining(advice) } })
    expect(fetch).not.toHaveBeenCalled()
  })

  it('rejects explanations', async () => {
    const { gateway, fetch } = create()
    const response = await post(gateway, '/v1/chat/completions?modelgate=explain', question)
    expect(response.status).toBe(501)
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining(advice) } })
    expect(fetch).not.toHaveBeenCalled()
  })

  it.each([
    [
      'an upstream of another format',
      { upstreams: { one: anthropic({ apiKey: 'k' }) } },
      /upstreams\.one does not speak/,
    ],
    ['conditions', { models: { m: { upstream: 'one', when: 'fits' } } }, /models\['m'\] sets 'when'/],
    ['cache marks', { models: { m: [{ upstream: 'one', cache: 'auto' }] } }, /models\['m'\] sets 'cache'/],
    ['fetched media', { media: { allow: () => true } }, /media: /],
    ['a capture of bodies', { plugins: [{ name: 'p', onBodies() {} } as Plugin] }, /'p' asks for bodies/],
  ])('rejects a configuration with %s, and names the import with everything', (_what, settings, problem) => {
    const config = { auth: 'none', upstreams, models: { m: 'one' }, logger: false, ...settings }
    const start = () => createGateway(config as unknown as Parameters<typeof createGateway>[0])
    expect(start).toThrow(problem)
    expect(start).toThrow(advice)
  })

  it('serves the endpoints of plugins', async () => {
    const plugin: Plugin = {
      name: 'p',
      routes: [{ method: 'GET', path: '/status', handle: async () => ({ status: 204, headers: {}, body: null }) }],
    }
    const gateway = createGateway({ auth: 'none', upstreams, models: { m: 'one' }, plugins: [plugin], logger: false })
    expect((await gateway.fetch('http://gw/status')).status).toBe(204)
  })

  it('serves other providers with OpenAI’s format', async () => {
    const fetch = vi.fn(async () => Response.json(completion))
    const local = openaiCompatible({ baseURL: 'http://localhost:1/v1' })
    const gateway = createGateway({
      auth: 'none',
      upstreams: { local },
      models: { '*': 'local' },
      fetch,
      logger: false,
    })
    expect((await post(gateway, '/chat/completions', question)).status).toBe(200)
  })

  it('has only routes that the whole gateway has', () => {
    const all = new Map(fullEdition.routes.map((route) => [`${route.method} ${route.path}`, route]))
    for (const route of chatEdition.routes) expect(all.get(`${route.method} ${route.path}`)).toMatchObject(route)
  })
})
