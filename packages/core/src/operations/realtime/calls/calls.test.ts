import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../../base/errors.ts'
import type { GatewayConfig } from '../../../config/config.ts'
import type { FinishEvent } from '../../../config/finish-event.ts'
import { createGateway } from '../../../gateway/create-gateway.ts'
import { openai } from '../../../upstreams/openai.ts'
import { openaiCompatible } from '../../../upstreams/openai-compatible.ts'
import { memoryResponseStore } from '../../responses/store.ts'

interface Sent {
  readonly path: string
  readonly type: string
  readonly body: string
}

const sdp = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\n'

function setUp(config: Partial<GatewayConfig> = {}, answer?: (path: string) => Response | undefined) {
  const sent: Sent[] = []
  const finished: FinishEvent[] = []
  let created = 0
  const gateway = createGateway({
    auth: (token) => ({ id: token, ...(token === 'limited' ? { models: ['alias'] } : {}) }),
    upstreams: {
      up: openai({ apiKey: 'sk-canary-0123456789abcdef', baseURL: 'http://up/v1' }),
      none: openaiCompatible({ baseURL: 'http://none/v1' }),
    },
    models: { alias: { upstream: 'up', model: 'real' }, other: 'up', none: 'none' },
    responses: { store: memoryResponseStore() },
    plugins: [{ name: 'witness', onFinish: (event) => void finished.push(event) }],
    logger: false,
    fetch: async (input, init) => {
      const { pathname } = new URL(String(input))
      const headers = new Headers(init?.headers)
      sent.push({
        path: pathname,
        type: headers.get('content-type') ?? '',
        body: await new Response(init?.body ?? null).text(),
      })
      const given = answer?.(pathname)
      if (given !== undefined) return given
      if (!pathname.endsWith('/calls')) return new Response('')
      created++
      return new Response(`${sdp}a=ice-pwd:x\r\n`, {
        status: 201,
        headers: { 'content-type': 'application/sdp', location: `/v1/realtime/calls/rtc_${created}` },
      })
    },
    ...config,
  } as GatewayConfig)
  const post = (path: string, token: string, body?: BodyInit | object, type?: string): Promise<Response> => {
    const isPlain = body === undefined || body instanceof FormData || typeof body === 'string'
    const content = isPlain ? undefined : 'application/json'
    const contentType = type ?? content
    return gateway.fetch(`http://gw${path}`, {
      method: 'POST',
      headers: {
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
      },
      ...(body === undefined ? {} : { body: isPlain ? (body as BodyInit) : JSON.stringify(body) }),
    })
  }
  return { post, sent, finished }
}

const form = (session: string | Blob | undefined, offer: string | Blob | undefined = sdp): FormData => {
  const data = new FormData()
  if (offer !== undefined) data.set('sdp', offer)
  if (session !== undefined) data.set('session', session)
  return data
}

/** The parts of a form that was sent. */
const partsOf = async ({ body, type }: Sent): Promise<Record<string, string>> => {
  const data = await new Response(body, { headers: { 'content-type': type } }).formData()
  const parts: Record<string, string> = {}
  for (const [name, value] of data) parts[name] = typeof value === 'string' ? value : await value.text()
  return parts
}

const path = '/v1/realtime/calls'

describe('the creation of a call', () => {
  const session = '{ "type":"realtime", "model":"alias","audio":{"input":{"format":{"rate":24000.0}}} }'

  it.each([
    ['fields', session, sdp],
    ['files', new Blob([session], { type: 'application/json' }), new Blob([sdp], { type: 'application/sdp' })],
  ])('replaces only the model in a form of %s, and returns the answer and the location', async (_, given, offer) => {
    const { post, sent, finished } = setUp()
    const reply = await post(path, 'ann', form(given, offer))
    expect([reply.status, await reply.text()]).toEqual([201, `${sdp}a=ice-pwd:x\r\n`])
    expect(Object.fromEntries(reply.headers)).toMatchObject({
      location: '/v1/realtime/calls/rtc_1',
      'content-type': 'application/sdp',
      'modelgate-model': 'real',
    })
    expect(sent).toHaveLength(1)
    expect(await partsOf(sent[0] as Sent)).toEqual({ sdp, session: session.replace('alias', 'real') })
    expect(finished).toMatchObject([
      { operation: 'create-call', model: 'alias', upstreamModel: 'real', status: 201, uncounted: true },
    ])
    expect(finished[0]?.usage).toBeUndefined()
  })

  it('accepts SDP alone if the query names the model', async () => {
    const { post, sent } = setUp()
    const reply = await post(`${path}?model=alias`, 'ann', sdp, 'application/sdp')
    expect(reply.status).toBe(201)
    expect(await partsOf(sent[0] as Sent)).toEqual({ sdp, session: '{"type":"realtime","model":"real"}' })
  })

  it.each([
    ['no session', path, form(undefined), undefined, 400, 'session'],
    ['no offer', path, form(session, ''), undefined, 400, 'sdp'],
    ['a session without a model', path, form('{"type":"realtime"}'), undefined, 400, 'session.model'],
    ['a model that is no text', path, form('{"model":7}'), undefined, 400, 'session.model'],
    ['two models', path, form('{"model":"alias","model":"other"}'), undefined, 400, 'session.model'],
    ['another spelling', path, form('{"model":"alias","Model":"other"}'), undefined, 400, 'session.Model'],
    ['a session that is no JSON', path, form('{'), undefined, 400, 'session'],
    ['a transcription session', path, form('{"type":"transcription","model":"alias"}'), undefined, 400, 'session.type'],
    ['an unknown model', path, form('{"model":"nothing"}'), undefined, 404, 'model'],
    ['a model without calls', path, form('{"model":"none"}'), undefined, 400, 'model'],
    [
      'a prompt of another caller',
      path,
      form('{"model":"alias","prompt":{"id":"pmpt_1"}}'),
      undefined,
      400,
      'session.prompt.id',
    ],
    ['SDP without a model', path, sdp, 'application/sdp', 400, 'model'],
    ['two models in the query', `${path}?model=alias&model=other`, sdp, 'application/sdp', 400, 'model'],
    ['another parameter', `${path}?model=alias&call_id=x`, sdp, 'application/sdp', 400, 'call_id'],
    ['a model in the query of a form', `${path}?model=other`, form(session), undefined, 400, 'model'],
    ['JSON', path, { model: 'alias' }, undefined, 415, null],
  ])('rejects %s without an upstream call', async (_, at, body, type, status, param) => {
    const { post, sent } = setUp()
    const reply = await post(at, 'ann', body, type)
    expect([reply.status, await reply.json()]).toMatchObject([status, { error: { param } }])
    expect(sent).toEqual([])
  })

  it('rejects a further field of the form', async () => {
    const { post, sent } = setUp()
    const data = form(session)
    data.set('model', 'other')
    expect((await post(path, 'ann', data)).status).toBe(400)
    expect(sent).toEqual([])
  })

  it('rejects a further model outside the list of the caller', async () => {
    const { post, sent } = setUp()
    const both = '{"model":"alias","audio":{"input":{"transcription":{"model":"other"}}}}'
    expect((await post(path, 'limited', form(both))).status).toBe(404)
    expect(sent).toEqual([])
    expect((await post(path, 'ann', form(both))).status).toBe(201)
  })

  it('rejects a caller without a token', async () => {
    const { post, sent } = setUp()
    for (const action of ['', '/rtc_1/accept', '/rtc_1/hangup', '/rtc_1/refer', '/rtc_1/reject'])
      expect((await post(path + action, '', action === '' ? form(session) : undefined)).status).toBe(401)
    expect(sent).toEqual([])
  })

  it.each([
    ['no location', new Response(sdp, { status: 201 })],
    ['a location without an id', new Response(sdp, { status: 201, headers: { location: '/v1/realtime/calls/' } })],
    ['no SDP', new Response('hello', { status: 201, headers: { location: '/v1/realtime/calls/rtc_1' } })],
  ])('fails if the upstream responds with %s', async (_, response) => {
    const { post } = setUp({}, () => response)
    expect((await post(path, 'ann', form(session))).status).toBe(502)
  })

  it('hides a credential of the upstream in an answer', async () => {
    const { post } = setUp(
      {},
      () =>
        new Response(`${sdp}a=key:sk-canary-0123456789abcdef\r\n`, {
          status: 201,
          headers: { 'content-type': 'application/sdp', location: '/v1/realtime/calls/rtc_1' },
        }),
    )
    const text = await (await post(path, 'ann', form(session))).text()
    expect(text).toContain('v=0')
    expect(text).not.toContain('canary')
  })

  it('hangs up if the owner cannot be stored', async () => {
    const store = { ...memoryResponseStore(), set: () => Promise.reject(new Error('full')) }
    const { post, sent } = setUp({ responses: { store } })
    expect((await post(path, 'ann', form(session))).status).toBe(500)
    expect(sent.map((one) => one.path)).toEqual(['/v1/realtime/calls', '/v1/realtime/calls/rtc_1/hangup'])
  })
})

describe('the control of a call', () => {
  it.each([
    ['accept', { type: 'realtime', model: 'alias' }],
    ['hangup', undefined],
    ['refer', { target_uri: 'tel:+1' }],
  ])('does not read the store for a caller that a plugin rejects: %s', async (action, body) => {
    const reads: string[] = []
    const store = { ...memoryResponseStore(), get: (key: string) => void reads.push(key) }
    const admit = () => {
      throw new GatewayError('rate_limited', 'Too many requests.')
    }
    const { post, sent } = setUp({
      references: { calls: 'pass' },
      responses: { store },
      plugins: [{ name: 'limits', admit }],
    })
    expect((await post(`${path}/rtc_phone/${action}`, 'ann', body)).status).toBe(429)
    expect([reads, sent]).toEqual([[], []])
  })

  const create = async (post: ReturnType<typeof setUp>['post'], token: string): Promise<string> =>
    (await post(path, token, form('{"type":"realtime","model":"alias"}'))).headers.get('location') ?? ''

  it('passes for its creator, with the bytes of the request', async () => {
    const { post, sent, finished } = setUp()
    const call = await create(post, 'ann')
    expect((await post(`${call}/refer`, 'ann', { target_uri: 'tel:+1' })).status).toBe(200)
    expect((await post(`${call}/hangup`, 'ann')).status).toBe(200)
    expect(sent.slice(1)).toEqual([
      { path: `${call}/refer`, type: 'application/json', body: '{"target_uri":"tel:+1"}' },
      { path: `${call}/hangup`, type: '', body: '' },
    ])
    expect(finished.slice(1)).toMatchObject([{ operation: 'control-call' }, { operation: 'control-call' }])
    expect(finished[1]?.uncounted).toBeUndefined()
  })

  it.each([
    ['accept', { type: 'realtime', model: 'alias' }],
    ['hangup', undefined],
    ['refer', { target_uri: 'tel:+1' }],
    ['reject', {}],
  ])('is not found for others, also where unknown calls pass: %s', async (action, body) => {
    for (const references of [{}, { calls: 'pass' as const }]) {
      const { post, sent } = setUp({ references })
      const call = await create(post, 'ann')
      expect((await post(`${call}/${action}`, 'bob', body)).status).toBe(404)
      expect(sent).toHaveLength(1)
    }
  })

  it('of a phone call is possible only if the configuration passes unknown calls', async () => {
    const phone = `${path}/rtc_phone`
    const closed = setUp()
    expect((await closed.post(`${phone}/reject`, 'ann')).status).toBe(404)
    expect((await closed.post(`${phone}/accept`, 'ann', { type: 'realtime', model: 'alias' })).status).toBe(404)
    expect(closed.sent).toEqual([])
    const { post, sent, finished } = setUp({ references: { calls: 'pass' } })
    expect((await post(`${path}/rtc_other/reject`, 'ann', { status_code: 486 })).status).toBe(200)
    expect((await post(`${phone}/accept`, 'ann', { type: 'realtime', model: 'alias', tools: [] })).status).toBe(200)
    expect(sent[1]).toMatchObject({ path: `${phone}/accept`, body: '{"type":"realtime","model":"real","tools":[]}' })
    expect(finished[1]).toMatchObject({
      operation: 'accept-call',
      model: 'alias',
      upstream: 'up',
      upstreamModel: 'real',
      uncounted: true,
    })
    // From here on it belongs to the caller that accepted it.
    for (const [action, body] of [['hangup'], ['refer', { target_uri: 'tel:+1' }]] as const)
      expect((await post(`${phone}/${action}`, 'bob', body)).status).toBe(404)
    expect((await post(`${phone}/refer`, 'ann', { target_uri: 'tel:+1' })).status).toBe(200)
    expect(sent).toHaveLength(3)
  })

  it.each([
    ['accept', {}, 'model'],
    ['accept', { model: 'alias', type: 'transcription' }, 'type'],
    ['accept', { model: 'none' }, 'model'],
    ['refer', {}, 'target_uri'],
    ['refer', undefined, 'target_uri'],
    ['reject', { status_code: 'busy' }, 'status_code'],
  ])('rejects %s of %j without an upstream call', async (action, body, param) => {
    const { post, sent } = setUp({ references: { calls: 'pass' } })
    const reply = await post(`${path}/rtc_phone/${action}`, 'ann', body)
    expect([reply.status, await reply.json()]).toMatchObject([400, { error: { param } }])
    expect(sent).toEqual([])
  })

  it.each(['..%2f..%2ffiles%2ffile-1', '%2e%2e', 'rtc_1%3fx=1', 'rtc 1', 'x'.repeat(300)])(
    'has no hostile id: %s',
    async (id) => {
      const { post, sent } = setUp({ references: { calls: 'pass' } })
      expect((await post(`${path}/${id}/hangup`, 'ann')).status).toBe(404)
      expect(sent).toEqual([])
    },
  )

  it.each([
    ['ann', 'hangup', undefined],
    ['ann', 'refer', undefined],
    ['', 'refer', 'none'],
  ] as const)('of the caller "%s" is refused without an own call: %s', async (token, action, auth) => {
    const { post, sent } = setUp({ references: { calls: 'pass' }, ...(auth === undefined ? {} : { auth }) })
    const body = action === 'refer' ? { target_uri: 'tel:+1' } : undefined
    expect((await post(`${path}/rtc_phone/${action}`, token, body)).status).toBe(404)
    expect(sent).toEqual([])
  })

  it('passes the error of the upstream', async () => {
    const gone = () =>
      Response.json({ error: { message: 'No call found', type: 'invalid_request_error' } }, { status: 404 })
    const { post } = setUp({ references: { calls: 'pass' } }, gone)
    const reply = await post(`${path}/rtc_phone/reject`, 'ann')
    expect([reply.status, await reply.json()]).toMatchObject([404, { error: { message: 'No call found' } }])
  })

  it('needs no content type without authentication, but the same site', async () => {
    const { post, sent } = setUp({ auth: 'none', references: { calls: 'pass' } })
    expect((await post(`${path}/rtc_phone/hangup`, '')).status).toBe(200)
    expect(sent).toHaveLength(1)
  })
})
