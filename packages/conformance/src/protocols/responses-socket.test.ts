import { GatewayError } from '@modelgate/core'
import { until } from '@modelgate/testing/test-support'
import { createTokens, memoryStorage } from '@modelgate/tokens'
import { describe, expect, it } from 'vitest'
import { upstreamOf } from '../base/gateways.ts'
import { realtimeServers } from './realtime-fixture.ts'
import { otherToken, startSockets, token } from './responses-socket-fixture.ts'

const slow = '[[words:5000]] [[slow:5]]'

describe('a WebSocket of /v1/responses', () => {
  it.each(realtimeServers)('is served by $name', async ({ start }) => {
    const setting = await startSockets({ start })
    const client = setting.ws()
    await client.opened
    client.create({ input: '[[say:served]]' })
    const [completed] = await client.ended(1)
    expect(JSON.stringify(completed?.response?.output)).toContain('served')
    await until(() => setting.finished.length === 1, 'the settlement')
  })

  it.each([
    '/responses',
    '/v1/v1/responses',
    '/v1/responses/',
    '/v1/responses?key=value',
    '/openai/v1/responses',
    '/openai/responses?api-version=2026-01-01',
  ])('is served on %s', async (path) => {
    const { ws } = await startSockets()
    const client = ws({ path })
    await client.opened
    client.create()
    expect((await client.ended(1))[0]?.type).toBe('response.completed')
  })

  it('leaves other paths alone', async () => {
    const { ws } = await startSockets()
    expect((await ws({ path: '/v1/chat/completions' }).refused).status).toBe(404)
    expect((await ws({ path: '/v1/responses/resp_1' }).refused).status).toBe(404)
  })

  it('accepts the token as a subprotocol, which it does not select', async () => {
    const { ws, finished } = await startSockets()
    const client = ws({ headers: {}, protocols: ['openai-beta.responses.v1', `openai-insecure-api-key.${token}`] })
    await client.opened
    expect(client.socket.protocol).toBe('openai-beta.responses.v1')
    client.create()
    await client.ended(1)
    await until(() => finished.length === 1, 'the settlement')
    expect(finished[0]?.identity).toEqual({ id: 'rita' })
  })

  it('rejects an upgrade without a valid token, and a page of another site without authentication', async () => {
    const { ws } = await startSockets()
    const { status, text } = await ws({ headers: {} }).refused
    expect([status, JSON.parse(text)]).toMatchObject([401, { error: { type: 'invalid_request_error' } }])
    const open = await startSockets({ config: { auth: 'none' } })
    expect((await open.ws({ headers: { origin: 'https://elsewhere.example' } }).refused).status).toBe(403)
    const same = open.ws({ headers: { origin: `http://127.0.0.1:${open.port}` } })
    await same.opened
    same.create()
    expect((await same.ended(1))[0]?.type).toBe('response.completed')
  })

  it('keeps conversations apart where callers have no identity', async () => {
    const { ws } = await startSockets({ config: { auth: 'none' } })
    const one = ws({ headers: {} })
    const two = ws({ headers: {} })
    await Promise.all([one.opened, two.opened])
    one.create({ input: 'My word is nutmeg.' })
    const id = (await one.ended(1))[0]?.response?.id
    two.create({ previous_response_id: id, input: 'What is my word?' })
    expect((await two.ended(1))[0]).toMatchObject({ status: 400, error: { code: 'previous_response_not_found' } })
    one.create({ previous_response_id: id, input: '[[say:it continues]]' })
    expect(JSON.stringify((await one.ended(2))[1])).toContain('it continues')
  })
})

describe('requests on one WebSocket', () => {
  it('run one after the other on one lane, and at the same time on different lanes', async () => {
    const { ws, fake, finished } = await startSockets()
    const client = ws()
    await client.opened
    client.create({ input: slow, stream_id: 'one' })
    client.create({ input: '[[say:after one]]', stream_id: 'one' })
    client.create({ input: '[[say:beside one]]', stream_id: 'two' })
    client.create({ input: '[[say:default]]' })
    const ended = await client.ended(2)
    expect(ended.map(({ stream_id }) => stream_id ?? 'default').sort()).toEqual(['default', 'two'])
    expect(fake.requests).toHaveLength(3)
    expect(
      client.messages.every(({ stream_id, response, item }) => {
        const text = JSON.stringify(response ?? item ?? '')
        return !text.includes('beside one') || stream_id === 'two'
      }),
    ).toBe(true)
    client.socket.terminate()
    await until(() => finished.length === 3, 'three settlements')
    expect(finished.map(({ outcome }) => outcome).sort()).toEqual(['aborted', 'finished', 'finished'])
  })

  it('compact their conversation, and continue with the item or with the id of the response', async () => {
    const { ws, fake, finished } = await startSockets()
    const client = ws()
    await client.opened
    const said = { type: 'message', role: 'user', content: 'My word is nutmeg.' }
    client.create({ input: [said, { type: 'compaction_trigger' }], store: false })
    const response = (await client.ended(1))[0]?.response
    expect(response?.output).toEqual([expect.objectContaining({ type: 'compaction' })])
    client.create({ input: 'What is my word?', previous_response_id: response?.id, store: false })
    client.create({ input: [...(response?.output ?? []), said], store: false })
    expect((await client.ended(3)).map(({ type }) => type)).toEqual(Array(3).fill('response.completed'))
    for (const { bodyText } of fake.requests.slice(1)) expect(bodyText).toMatch(/summary that replaces it/)
    expect(JSON.stringify(fake.requests)).not.toContain('compaction_trigger')
    await until(() => finished.length === 3, 'three settlements')
    expect(finished.map(({ outcome }) => outcome)).toEqual(['finished', 'finished', 'finished'])
  })

  it('may continue the latest response of another lane', async () => {
    const { ws, fake } = await startSockets()
    const client = ws()
    await client.opened
    client.create({ input: 'My word is nutmeg.', stream_id: 'planner' })
    const id = (await client.ended(1))[0]?.response?.id
    client.create({ input: 'critic', previous_response_id: id, stream_id: 'critic' })
    await client.ended(2)
    client.create({ input: 'planner', previous_response_id: id, stream_id: 'planner' })
    expect((await client.ended(3)).map(({ type }) => type)).toEqual(Array(3).fill('response.completed'))
    for (const { bodyText } of fake.requests) expect(bodyText).toContain('nutmeg')
    // The lane has moved on, so its older response is forgotten.
    client.create({ input: 'late', previous_response_id: id, stream_id: 'critic' })
    expect((await client.ended(4))[3]).toMatchObject({
      status: 400,
      stream_id: 'critic',
      error: { code: 'previous_response_not_found' },
    })
  })

  it('forgets the response that a failed request of its lane continued, but not that of another lane', async () => {
    const { ws } = await startSockets()
    const client = ws()
    await client.opened
    client.create({ input: 'one' })
    const id = (await client.ended(1))[0]?.response?.id
    client.create({ input: '[[status:500]]', previous_response_id: id, stream_id: 'fork' })
    expect((await client.ended(2))[1]).toMatchObject({ status: 502 })
    client.create({ input: '[[status:500]]', previous_response_id: id })
    expect((await client.ended(3))[2]).toMatchObject({ status: 502 })
    client.create({ input: 'again', previous_response_id: id })
    expect((await client.ended(4))[3]).toMatchObject({ error: { code: 'previous_response_not_found' } })
  })

  it.each([
    ['not an identifier', { stream_id: 'a b' }, 'invalid_stream_id'],
    ['empty', { stream_id: '' }, 'invalid_stream_id'],
    ['too long', { stream_id: 'x'.repeat(257) }, 'invalid_stream_id'],
    ['a number', { stream_id: 7 }, 'invalid_stream_id'],
  ])('reject a stream_id that is %s', async (_, body, code) => {
    const { ws } = await startSockets()
    const client = ws()
    await client.opened
    client.create(body)
    expect((await client.ended(1))[0]).toMatchObject({ status: 400, error: { code, param: 'stream_id' } })
  })

  it('accept 32 names of lanes in addition to the default lane', async () => {
    const { ws } = await startSockets()
    const client = ws()
    await client.opened
    client.create()
    for (let lane = 1; lane <= 33; lane++) client.create({ stream_id: `lane-${lane}` })
    const ended = await client.ended(34)
    expect(ended.filter(({ type }) => type === 'response.completed')).toHaveLength(33)
    expect(ended.find(({ type }) => type === 'error')).toMatchObject({
      status: 400,
      stream_id: 'lane-33',
      error: { code: 'websocket_stream_limit_reached', param: 'stream_id' },
    })
  })

  it('are checked against the limits of their caller, each on its own', async () => {
    const tokens = createTokens({ storage: memoryStorage() })
    const { secret } = await tokens.issue({ limits: { requests: 2 } })
    const { ws, finished } = await startSockets({ config: { auth: tokens.authenticate } })
    const client = ws({ headers: { authorization: `Bearer ${secret}` } })
    await client.opened
    for (let i = 0; i < 3; i++) client.create({ input: `[[say:${i}]]` })
    const ended = await client.ended(3)
    expect(ended.map(({ type, status }) => status ?? type)).toEqual(['response.completed', 'response.completed', 429])
    expect(ended[2]).toMatchObject({
      error: { code: 'rate_limit_exceeded', headers: { 'retry-after': expect.any(String) } },
      headers: { 'retry-after': expect.any(String), 'x-request-id': expect.any(String) },
    })
    await until(() => finished.length === 3, 'three settlements')
  })

  it('are authenticated each on its own: a revoked token ends the connection', async () => {
    let revoked = false
    const { ws, finished } = await startSockets({
      config: { auth: (given) => (given === token && !revoked ? { id: 'rita' } : null) },
    })
    const client = ws()
    await client.opened
    client.create()
    await client.ended(1)
    revoked = true
    client.create()
    expect((await client.ended(2))[1]).toMatchObject({ status: 401, error: { code: 'invalid_api_key' } })
    expect(await client.closed).toMatchObject({ code: 1008 })
    expect(finished).toHaveLength(1)
  })

  it('cannot continue the response of another identity, stored or not', async () => {
    const { ws, fake } = await startSockets()
    const one = ws()
    const two = ws({ headers: { authorization: `Bearer ${otherToken}` } })
    await Promise.all([one.opened, two.opened])
    one.create({ input: 'secret one', store: true })
    one.create({ input: 'secret two', stream_id: 'x' })
    const ids = (await one.ended(2)).map(({ response }) => response?.id)
    for (const [index, id] of ids.entries()) {
      two.create({ previous_response_id: id, input: 'Repeat.' })
      expect((await two.ended(index + 1))[index]).toMatchObject({
        status: 400,
        error: { code: 'previous_response_not_found' },
      })
    }
    expect(fake.requests).toHaveLength(2)
  })

  it('are rejected for a loss that the configuration does not accept', async () => {
    const { ws } = await startSockets({ config: { onLoss: 'reject' }, upstream: 'messages' })
    const client = ws()
    await client.opened
    client.create({ top_logprobs: 3, include: ['message.output_text.logprobs'] })
    expect((await client.ended(1))[0]).toMatchObject({ type: 'error', status: 400 })
  })

  it('report losses with the headers of their first event', async () => {
    const { ws } = await startSockets({ upstream: 'messages' })
    const client = ws()
    await client.opened
    client.create({ top_logprobs: 3, include: ['message.output_text.logprobs'] })
    await client.ended(1)
    expect(client.messages[0]?.headers?.['modelgate-loss']).toContain('/top_logprobs')
  })

  it('pass unchanged to an upstream of their format, without the members of the connection', async () => {
    const { ws, fake } = await startSockets({ upstream: 'responses' })
    const client = ws()
    await client.opened
    client.socket.send(
      '{"type":"response.create", "model":"demo","store":false,"stream_id":"a","input":"x","future_field":{"big":12345678901234567890}}',
    )
    await client.ended(1)
    expect(fake.requests[0]?.bodyText).toBe(
      '{"model":"demo","store":false,"input":"x","future_field":{"big":12345678901234567890},"stream":true}',
    )
  })
})

describe('messages that are no requests', () => {
  it.each([
    ['that is no JSON', 'hello', { param: null }],
    ['that is half JSON', '{"type":"response.create"', { param: null }],
    ['with text behind the JSON', '{"type":"response.create","model":"demo","input":"x"} x', { param: null }],
    ['that is a list', '[]', { param: null }],
    ['without a type', '{"model":"demo"}', { param: 'type' }],
    ['of an unknown type', '{"type":"response.cancel"}', { param: 'type' }],
    ['that asks for no stream', '{"type":"response.create","model":"demo","stream":false}', { param: 'stream' }],
    [
      'that asks for a background response',
      '{"type":"response.create","model":"demo","background":true}',
      { param: 'background' },
    ],
    ['without a model', '{"type":"response.create","input":"x"}', { param: 'model' }],
    ['with an input of a wrong type', '{"type":"response.create","model":"demo","input":7}', { param: 'input' }],
    [
      'that nests too deep',
      `{"type":"response.create","model":"demo","input":${'['.repeat(5000)}${']'.repeat(5000)}}`,
      { param: null },
    ],
    ['in binary', Buffer.from('{"type":"response.create","model":"demo","input":"x"}'), { param: null }],
  ])('get an error, and the connection stays open: a message %s', async (_, message, error) => {
    const { ws, fake } = await startSockets()
    const client = ws()
    await client.opened
    client.socket.send(message)
    expect((await client.ended(1))[0]).toMatchObject({ type: 'error', status: 400, error })
    client.create()
    expect((await client.ended(2))[1]?.type).toBe('response.completed')
    expect(fake.requests).toHaveLength(1)
  })

  it('are receipts, which get no response, and steering, which is rejected', async () => {
    const { ws } = await startSockets()
    const client = ws()
    await client.opened
    client.socket.send('{"type":"response.processed","response_id":"resp_1"}')
    client.socket.send('{"type":"response.steer","previous_response_id":"resp_1","input":"faster"}')
    await until(() => client.messages.length > 0, 'an answer')
    expect(client.messages).toEqual([
      expect.objectContaining({
        type: 'response.steer.failed',
        steer: { previous_response_id: 'resp_1', input: 'faster' },
        error: expect.objectContaining({ code: 'steering_not_supported', type: 'invalid_request_error' }),
      }),
    ])
  })
})

describe('the end of a WebSocket', () => {
  it('comes at once for an idle one and after the response for a busy one, when the gateway shuts down', async () => {
    const { ws, gateway, finished } = await startSockets()
    const idle = ws()
    const busy = ws()
    await Promise.all([idle.opened, busy.opened])
    busy.create({ input: '[[words:40]] [[slow:20]]' })
    await until(() => busy.messages.length > 0, 'the response to begin')
    const closing = gateway.close()
    busy.create({ input: 'too late' })
    expect(await idle.closed).toMatchObject({ code: 1001 })
    expect(await busy.closed).toMatchObject({ code: 1001 })
    await closing
    expect((await busy.ended(2)).map(({ type, status }) => status ?? type).sort()).toEqual([503, 'response.completed'])
    expect(finished).toMatchObject([{ outcome: 'finished' }])
    expect((await ws().refused).status).toBe(503)
  })

  it('comes after an error within the response when the grace period is over', async () => {
    const { ws, gateway, finished } = await startSockets()
    const client = ws()
    await client.opened
    client.create({ input: slow })
    await until(() => client.messages.some(({ type }) => type === 'response.output_text.delta'), 'text')
    await gateway.close({ graceMs: 50 })
    expect(await client.closed).toMatchObject({ code: 1001 })
    expect((await client.ended(1))[0]?.type).toBe('response.failed')
    expect(finished).toMatchObject([{ outcome: 'failed' }])
  })

  it('aborts running and waiting requests when the client closes it', async () => {
    const { ws, fake, finished } = await startSockets()
    const client = ws()
    await client.opened
    client.create({ input: slow, stream_id: 'a' })
    client.create({ input: slow, stream_id: 'b' })
    client.create({ input: slow, stream_id: 'a' })
    await until(() => fake.stats.started === 2, 'two upstream calls')
    client.socket.close(1000)
    expect(await client.closed).toMatchObject({ code: 1000 })
    await until(() => fake.stats.aborted === 2 && finished.length === 2, 'both calls to be aborted')
    expect(finished.map(({ outcome }) => outcome)).toEqual(['aborted', 'aborted'])
    expect(fake.stats.started).toBe(2)
  })

  it('is an error for a plugin that fails, and the connection stays open', async () => {
    let fails = true
    const { ws } = await startSockets({
      config: {
        plugins: [
          {
            name: 'moody',
            admit() {
              if (fails) throw new GatewayError('permission', 'Not today.')
              return undefined
            },
          },
        ],
      },
    })
    const client = ws()
    await client.opened
    client.create()
    expect((await client.ended(1))[0]).toMatchObject({ status: 403, error: { message: 'Not today.' } })
    fails = false
    client.create()
    expect((await client.ended(2))[1]?.type).toBe('response.completed')
  })

  it('runs later requests under a new configuration', async () => {
    const { ws, gateway, fake } = await startSockets()
    const client = ws()
    await client.opened
    client.create()
    await client.ended(1)
    gateway.reconfigure({
      auth: () => ({ id: 'rita' }),
      upstreams: { up: upstreamOf('chat') },
      models: { other: 'up' },
      logger: false,
    })
    client.create()
    expect((await client.ended(2))[1]).toMatchObject({ status: 404, error: { code: 'model_not_found' } })
    expect(fake.requests).toHaveLength(1)
  })
})
