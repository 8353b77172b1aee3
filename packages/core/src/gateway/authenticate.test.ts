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
const outcome = (result: unknown) =>
  (async () => authenticate((() => result) as unknown as Authenticate, inbound, route, 1000, inbound.signal))().then(
    (identity) => identity,
    (error) => error.info.kind,
  )

it.each([
  [{ id: 'me' }, { id: 'me' }],
  [null, 'authentication'],
  [undefined, 'authentication'],
  // Functions in plain JavaScript that only compare tokens return false or an empty string.
  [false, 'authentication'],
  ['', 'authentication'],
  [true, 'internal'],
  ['me', 'internal'],
])('maps the auth result %o to %o', async (result, expected) => {
  expect(await outcome(result)).toEqual(expected)
  expect(await outcome(Promise.resolve(result))).toEqual(expected)
})

it.each(['x-api-key', 'x-goog-api-key'])('rejects a request with a blank %s header without calling auth', (name) => {
  const blank = { ...inbound, header: (requested: string) => (requested === name ? ' \t' : undefined) }
  const credentials: string[] = []
  const auth: Authenticate = (credential) => {
    credentials.push(credential)
    return { id: 'me' }
  }
  expect(() => authenticate(auth, blank, route, 1000, blank.signal)).toThrow("You didn't provide an API key")
  expect(credentials).toEqual([])
})

const json = { 'content-type': 'application/json' }
const body = { model: 'real', messages: [{ role: 'user', content: 'hi' }] }

describe("without authentication (auth: 'none')", () => {
  const open = () => setUp({ a: asJson(completion), m: asJson(message) }, { auth: 'none', responses: {} })
  const form = { 'content-type': 'multipart/form-data; boundary=json' }
  it.each<[string, string, Record<string, string>, number]>([
    ['rejects a request without a content type', '/v1/chat/completions', {}, 415],
    [
      'rejects a request of another site without a content type',
      '/v1/chat/completions',
      { origin: 'https://evil.test' },
      415,
    ],
    [
      'accepts JSON from another site, which requires a CORS preflight',
      '/v1/chat/completions',
      { ...json, 'sec-fetch-site': 'cross-site' },
      200,
    ],
    ['accepts JSON from a client that is no browser', '/v1/chat/completions', json, 200],
    ['rejects a form from another site', '/v1/images/edits', { ...form, 'sec-fetch-site': 'cross-site' }, 403],
    ['rejects a form from another port', '/v1/images/edits', { ...form, 'sec-fetch-site': 'same-site' }, 403],
    [
      'rejects a form from another site in a browser without Sec-Fetch-Site',
      '/v1/images/edits',
      { ...form, origin: 'https://evil.test', host: 'gw' },
      403,
    ],
    ['rejects a form from a sandboxed page', '/v1/images/edits', { ...form, origin: 'null', host: 'gw' }, 403],
    ['reads a form from the same origin', '/v1/images/edits', { ...form, origin: 'https://gw', host: 'gw' }, 400],
    ['reads a form from a client that is no browser', '/v1/images/edits', form, 400],
    [
      'rejects a cancellation from another site',
      '/v1/responses/resp_1/cancel',
      { 'sec-fetch-site': 'cross-site' },
      403,
    ],
    [
      'looks up the response for a cancellation from a client that is no browser',
      '/v1/responses/resp_1/cancel',
      {},
      404,
    ],
  ])('%s: POST %s', async (_, path, headers, status) => {
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

  it('rejects WebSockets from pages of other sites with 403', async () => {
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

  it('stores responses only if the host configures a store', async () => {
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
