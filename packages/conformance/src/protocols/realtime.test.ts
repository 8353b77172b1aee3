import { until } from '@modelgate/testing/test-support'
import type { RealtimeServerEvent } from 'openai/resources/realtime/realtime'
import { describe, expect, it } from 'vitest'
import { upstreamKey } from '../base/gateways.ts'
import { narrowToken, realtimeServers, sessionOf, startRealtime, token } from './realtime-fixture.ts'

const protocols = ['realtime', `openai-insecure-api-key.${token}`]

describe.each(realtimeServers)('realtime sessions on $name', ({ start }) => {
  it('carry a conversation of the official client and count its usage', async () => {
    const setting = await startRealtime(start)
    const rt = setting.sdk('renamed')
    const events: RealtimeServerEvent[] = []
    rt.on('event', (event) => events.push(event))
    await until(() => events.length > 0, 'session.created')
    rt.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } })
    for (const text of ['one two', 'three']) {
      const before = events.filter(({ type }) => type === 'response.done').length
      const content = [{ type: 'input_text' as const, text }]
      rt.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
      rt.send({ type: 'response.create' })
      await until(() => events.filter(({ type }) => type === 'response.done').length > before, 'response.done')
    }
    const output = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('')
    expect(output).toBe('You said: one twoYou said: three')
    expect(events[0]).toMatchObject({ type: 'session.created', session: { model: 'upstream-name' } })

    const session = await sessionOf(setting)
    expect([session.query, session.headers.authorization]).toEqual(['model=upstream-name', `Bearer ${upstreamKey}`])
    expect(JSON.stringify(session.headers)).not.toContain(token)
    rt.close({ code: 1000, reason: 'done' })
    await until(() => setting.finished.length > 0, 'the end')
    expect(session.closed).toEqual({ code: 1000, reason: 'done' })
    const used = events.flatMap((event) => (event.type === 'response.done' ? [event.response.usage] : []))
    const sum = (field: 'input_tokens' | 'output_tokens') => used.reduce((all, one) => all + (one?.[field] ?? 0), 0)
    expect(used).toHaveLength(2)
    expect(setting.finished).toMatchObject([
      {
        operation: 'realtime',
        outcome: 'finished',
        status: 101,
        stream: true,
        lane: 'wire',
        identity: { id: 'rita' },
        model: 'renamed',
        upstream: 'up',
        upstreamModel: 'upstream-name',
        attempts: [{ upstream: 'up', model: 'upstream-name', status: 101 }],
        usage: { input: { total: sum('input_tokens') }, output: { total: sum('output_tokens') } },
      },
    ])
    expect(sum('output_tokens')).toBeGreaterThan(0)
    expect(setting.finished[0]?.firstEventMs).toBeGreaterThan(0)
  })

  it('pass binary and megabyte messages unchanged', async () => {
    const setting = await startRealtime(start)
    const client = setting.ws()
    await client.opened
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256))
    client.socket.send(bytes)
    const audio = 'QUJD'.repeat(262_144)
    client.socket.send(JSON.stringify({ type: 'input_audio_buffer.append', audio }))
    await until(() => client.messages.length === 3, 'three messages')
    expect(client.messages.find(Buffer.isBuffer)?.equals(bytes)).toBe(true)
    const echoed = client.messages.find((message) => message.includes('output_audio.delta'))
    expect(JSON.parse(String(echoed)).delta === audio).toBe(true)
    // Spaces, order and escapes: no byte of a text may change.
    const odd = '{ "type":\t"strange" , "\\u0061": 1e400, "ä": "\u{1f600}" }'
    const session = await sessionOf(setting)
    await session.send(odd)
    client.socket.send(odd)
    await until(() => session.received.includes(odd) && client.messages.includes(odd), 'the same text')
  })

  it.each([
    [4001, 'bye'],
    [1000, ''],
    [3000, 'x'.repeat(123)],
  ])('pass the close code %i on in both directions', async (code, reason) => {
    const setting = await startRealtime(start)
    const first = setting.ws()
    await first.opened
    first.socket.close(code, reason)
    const session = await sessionOf(setting)
    await until(() => session.closed !== undefined, 'the close upstream')
    expect(session.closed).toEqual({ code, reason })

    const second = setting.ws()
    await second.opened
    ;(await sessionOf(setting, 2)).close(code, reason)
    expect(await second.closed).toEqual({ code, reason })
    await until(() => setting.finished.length === 2, 'both ends')
    expect(setting.finished.map(({ outcome }) => outcome)).toEqual(['finished', code === 1000 ? 'finished' : 'failed'])
  })

  it.each([
    ['no token', '/v1/realtime?model=gpt-realtime', {}, 401, 'invalid_api_key'],
    ['a wrong token', '/v1/realtime?model=gpt-realtime', { authorization: 'Bearer nobody' }, 401, 'invalid_api_key'],
    ['a token in the query', `/v1/realtime?model=gpt-realtime&key=${token}`, {}, 401, 'invalid_api_key'],
    ['an unknown model', '/v1/realtime?model=nothing', undefined, 404, 'model_not_found'],
    [
      'a model that the token may not use',
      '/v1/realtime?model=gpt-realtime',
      { 'x-api-key': narrowToken },
      404,
      'model_not_found',
    ],
    ['no model', '/v1/realtime', undefined, 400, null],
    ['a model without sessions', '/v1/realtime?model=deaf', undefined, 400, null],
    ['an unreachable upstream', '/v1/realtime?model=lost', undefined, 502, null],
  ])('reject %s before the upgrade', async (_name, path, headers, status, code) => {
    const setting = await startRealtime(start)
    const client = setting.ws(path, headers === undefined ? {} : { headers })
    const answer = await client.refused
    expect(answer.status).toBe(status)
    expect(answer.headers).toMatchObject({ 'content-type': expect.stringMatching(/^application\/json/) })
    const { error } = JSON.parse(answer.text)
    expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type'])
    if (code !== null) expect(error.code).toBe(code)
    expect(answer.text).not.toMatch(/127\.0\.0\.1|upstream-key|ECONN/)
    expect(setting.fake.sessions).toEqual([])
    await until(async () => (await setting.fake.connections()) === 0, 'no connection upstream')
  })
})

describe('tokens of realtime sessions', () => {
  it.each([
    ['Authorization', { headers: { authorization: `Bearer ${token}` } }, ''],
    ['x-api-key', { headers: { 'x-api-key': token } }, ''],
    ['x-goog-api-key', { headers: { 'x-goog-api-key': token } }, ''],
    ['a subprotocol', { headers: {}, protocols }, 'realtime'],
    ['a subprotocol, before the other one', { headers: {}, protocols: [...protocols].reverse() }, 'realtime'],
  ])('are read from %s and not echoed', async (_name, options, protocol) => {
    const setting = await startRealtime()
    const client = setting.ws(undefined, options)
    let head = ''
    client.socket.on('upgrade', (response) => {
      head = JSON.stringify(response.headers)
    })
    await client.opened
    expect(client.socket.protocol).toBe(protocol)
    expect(head).not.toContain(token)
    expect(head).toContain('x-request-id')
    const { headers, query } = await sessionOf(setting)
    expect(JSON.stringify([headers, query])).not.toContain(token)
    expect(headers['sec-websocket-protocol']).toBeUndefined()
  })

  it('are rejected as the only subprotocol, with an explanation', async () => {
    const setting = await startRealtime()
    const answer = await setting.ws(undefined, { headers: {}, protocols: protocols.slice(1) }).refused
    expect(answer.status).toBe(400)
    expect(answer.text).toContain("Offer 'realtime'")
    expect(answer.text).not.toContain(token)
  })

  it('in a query never reach the upstream, which receives only the model', async () => {
    const setting = await startRealtime()
    await setting.ws('/v1/realtime?key=abc&model=renamed&Authorization=abc').opened
    expect((await sessionOf(setting)).query).toBe('model=upstream-name')
  })

  it.each(['model=other', 'Model=other', 'intent=x%26y', 'deployment=other', 'api-version=1', 'call_id=rtc_1'])(
    'are rejected without an upstream call if the query also has %s',
    async (more) => {
      const setting = await startRealtime()
      expect(await setting.ws(`/v1/realtime?model=renamed&${more}`).refused).toMatchObject({ status: 400 })
      expect(setting.fake.sessions).toEqual([])
    },
  )

  it.each([
    ['a header', { headers: { authorization: `Bearer ${token}`, 'openai-beta': 'realtime=v1' } }, 'realtime=v1'],
    ['a subprotocol', { headers: {}, protocols: [...protocols, 'openai-beta.realtime-v1'] }, 'realtime=v1'],
    ['no header or subprotocol', {}, undefined],
  ])("are sent upstream with the client's OpenAI-Beta header from %s", async (_name, options, beta) => {
    const setting = await startRealtime()
    await setting.ws(undefined, options).opened
    expect((await sessionOf(setting)).headers['openai-beta']).toBe(beta)
  })
})

describe('upstream of realtime sessions', () => {
  it.each([
    ['an upstream error', { status: 500 }, 502],
    ['an invalid upstream key', { status: 401 }, 502],
    ['a rate limit', { status: 429, headers: { 'retry-after': '7' } }, 429],
    ['a web page', { status: 200, body: '<html>' }, 502],
    ['a redirect', { status: 302, headers: { location: 'http://elsewhere.invalid/' } }, 502],
    ['an invalid HTTP status', { status: 999 }, 502],
  ])('may reject the upgrade with %s', async (_name, refusal, status) => {
    const setting = await startRealtime()
    const message = `no such thing at ${setting.fake.url} with ${upstreamKey}`
    setting.fake.refuse({
      body: JSON.stringify({ error: { message, type: 'x', param: null, code: null } }),
      ...refusal,
    })
    const answer = await setting.ws().refused
    expect(answer.status).toBe(status)
    expect(answer.text).not.toMatch(/127\.0\.0\.1|upstream-key|elsewhere/)
    if (status === 429) expect(answer.headers['retry-after']).toBe('7')
    expect(setting.finished).toMatchObject([{ outcome: 'failed', status, attempts: [{ status: refusal.status }] }])
    await until(async () => (await setting.fake.connections()) === 0, 'no connection upstream')
  })

  it('is replaced by the next target if it is unreachable', async () => {
    const setting = await startRealtime()
    const client = setting.ws('/v1/realtime?model=second')
    await client.opened
    client.socket.close()
    await until(() => setting.finished.length === 1, 'the end')
    expect(setting.finished).toMatchObject([
      {
        upstream: 'up',
        attempts: [
          { upstream: 'down', error: 'upstream_unreachable' },
          { upstream: 'up', status: 101 },
        ],
      },
    ])
    await until(() => setting.fake.sessions[0]?.closed !== undefined, 'the close')
    // Without a received code, none is invented.
    expect(setting.fake.sessions[0]?.closed).toEqual({ code: 1005, reason: '' })
  })

  it("may break in mid-session: the client receives 1011 without the upstream's name", async () => {
    const setting = await startRealtime()
    const client = setting.ws()
    await client.opened
    ;(await sessionOf(setting)).drop()
    expect(await client.closed).toEqual({ code: 1011, reason: 'The connection to the upstream was lost.' })
    await until(() => setting.finished.length === 1, 'the end')
    expect(setting.finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_truncated' } } }])
  })

  it('reveals neither host nor key in close reasons and error events', async () => {
    const setting = await startRealtime()
    const client = setting.ws()
    await client.opened
    const session = await sessionOf(setting)
    const host = new URL(setting.fake.url).host
    await session.send({ type: 'error', error: { message: `at ${host} with ${upstreamKey}` } })
    session.close(4000, `${host} ${host} ${host} ${host} ${host} `)
    const { code, reason } = await client.closed
    expect(code).toBe(4000)
    expect(reason).toContain('[upstream]')
    const reported = `${reason}${client.messages.join()}`
    expect(reported).toContain('***')
    expect(reported).not.toContain(host)
    expect(reported).not.toContain(upstreamKey)
  })

  it("is closed when the client's connection breaks", async () => {
    const setting = await startRealtime()
    const client = setting.ws()
    await client.opened
    client.socket.terminate()
    const session = await sessionOf(setting)
    await until(() => session.closed !== undefined, 'the close upstream')
    expect(session.closed?.code).toBe(1001)
    await until(() => setting.finished.length === 1, 'the end')
    expect(setting.finished).toMatchObject([{ outcome: 'aborted' }])
  })
})
