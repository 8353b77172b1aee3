import { describe, expect, it } from 'vitest'
import type { RealtimeTransport } from '../config/realtime.ts'
import { adapterFunctions } from '../gateway/adapter.ts'
import { asJson, completion, message, setUp } from '../gateway/create-gateway.test-support.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { toInbound } from '../http/web-request.ts'
import { openai } from '../upstreams/openai.ts'

const json = { 'content-type': 'application/json' }
const body = { model: 'real', messages: [{ role: 'user', content: 'hi' }] }

describe("without authentication (auth: 'none')", () => {
  const open = () => setUp({ a: asJson(completion), m: asJson(message) }, { auth: 'none', responses: {} })
  const form = { 'content-type': 'multipart/form-data; boundary=json' }
  it.each<[string, string, Record<string, string>, number]>([
    ['no content type', '/v1/chat/completions', {}, 415],
    ['no content type, from a page of another site', '/v1/chat/completions', { origin: 'https://evil.test' }, 415],
    ['JSON, which browsers ask for first', '/v1/chat/completions', { ...json, 'sec-fetch-site': 'cross-site' }, 200],
    ['JSON from a program', '/v1/chat/completions', json, 200],
    ['a form from another site', '/v1/images/edits', { ...form, 'sec-fetch-site': 'cross-site' }, 403],
    ['a form from another port', '/v1/images/edits', { ...form, 'sec-fetch-site': 'same-site' }, 403],
    ['a form of an older browser', '/v1/images/edits', { ...form, origin: 'https://evil.test', host: 'gw' }, 403],
    ['a form of a sandbox', '/v1/images/edits', { ...form, origin: 'null', host: 'gw' }, 403],
    ['a form of its own page', '/v1/images/edits', { ...form, origin: 'https://gw', host: 'gw' }, 400],
    ['a form of a program', '/v1/images/edits', form, 400],
    ['a cancellation from another site', '/v1/responses/resp_1/cancel', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a cancellation of a program', '/v1/responses/resp_1/cancel', {}, 404],
  ])('%s to %s', async (_, path, headers, status) => {
    const { gateway } = open()
    const bytes = new TextEncoder().encode(JSON.stringify(body))
    const inbound = { ...toInbound(new Request(`http://gw${path}`, { method: 'POST', body: bytes })) }
    const reply = await adapterFunctions(gateway).handle({
      ...inbound,
      method: 'POST',
      path,
      query: '',
      signal: inbound.signal,
      header: (name) => headers[name],
      read: async () => bytes,
    })
    expect(reply.status).toBe(status)
  })

  it('refuses WebSockets of pages of other sites', async () => {
    const gateway = createGateway({
      auth: 'none',
      upstreams: { a: openai({ apiKey: 'k' }) },
      models: { '*': 'a' },
      logger: false,
    })
    const dial: RealtimeTransport<never> = () => Promise.reject(new Error('dialled'))
    const headers = { origin: 'https://evil.test', host: 'gw', upgrade: 'websocket' }
    const inbound = toInbound(new Request('http://gw/v1/realtime?model=x'))
    const opening = await adapterFunctions(gateway).realtime(
      {
        ...inbound,
        method: 'GET',
        path: '/v1/realtime',
        query: 'model=x',
        signal: inbound.signal,
        header: (name) => headers[name as 'host'],
        read: inbound.read,
      },
      dial,
    )
    expect(opening).toMatchObject({ ok: false, reply: { status: 403 } })
  })

  it('keeps no response unless the host names a store', async () => {
    const { post, gateway } = open()
    const reply = await post('/v1/responses', { model: 'claude-x', input: 'hi' })
    const { id, store } = await reply.json()
    expect(store).toBe(false)
    expect((await gateway.fetch(`http://gw/v1/responses/${id}`)).status).toBe(404)
    const kept = setUp({ m: asJson(message) }, { auth: 'none' })
    const made = await (await kept.post('/v1/responses', { model: 'claude-x', input: 'hi' })).json()
    expect((await kept.gateway.fetch(`http://gw/v1/responses/${made.id}`)).status).toBe(200)
  })
})
