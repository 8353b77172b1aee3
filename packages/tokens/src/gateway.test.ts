import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, type FinishEvent, type Identity, openai, type Plugin } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { StorageAwayError } from './contract/storage.ts'
import { createTokens, type TokensOptions } from './create-tokens.ts'
import { fileLedger } from './ledger/file-ledger.ts'
import { memoryLedger } from './ledger/ledger-record.ts'
import { createPrices } from './prices/prices.ts'
import { memoryStorage } from './storage/memory/memory-storage.ts'
import { newSecret } from './tokens/secret.ts'

const prices = { models: { 'gpt-*': { input: 1000, output: 10_000 } } }

type Auth = (tokens: ReturnType<typeof createTokens>) => {
  readonly auth: ReturnType<typeof createTokens>['authenticate']
  readonly plugins?: readonly Plugin[]
}

/** A gateway with tokens, in front of a provider that reports 10 input and 5 output tokens for every call. */
function setUp(options: TokensOptions = {}, auth: Auth = (tokens) => ({ auth: tokens.authenticate })) {
  const ledger = memoryLedger()
  const finished: FinishEvent[] = []
  const tokens = createTokens({ storage: memoryStorage(), ledger, prices, logger: false, ...options })
  const provider = createFakeProvider({ brain: () => ({ text: 'Hi', usage: { input: 10, output: 5 } }) })
  const chosen = auth(tokens)
  const gateway = createGateway({
    auth: chosen.auth,
    upstreams: { up: openai({ apiKey: 'upstream', baseURL: 'http://up/v1', formats: ['chat'] }) },
    models: { 'gpt-*': 'up' },
    plugins: [...(chosen.plugins ?? []), { name: 'end', onFinish: (event) => void finished.push(event) }],
    fetch: provider.fetch,
    logger: false,
  })
  const post = (path: string, secret: string, body: object) =>
    gateway.fetch(`http://gate${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${secret}`,
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify(body),
    })
  const hello = [{ role: 'user', content: 'hello' }]
  const chat = (secret: string, more: object = {}) =>
    post('/v1/chat/completions', secret, { model: 'gpt-5', messages: hello, max_completion_tokens: 20, ...more })
  return { tokens, gateway, provider, ledger, finished, post, chat, hello }
}

/** The same request in the format of each client. */
const dialects = [
  [
    'chat',
    '/v1/chat/completions',
    { model: 'gpt-5', max_completion_tokens: 20, messages: [{ role: 'user', content: 'hello' }] },
  ],
  ['messages', '/v1/messages', { model: 'gpt-5', max_tokens: 20, messages: [{ role: 'user', content: 'hello' }] }],
  [
    'gemini',
    '/v1beta/models/gpt-5:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'hello' }] }], generationConfig: { maxOutputTokens: 20 } },
  ],
  ['responses', '/v1/responses', { model: 'gpt-5', max_output_tokens: 20, input: 'hello' }],
] as const

describe.each(dialects)('a %s client', (format, path, body) => {
  const prefix = format === 'messages' ? 'anthropic-ratelimit-requests-' : 'x-ratelimit-'
  const remaining = format === 'messages' ? `${prefix}remaining` : `${prefix}remaining-requests`

  it('is accepted with its token, and receives its remaining limits', async () => {
    const { tokens, post, ledger, finished } = setUp()
    const { secret, id } = await tokens.issue({ owner: 'ada', limits: { requests: 5 } })
    const answer = await post(path, secret, body)
    expect(answer.status).toBe(200)
    await answer.text()
    expect(answer.headers.get(remaining)).toBe('4')
    expect(finished).toMatchObject([{ identity: { id, owner: 'ada' }, basis: 'reported', cost: { currency: 'USD' } }])
    await vi.waitFor(() => expect(ledger.records).toMatchObject([{ token: id, owner: 'ada', format, cost: 0.06 }]))
  })

  it('receives a 429 with retry-after when it exceeds a limit', async () => {
    const { tokens, post, provider } = setUp()
    const { secret } = await tokens.issue({ limits: { requests: 1, window: 10 } })
    await (await post(path, secret, body)).text()
    const refused = await post(path, secret, body)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(20)
    expect(refused.headers.get('x-should-retry')).not.toBe('false')
    expect(refused.headers.get(remaining)).toBe('0')
    expect(await refused.text()).toMatch(/limit/i)
    expect(provider.requests).toHaveLength(1)
  })

  it('receives a 429 that SDKs do not retry when it exceeds a budget', async () => {
    const { tokens, post, provider } = setUp()
    const { secret } = await tokens.issue({ budget: { tokens: 1, period: 'total' } })
    const refused = await post(path, secret, body)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('x-should-retry')).toBe('false')
    expect(refused.headers.get('retry-after')).toBeNull()
    expect(await refused.text()).toMatch(/budget|quota/i)
    expect(provider.requests).toHaveLength(0)
  })

  it.each([
    ['mistyped or incomplete', 'mg-abc'],
    ['unknown', newSecret()],
  ])('is rejected with a token that is %s', async (words, secret) => {
    const refused = await setUp().post(path, secret, body)
    expect(refused.status).toBe(format === 'gemini' ? 400 : 401)
    expect(refused.headers.get('x-should-retry')).toBe('false')
    expect(await refused.text()).toContain(words)
  })

  it('receives a not-found error for a model that its token does not allow', async () => {
    const { tokens, post, provider } = setUp()
    const { secret } = await tokens.issue({ models: ['claude-*'] })
    expect((await post(path, secret, body)).status).toBe(404)
    expect(provider.requests).toHaveLength(0)
  })
})

describe('a revoked token', () => {
  it('is rejected by the very next call', async () => {
    const { tokens, chat } = setUp()
    const { secret, id } = await tokens.issue()
    expect((await chat(secret)).status).toBe(200)
    await tokens.revoke(id)
    const refused = await chat(secret)
    expect(refused.status).toBe(401)
    expect((await refused.json()).error.message).toContain('revoked')
  })

  it('is rejected by another process as soon as its cache entry expires', async () => {
    const storage = memoryStorage()
    let time = Date.now()
    const here = setUp({ storage })
    const there = setUp({ storage, now: () => time })
    const { secret, id } = await here.tokens.issue()
    expect((await there.chat(secret)).status).toBe(200)
    await here.tokens.revoke(id)
    time += 500
    expect((await there.chat(secret)).status).toBe(401)
  })
})

describe('a change of a token', () => {
  it('applies to the next call', async () => {
    const { tokens, chat } = setUp()
    const { secret, id } = await tokens.issue({ limits: { requests: 1 } })
    expect([(await chat(secret)).status, (await chat(secret)).status]).toEqual([200, 429])
    await tokens.update(id, { limits: null })
    expect([(await chat(secret)).status, (await chat(secret)).status]).toEqual([200, 200])
    await tokens.update(id, { models: ['other'] })
    expect((await chat(secret)).status).toBe(404)
  })
})

describe('a wrapped authenticate', () => {
  const wrapped =
    (plugins: boolean, add: object = {}): Auth =>
    (tokens) => ({
      auth: async (credential, request) => {
        const identity = await tokens.authenticate(credential, request)
        return identity === null ? null : { ...identity, ...add }
      },
      ...(plugins ? { plugins: [tokens.plugin] } : {}),
    })

  it('rejects tokens with limits if the plugin is missing', async () => {
    const logger = { warn: vi.fn(), error: vi.fn() }
    const { tokens, provider } = setUp({}, wrapped(false))
    const gateway = createGateway({
      auth: (credential, request) => tokens.authenticate(credential, request),
      upstreams: { up: openai({ apiKey: 'upstream' }) },
      models: { 'gpt-*': 'up' },
      logger,
    })
    const { secret } = await tokens.issue({ limits: { requests: 1 } })
    const answer = await gateway.fetch('http://gate/v1/models', { headers: { authorization: `Bearer ${secret}` } })
    expect(answer.status).toBe(500)
    expect(
      JSON.stringify(logger.error.mock.calls, (_, value) =>
        value instanceof Error ? `${value} ${value.cause}` : value,
      ),
    ).toContain('plugins: [tokens.plugin]')
    expect(provider.requests).toHaveLength(0)
  })

  it('enforces limits with the plugin, also for a copy of the identity', async () => {
    const { tokens, chat, finished } = setUp({}, wrapped(true, { tenant: 'x' }))
    const { secret, id } = await tokens.issue({ limits: { requests: 1 } })
    expect([(await chat(secret)).status, (await chat(secret)).status]).toEqual([200, 429])
    expect(finished[0]?.identity).toMatchObject({ id, tenant: 'x' })
  })

  it.each([false, true])(
    'rejects a copied identity while the store is unavailable (store returns a promise: %s)',
    async (later) => {
      const storage = memoryStorage()
      const away = (): never => {
        throw new StorageAwayError('gone')
      }
      const get = later ? async () => away() : away
      const { tokens, chat } = setUp(
        { storage: { ...storage, tokens: { ...storage.tokens, get } } },
        wrapped(true, { tenant: 'x' }),
      )
      const { secret } = await tokens.issue({ limits: { requests: 1 } })
      expect((await chat(secret)).status).toBe(503)
    },
  )

  it('counts a call once if the plugin is also given in plugins', async () => {
    const { tokens, chat } = setUp({}, (tokens) => ({ auth: tokens.authenticate, plugins: [tokens.plugin] }))
    const { secret, id } = await tokens.issue({ limits: { requests: 10 } })
    await (await chat(secret)).text()
    await vi.waitFor(async () => expect((await tokens.usage(id)).totals.calls).toBe(1))
    expect((await tokens.usage(id)).limits).toMatchObject([{ used: 1 }])
  })

  it('does not limit callers that the host itself authenticates', async () => {
    const { chat, ledger } = setUp({}, (tokens) => ({
      auth: (): Identity => ({ id: 'owner' }),
      plugins: [tokens.plugin],
    }))
    expect((await chat('anything')).status).toBe(200)
    await vi.waitFor(() => expect(ledger.records).toMatchObject([{ token: 'owner' }]))
  })
})

describe('usage', () => {
  it('contains limits, budgets and sums', async () => {
    const { tokens, chat, post } = setUp()
    const { secret, id } = await tokens.issue({
      limits: [
        { requests: 10, tokens: 1000 },
        { models: 'gpt-5', concurrent: 3 },
      ],
      budget: [
        { money: 5, period: 'month' },
        { tokens: 100_000, period: 'total' },
      ],
    })
    for (const model of ['gpt-5', 'gpt-5-mini', 'gpt-5']) await (await chat(secret, { model })).text()
    const { from, to, ...usage } = await tokens.usage(id)
    expect(usage).toEqual({
      id,
      currency: 'USD',
      limits: [
        { of: 'requests', per: 'minute', limit: 10, used: 3, remaining: 7, resetsAt: expect.any(Number) },
        { of: 'tokens', per: 'minute', limit: 1000, used: 45, remaining: 955, resetsAt: expect.any(Number) },
        { models: ['gpt-5'], of: 'concurrent', limit: 3, used: 0, remaining: 3 },
      ],
      budgets: [
        { of: 'money', per: 'month', limit: 5, used: 0.18, remaining: 4.82, resetsAt: expect.any(Number) },
        { of: 'tokens', per: 'total', limit: 100_000, used: 45, remaining: 99_955 },
      ],
      totals: { calls: 3, inputTokens: 30, cachedTokens: 0, outputTokens: 15, cost: 0.18, unpriced: 0 },
      byDay: [{ day: to, calls: 3, inputTokens: 30, cachedTokens: 0, outputTokens: 15, cost: 0.18, unpriced: 0 }],
      byModel: [
        { model: 'gpt-5', calls: 2, inputTokens: 20, cachedTokens: 0, outputTokens: 10, cost: 0.12, unpriced: 0 },
        { model: 'gpt-5-mini', calls: 1, inputTokens: 10, cachedTokens: 0, outputTokens: 5, cost: 0.06, unpriced: 0 },
      ],
    })
    expect(from < to).toBe(true)
    expect(post).toBeTypeOf('function')
  })

  it('of an unknown token is reported as not found', async () => {
    await expect(setUp().tokens.usage('tok_none')).rejects.toMatchObject({ info: { kind: 'not_found' } })
  })
})

describe('200 concurrent calls', () => {
  it('spend no more than the budget, and the ledger matches the responses', async () => {
    const { tokens, chat, ledger, provider } = setUp()
    const { secret, id } = await tokens.issue({ budget: { tokens: 1000, period: 'day' } })
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const answer = await chat(secret)
        await answer.text()
        return answer.status
      }),
    )
    const served = statuses.filter((status) => status === 200).length
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    expect(provider.requests).toHaveLength(served)
    await vi.waitFor(() => expect(ledger.records).toHaveLength(200))
    const { budgets, totals } = await tokens.usage(id)
    expect(budgets).toMatchObject([{ used: served * 15, remaining: 1000 - served * 15 }])
    expect(totals).toMatchObject({ calls: served, inputTokens: served * 10, outputTokens: served * 5 })
    const booked = ledger.records.reduce(
      (sum, { usage }) => sum + (usage === undefined ? 0 : usage.input + usage.output),
      0,
    )
    expect(booked).toBe(served * 15)
    expect(booked).toBeLessThanOrEqual(1000)
    // Nothing stays reserved: the remainder can be spent.
    expect((await chat(secret)).status).toBe(200)
  })
})

describe('calls while the store is unavailable', () => {
  it('immediately receive a 503 with retry-after in every format', async () => {
    const storage = memoryStorage()
    const { tokens, post, provider } = setUp({
      storage: {
        ...storage,
        tokens: {
          ...storage.tokens,
          findByDigest: () => {
            throw new StorageAwayError('gone')
          },
        },
      },
    })
    const { secret } = await tokens.issue()
    for (const [format, path, body] of dialects) {
      const refused = await post(path, secret, body)
      expect([format, refused.status, refused.headers.get('retry-after')]).toEqual([
        format,
        format === 'messages' ? refused.status : 503,
        '1',
      ])
      expect([503, 529]).toContain(refused.status)
    }
    expect(provider.requests).toHaveLength(0)
  })
})

describe('the admin endpoints', () => {
  it('are served in addition to the gateway’s own, below its base path, and only for authorized requests', async () => {
    const { tokens, gateway } = setUp({}, (tokens) => ({
      auth: tokens.authenticate,
      plugins: [tokens.routes({ authorize: ({ header }) => header('cookie') === 'admin' })],
    }))
    const ask = (method: string, path: string, body?: object, cookie = 'admin') =>
      gateway.fetch(`http://gate/admin/tokens${path}`, {
        method,
        headers: { 'content-type': 'application/json', cookie },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    const issued = await ask('POST', '', { name: 'laptop', limits: { requests: 3 } })
    expect(issued.status).toBe(201)
    const { id, secret } = await issued.json()
    const models = () => gateway.fetch('http://gate/v1/models', { headers: { authorization: `Bearer ${secret}` } })
    expect((await models()).status).toBe(200)
    for (const [method, path, status] of [
      ['GET', '', 200],
      ['GET', `/${id}`, 200],
      ['GET', `/${id}/usage`, 200],
      ['POST', `/${id}/rotate`, 200],
      ['GET', '/tok_none', 404],
      ['GET', `/${id}/more`, 404],
    ] as const)
      expect([method, path, (await ask(method, path)).status]).toEqual([method, path, status])
    expect((await ask('GET', '', undefined, 'nobody')).status).toBe(403)
    expect((await ask('POST', '', { nam: 'x' })).status).toBe(400)
    expect((await ask('POST', `/${id}/revoke`)).status).toBe(200)
    expect((await models()).status).toBe(401)
    expect(await tokens.get(id)).toHaveProperty('revokedAt')
  })

  it('are not created without authorize', () => {
    const { tokens } = setUp()
    expect(() => tokens.routes({} as never)).toThrow(TypeError)
  })
})

describe('createTokens', () => {
  it.each([
    { cacheMs: 1001 },
    { cacheMs: -1 },
    { cacheMs: Number.NaN },
    { staleMs: -1 },
    { cacheMs: '500' as unknown as number },
    { reserve: { outputTokens: -1 } },
    { reserve: { outputTokens: 0.5 } },
    { unpriced: 'never' as 'refuse' },
    { prices: { models: { 'gpt-*': { input: -1 } } } },
  ])('rejects %o', (options) => {
    expect(() => createTokens({ storage: memoryStorage(), ...options })).toThrow(TypeError)
  })

  it('accepts prices as a table or an object; calls without a price have no cost', async () => {
    for (const [given, cost] of [
      [prices, 0.06],
      [createPrices(prices), 0.06],
      [undefined, undefined],
    ] as const) {
      const { tokens, chat, ledger } = setUp({ prices: given ?? { models: {} } })
      const { secret } = await tokens.issue()
      await (await chat(secret)).text()
      await vi.waitFor(() => expect(ledger.records).toHaveLength(1))
      expect(ledger.records[0]?.cost).toBe(cost)
    }
  })

  it.each([
    ['refuse', 403],
    ['allow', 200],
  ] as const)('a call without a price: %s, where its token has a budget in money', async (unpriced, status) => {
    const { tokens, chat } = setUp({ unpriced, prices: { models: { 'claude-*': { input: 1 } } } })
    const { secret } = await tokens.issue({ budget: { money: 5, period: 'day' } })
    expect((await chat(secret)).status).toBe(status)
    const { secret: free } = await tokens.issue()
    expect((await chat(free)).status).toBe(200)
  })

  it.each([
    [10, [200, 200]],
    [1000, [200, 429]],
  ])('reserves at most the configured number of output tokens: %i', async (outputTokens, statuses) => {
    const { tokens, chat } = setUp({ reserve: { outputTokens } })
    const { secret } = await tokens.issue({ budget: { tokens: 1000, period: 'day' } })
    const both = await Promise.all([1, 2].map(() => chat(secret, { max_completion_tokens: 64_000 })))
    expect(both.map(({ status }) => status)).toEqual(statuses)
  })

  it('writes all unwritten data once when it is closed', async () => {
    const order: string[] = []
    const storage = memoryStorage()
    const tokens = createTokens({
      storage: { ...storage, close: async () => void order.push('storage') },
      ledger: {
        append: () => {},
        flush: () => Promise.reject(new Error('the disk is full')).finally(() => order.push('ledger')),
      },
    })
    await expect(tokens.close()).rejects.toThrow('the disk is full')
    await expect(tokens.close()).rejects.toThrow('the disk is full')
    expect(order).toEqual(['ledger', 'storage'])
  })

  it('returns a frozen object whose methods can be called on their own', async () => {
    const { tokens } = setUp()
    const { issue, authenticate, list } = tokens
    expect(Object.isFrozen(tokens)).toBe(true)
    const { secret, id } = await issue()
    expect(authenticate(secret, { method: 'GET', path: '/', header: () => undefined })).toMatchObject({ id })
    expect((await list()).tokens).toHaveLength(1)
  })
})

it('closes the gateway before its tokens and their ledger when the block of `await using` ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-dispose-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const closed: string[] = []
  const storage = memoryStorage()
  const close = storage.close.bind(storage)
  const ledger = fileLedger({ folder })
  const { gateway, status } = await (async () => {
    await using used = ledger
    await using tokens = createTokens({
      storage: {
        ...storage,
        close() {
          closed.push('tokens')
          return close()
        },
      },
      ledger: { append: (record) => used.append(record) },
    })
    await using made = createGateway({
      auth: tokens.authenticate,
      upstreams: { one: openai({ apiKey: 'k' }) },
      models: { m: 'one' },
      logger: false,
    })
    return { gateway: made, status: (await made.fetch('http://gateway/v1/models')).status }
  })()
  expect(status).toBe(401)
  expect((await gateway.fetch('http://gateway/v1/models')).status).toBe(503)
  expect(closed).toEqual(['tokens'])
  expect(() => ledger.append({ time: '2026-01-01T00:00:00.000Z' } as never)).toThrow('after close()')
})
