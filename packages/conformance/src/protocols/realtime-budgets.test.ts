import { type FinishEvent, type GatewayConfig, GatewayError, gemini, type Plugin } from '@modelgate/core'
import { until } from '@modelgate/testing/test-support'
import { createTokens, memoryStorage, type TokenSettings, type TokensOptions } from '@modelgate/tokens'
import { describe, expect, it } from 'vitest'
import { type Client, token as fixtureToken, sessionOf, startRealtime } from './realtime-fixture.ts'

const prices = {
  models: { 'gpt-realtime': { input: 4, cachedInput: 0.4, audioInput: 32, output: 16, audioOutput: 64 } },
}
/** 300 tokens: (100 × 4 + 200 × 16) / million = 0.0036 USD. */
const done = (id: string): string =>
  JSON.stringify({
    type: 'response.done',
    event_id: id,
    response: {
      id,
      object: 'realtime.response',
      status: 'completed',
      output: [],
      usage: {
        total_tokens: 300,
        input_tokens: 100,
        output_tokens: 200,
        input_token_details: { text_tokens: 100, audio_tokens: 0, cached_tokens: 0 },
        output_token_details: { text_tokens: 200, audio_tokens: 0 },
      },
    },
  })

async function setUp(settings: TokenSettings, options: TokensOptions = {}, config: Partial<GatewayConfig> = {}) {
  const tokens = createTokens({ storage: memoryStorage(), prices, logger: false, ...options })
  const finished: FinishEvent[] = []
  const witness: Plugin = { name: 'witness', onFinish: (event) => void finished.push(event) }
  const setting = await startRealtime(undefined, {
    config: { auth: tokens.authenticate, plugins: [witness], ...config },
  })
  const { secret, id } = await tokens.issue(settings)
  const connect = (): Client => setting.ws(undefined, { headers: { authorization: `Bearer ${secret}` } })
  return { ...setting, setting, tokens, id, connect, finished }
}

const lastText = ({ messages }: Client): { type?: string; error?: { code?: string; message?: string } } =>
  JSON.parse(String(messages.at(-1)))

describe('a realtime session of a caller with a budget', () => {
  it('is charged after each response, and closed with an error when nothing remains', async () => {
    const { setting, tokens, id, connect, finished } = await setUp({ budget: { tokens: 500, period: 'total' } })
    const client = connect()
    await client.opened
    const session = await sessionOf(setting)
    await session.send(done('one'))
    await until(() => client.messages.length === 2, 'the first response')
    expect(client.socket.readyState).toBe(client.socket.OPEN)
    // 300 tokens are charged. The reservation of 4,096 tokens is kept for the next response.
    expect((await tokens.usage(id)).budgets).toMatchObject([{ used: 300 + 4096 }])
    await session.send(done('two'))
    const { code, reason } = await client.closed
    expect({ code, reason }).toEqual({
      code: 1008,
      reason: 'You have used up your budget of 500 tokens (used: 600 tokens).',
    })
    expect(String(client.messages.at(-2))).toContain('"two"')
    expect(lastText(client)).toMatchObject({
      type: 'error',
      error: { code: 'insufficient_quota', message: expect.stringContaining('budget of 500 tokens') },
    })
    await until(() => finished.length === 1, 'the end')
    expect(finished).toMatchObject([
      {
        outcome: 'failed',
        usage: { input: { total: 200 }, output: { total: 400 } },
        cost: { amount: 0.0072 },
        error: { info: { kind: 'quota_exceeded' } },
      },
    ])
    expect(setting.fake.sessions[0]?.closed?.code).toBe(1001)
    const usage = await tokens.usage(id)
    expect(usage.budgets).toMatchObject([{ used: 600, remaining: 0 }])
    expect(usage.totals).toMatchObject({ calls: 1, inputTokens: 200, outputTokens: 400, cost: 0.0072 })
  })

  it('is closed when the budget of its owner in money ends, which another session has used', async () => {
    const { setting, tokens, connect, finished } = await setUp({ owner: 'team' })
    await tokens.owners.set('team', { budget: { money: 0.0071, period: 'month' } })
    const first = connect()
    await first.opened
    await (await sessionOf(setting)).send(done('one'))
    await until(() => first.messages.length === 2, 'the first response')
    first.socket.close()
    await until(() => finished.length === 1, 'the end of the first session')
    const second = connect()
    await second.opened
    await (await sessionOf(setting, 2)).send(done('two'))
    expect(await second.closed).toMatchObject({
      code: 1008,
      reason: expect.stringContaining("your owner's monthly budget of 0.0071 USD"),
    })
    await until(async () => (await tokens.owners.usage('team')).budgets[0]?.used === 0.0072, 'the charge')
  })

  it('is not closed by a rate limit, which counts each response when it ends', async () => {
    const { setting, tokens, id, connect } = await setUp({ limits: { tokens: 5000, window: 'day' } })
    const client = connect()
    await client.opened
    const session = await sessionOf(setting)
    for (const name of ['one', 'two']) await session.send(done(name))
    await until(() => client.messages.length === 3, 'both responses')
    expect((await tokens.usage(id)).limits).toMatchObject([{ used: 600 + 4096 }])
    client.socket.close()
    await until(async () => (await tokens.usage(id)).limits[0]?.used === 600, 'the settlement')
  })

  it('is charged the reservation for each response whose end the client does not wait for', async () => {
    const { setting, tokens, id, connect, finished } = await setUp({ budget: { tokens: 50_000, period: 'total' } })
    const client = connect()
    await client.opened
    const session = await sessionOf(setting)
    const created = (response: string): string =>
      JSON.stringify({
        type: 'response.created',
        event_id: response,
        response: { id: response, status: 'in_progress' },
      })
    for (const event of [created('one'), done('one'), created('two'), created('three')]) await session.send(event)
    await until(() => client.messages.length === 5, 'the responses')
    expect((await tokens.usage(id)).budgets).toMatchObject([{ used: 300 + 4096 }])
    client.socket.close()
    await until(() => finished.length === 1, 'the end')
    expect(finished).toMatchObject([{ usage: { output: { total: 200 } }, unreportedResponses: 2 }])
    expect((await tokens.usage(id)).budgets).toMatchObject([{ used: 300 + 2 * 4096 }])
  })

  it('continues if a plugin fails in another way than by a GatewayError', async () => {
    const broken: Plugin = {
      name: 'broken',
      admit: () => ({
        progress: () => {
          throw new TypeError('broken')
        },
      }),
    }
    const late: Plugin = {
      name: 'late',
      admit: () => ({
        progress: async ({ usage }) => {
          if ((usage?.output.total ?? 0) > 200) throw new GatewayError('permission', 'Too long.')
        },
      }),
    }
    const errors: string[] = []
    const log = (message: string): void => void errors.push(message)
    const setting = await startRealtime(undefined, {
      config: { plugins: [broken, late], logger: { warn: log, error: log } },
    })
    const client = setting.ws(undefined, { headers: { authorization: `Bearer ${fixtureToken}` } })
    await client.opened
    const session = await sessionOf(setting)
    await session.send(done('one'))
    await until(() => client.messages.length === 2, 'the first response')
    expect(client.socket.readyState).toBe(client.socket.OPEN)
    await session.send(done('two'))
    expect(await client.closed).toEqual({ code: 1008, reason: 'Too long.' })
    expect(errors).toContain('modelgate: progress of an admission failed; the session continues')
  })
})

describe('a session of the Live API of a caller with a budget', () => {
  it('is closed with a reason, because its protocol has no error event', async () => {
    const tokens = createTokens({ storage: memoryStorage(), logger: false })
    const { secret, id } = await tokens.issue({ budget: { tokens: 20, period: 'day' } })
    const setting = await startRealtime(undefined, {
      fake: { apiKey: 'google-key' },
      config: (fake) => ({
        auth: tokens.authenticate,
        upstreams: { up: gemini({ apiKey: 'google-key', baseURL: fake.url.replace(/\/v1$/, '') }) },
        models: { live: 'up' },
      }),
    })
    const path = `/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=${secret}`
    const client = setting.ws(path, { headers: {} })
    await client.opened
    client.socket.send(JSON.stringify({ setup: { model: 'models/live' } }))
    const session = await sessionOf(setting)
    await session.send(
      JSON.stringify({
        serverContent: { turnComplete: true },
        usageMetadata: { promptTokenCount: 12, responseTokenCount: 9, totalTokenCount: 21 },
      }),
    )
    expect(await client.closed).toMatchObject({
      code: 1008,
      reason: expect.stringContaining('You have used up your daily budget of 20 tokens'),
    })
    await until(async () => (await tokens.usage(id)).budgets[0]?.used === 21, 'the charge')
  })
})
