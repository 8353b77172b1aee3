import { describe, expect, it } from 'vitest'
import type { Authenticate } from '../config/config.ts'
import type { RealtimeTransport } from '../config/realtime.ts'
import type { Inbound } from '../http/inbound.ts'
import { toInbound } from '../http/web-request.ts'
import { routes } from '../operations/routes.ts'
import { openai } from '../upstreams/openai.ts'
import { adapterFunctions } from './adapter.ts'
import { authenticate } from './authenticate.ts'
import { asJson, completion, message, setUp } from './create-gateway.test-support.ts'
import { createGateway } from './create-gateway.ts'

const inbound: Inbound = {
  method: 'POST',
  path: '/v1/chat/completions',
  query: '',
  header: (name) => (name === 'authorization' ? 'Bearer t' : undefined),
  read: async () => new Uint8Array(0),
  signal: new AbortController().signal,
}
const route = routes[0] as (typeof routes)[number]
const outcome = (answer: unknown) =>
  (async () => authenticate((() => answer) as unknown as Authenticate, inbound, route, 1000, inbound.signal))().then(
    (identity) => identity,
    (error) => error.info.kind,
  )

it.each([
  [{ id: 'me' }, { id: 'me' }],
  [null, 'authentication'],
  [undefined, 'authentication'],
  // What a function in plain JavaScript answers that only compares tokens.
  [false, 'authentication'],
  ['', 'authentication'],
  [true, 'internal'],
  ['me', 'internal'],
])('auth that answers %o: %o', async (answer, expected) => {
  expect(await outcome(answer)).toEqual(expected)
  expect(await outcome(Promise.resolve(answer))).toEqual(expected)
})

it.each(['x-api-key', 'x-goog-api-key'])('%s with nothing in it is no credential', (name) => {
  const blank = { ...inbound, header: (asked: string) => (asked === name ? ' \t' : undefined) }
  const asked: string[] = []
  const auth: Authenticate = (credential) => {
    asked.push(credential)
    return { id: 'me' }
  }
  expect(() => authenticate(auth, blank, route, 1000, blank.signal)).toThrow("You didn't provide an API key")
  expect(asked).toEqual([])
})

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
