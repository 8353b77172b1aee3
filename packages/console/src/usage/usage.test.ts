import { createGateway, type Gateway, GatewayError, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { createTokens, memoryLedger, memoryStorage, StorageAwayError, type Tokens } from '@modelgate/tokens'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type consoleGateway, hosts, type Served } from '../browser/browser.test-support.ts'
import { consolePages, type UsageOptions, type UsageReport } from '../index.ts'
import { parseCsv } from './csv.test-support.ts'

const adminToken = 'admin-token-of-the-test'
const isAdmin: UsageOptions['authorize'] = ({ header }) => header('Authorization') === `Bearer ${adminToken}`
const canaries = ['sk-canary-0123456789abcdef', 'canary words of the question', 'canary words of the answer']
const [apiKey = '', question = '', answer = ''] = canaries

interface Scene {
  readonly gateway: Gateway
  readonly tokens: Tokens
}

/** Creates a gateway with issued tokens and one configured token, `static`. Each call costs 0.02 USD for 10 and 5 tokens. */
function scene(
  usage: Partial<UsageOptions> = {},
  options: Parameters<typeof createTokens>[0] = {},
  config: Parameters<typeof consoleGateway>[1] = {},
): Scene {
  const prices = { models: { '*': { input: 1000, output: 2000 } } }
  const tokens = createTokens({ storage: memoryStorage(), prices, logger: false, ...options })
  const provider = createFakeProvider({ apiKey, brain: () => ({ text: answer, usage: { input: 10, output: 5 } }) })
  const gateway = createGateway({
    auth: async (credential, request) =>
      credential === 'static' ? { id: 'owner' } : tokens.authenticate(credential, request),
    upstreams: { up: openai({ apiKey, baseURL: 'http://provider.test/v1', formats: ['chat'] }) },
    models: { '*': 'up' },
    plugins: [tokens.plugin, consolePages({ usage: { authorize: isAdmin, tokens, ...usage } })],
    fetch: provider.fetch,
    logger: false,
    ...config,
  })
  return { gateway, tokens }
}

type Send = (path: string, init?: RequestInit) => Promise<Response>

const sendTo =
  (root: string, send: (url: string, init: RequestInit) => Promise<Response> = fetch): Send =>
  (path, init = {}) =>
    send(root + path, {
      ...init,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json', ...init.headers },
    })

const call = async (send: Send, secret: string, model = 'gpt-5'): Promise<number> => {
  const response = await send('/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: question }] }),
  })
  await response.text()
  return response.status
}

const apis = [
  ['GET', '/console/api/usage'],
  ['GET', '/console/api/usage?format=csv'],
  ['GET', '/console/api/tokens'],
  ['POST', '/console/api/tokens'],
  ['GET', '/console/api/tokens/tok_x'],
  ['PATCH', '/console/api/tokens/tok_x'],
  ['DELETE', '/console/api/tokens/tok_x'],
  ['POST', '/console/api/tokens/tok_x/revoke'],
  ['POST', '/console/api/tokens/tok_x/rotate'],
  ['GET', '/console/api/tokens/tok_x/usage'],
] as const

/** Each host, at its root and below a path in turn. */
const places = hosts.map((host, at) => ({ ...host, mount: at % 2 === 0 ? ('/ai' as const) : ('' as const) }))

describe.each(places)("usage and tokens on $name, mounted at '$mount/'", ({ serve, mount }) => {
  let served: Served
  let send: Send
  beforeAll(async () => {
    served = await serve(mount, (_options, config) => scene({}, {}, config).gateway)
    send = sendTo(served.origin + mount)
  })
  afterAll(() => served.close())

  it.each(apis)('%s %s requires authorization', async (method, path) => {
    for (const authorization of ['Bearer wrong', `Bearer ${adminToken}x`, 'Bearer static', '']) {
      const body = method === 'POST' || method === 'PATCH' ? { body: '{}' } : {}
      const response = await send(path, { method, ...body, headers: { authorization } })
      expect([response.status, response.headers.get('cache-control')]).toEqual([401, 'no-store'])
      expect((await response.json()).error.message).toBe('Usage and tokens require the credential of an administrator.')
    }
  })

  it('serves both pages without authorization, and redirects their trailing slash', async () => {
    for (const name of ['usage', 'tokens']) {
      const page = await fetch(`${served.origin}${mount}/console/${name}`)
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      const slash = await fetch(`${served.origin}${mount}/console/${name}/`, { redirect: 'manual' })
      expect([slash.status, slash.headers.get('location')]).toEqual([308, `../${name}`])
    }
  })

  it('issues, changes, rotates and revokes tokens, reports their calls, and returns a secret only once', async () => {
    const seen: string[] = []
    const secrets: string[] = []
    const ask = async (path: string, method = 'GET', body?: object, status = 200) => {
      const response = await send(`/console/api/${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      expect([response.status, response.headers.get('cache-control')]).toEqual([status, 'no-store'])
      const { secret, ...others } = response.headers.get('content-type')?.startsWith('text/csv')
        ? { ...{ text }, secret: undefined }
        : JSON.parse(text)
      if (secret !== undefined) secrets.push(secret)
      seen.push(JSON.stringify(others))
      return { secret, ...others }
    }

    const budget = { money: 1, period: 'total' }
    const { id, secret } = await ask('tokens', 'POST', { name: 'laptop', budget }, 201)
    expect([await call(send, secret), await call(send, secret, 'gpt-6')]).toEqual([200, 200])
    const rotated = await ask(`tokens/${id}/rotate`, 'POST', { graceMs: 0 })
    expect([await call(send, rotated.secret), await call(send, secret), await call(send, 'static')]).toEqual([
      200, 401, 200,
    ])
    expect(await ask(`tokens/${id}`, 'PATCH', { name: 'phone' })).toMatchObject({ id, name: 'phone' })

    const report: UsageReport & Record<string, unknown> = await ask('usage')
    const sums = { cachedTokens: 0, unpriced: 0, token: id, name: 'phone', day: report.to }
    expect(report).toMatchObject({
      source: 'counters',
      currency: 'USD',
      rows: [
        { ...sums, model: 'gpt-5', calls: 2, inputTokens: 20, outputTokens: 10, cost: 0.04 },
        { ...sums, model: 'gpt-6', calls: 1, inputTokens: 10, outputTokens: 5, cost: 0.02 },
      ],
      tokens: [{ id, name: 'phone', limits: [], budgets: [{ of: 'money', per: 'total', limit: 1, used: 0.06 }] }],
    })
    const { rows } = await ask(`usage?from=${report.from}&to=${report.to}&token=${id}&model=gpt-6`)
    expect(rows).toHaveLength(1)
    const { text } = await ask('usage?format=csv')
    expect(parseCsv(text).map(({ calls }) => calls)).toEqual(['2', '1'])
    expect((await ask(`tokens/${id}/usage`)).totals).toMatchObject({ calls: 3, cost: 0.06 })
    expect((await ask('tokens')).tokens).toMatchObject([{ id, name: 'phone' }])
    expect((await ask(`tokens/${id}`)).id).toBe(id)

    await ask(`tokens/${id}/revoke`, 'POST', {})
    expect(await call(send, rotated.secret)).toBe(401)
    expect((await ask('usage')).tokens).toMatchObject([{ id, revokedAt: expect.any(Number) }])
    const { id: other } = await ask('tokens', 'POST', {}, 201)
    await ask(`tokens/${other}`, 'DELETE')
    await ask('tokens/tok_unknown', 'GET', undefined, 404)

    expect(secrets).toHaveLength(3)
    for (const canary of [...canaries, ...secrets, 'digest', adminToken]) expect(seen.join('\n')).not.toContain(canary)
  })
})

const localSend = ({ gateway }: Scene): Send => sendTo('http://gateway.test', (url, init) => gateway.fetch(url, init))

describe('usage and tokens', () => {
  const all: readonly (readonly [string, string])[] = [['GET', '/console/usage'], ['GET', '/console/tokens'], ...apis]
  it.each(all)('do not exist unless they are configured: %s %s is 404', async (method, path) => {
    const send = localSend(scene({}, {}, { plugins: [consolePages()] }))
    const body = method === 'POST' || method === 'PATCH' ? { body: '{}' } : {}
    expect((await send(path, { method, ...body })).status).toBe(404)
    expect(await (await send('/console/info.json')).json()).toMatchObject({ usage: false })
  })

  it('are announced in info.json', async () => {
    expect(await (await localSend(scene())('/console/info.json')).json()).toMatchObject({ usage: true })
  })

  it.each<[string, UsageOptions['authorize'], number]>([
    ['throws', () => Promise.reject(new Error('broken')), 500],
    ['returns a value that is not true', () => 'yes' as unknown as boolean, 401],
    ['rejects with an error of its own', () => Promise.reject(new GatewayError('permission', 'No.')), 403],
  ])('stay closed if `authorize` %s', async (_, authorize, status) => {
    const send = localSend(scene({ authorize }))
    for (const [method, path] of apis) {
      const body = method === 'POST' || method === 'PATCH' ? { body: '{}' } : {}
      expect((await send(path, { method, ...body })).status).toBe(status)
    }
  })

  it.each([
    ['no authorize', { authorize: undefined }, 'usage needs `authorize`'],
    ['no tokens', { tokens: undefined }, 'usage needs `tokens`'],
    ['tokens of another kind', { tokens: { routes() {} } }, 'usage needs `tokens`'],
  ])('throw a TypeError for %s', (_, options, message) => {
    expect(() => scene(options as unknown as Partial<UsageOptions>)).toThrow(message)
  })

  it('pass the method, path and headers of requests to `authorize`', async () => {
    const seen: string[] = []
    const send = localSend(
      scene({
        authorize({ method, path, header }) {
          seen.push(`${method} ${path} ${header('Cookie')}`)
          return true
        },
      }),
    )
    for (const path of ['usage', 'tokens']) await send(`/console/api/${path}`, { headers: { cookie: 'a=b' } })
    expect(seen).toEqual(['GET /console/api/usage a=b', 'GET /console/api/tokens a=b'])
  })

  it.each([
    ['from=yesterday', 'from', "'from' is 'yesterday'"],
    ['to=2026-02-30', 'to', "'to' is '2026-02-30'"],
    ['from=2020-01-01', 'from', 'at most 400 days'],
    ['from=2026-11-02&to=2026-11-01', 'from', "after 'to'"],
    ['format=xml', 'format', "use 'json' or 'csv'"],
    ['days=3', 'days', 'Known: from, to, token, model, format'],
    ['model=a&model=b', 'model', 'repeated'],
    [`token=${'x'.repeat(513)}`, 'token', 'at most 512'],
  ])('reject the query %s with a 400 that names the parameter', async (query, param, message) => {
    const response = await localSend(scene())(`/console/api/usage?${query}`)
    const { error } = await response.json()
    expect([response.status, error.param]).toEqual([400, param])
    expect(error.message).toContain(message)
  })

  it('accept empty filters, as forms send them', async () => {
    const response = await localSend(scene())('/console/api/usage?from=&to=&token=&model=')
    expect([response.status, (await response.json()).rows]).toEqual([200, []])
  })

  it('report the failed calls and those without an issued token if there is a ledger', async () => {
    const made = scene({}, { ledger: memoryLedger() })
    const send = localSend(made)
    const { secret, id } = await made.tokens.issue({ limits: { requests: 1, window: 'day' } })
    for (const credential of [secret, secret, 'static', 'mistyped']) await call(send, credential)
    const { source, rows } = await (await send('/console/api/usage')).json()
    expect(source).toBe('ledger')
    expect(new Set(rows.map((row: UsageReport['rows'][number]) => [row.token, row.calls, row.failed].join()))).toEqual(
      new Set([`${id},2,1`, 'owner,1,0']),
    )
  })

  it('respond with 503 and a reason while the storage is unavailable', async () => {
    const inner = memoryStorage()
    const gone = async () => {
      throw new StorageAwayError('Redis is gone')
    }
    const storage = { ...inner, tokens: { ...inner.tokens, list: gone } }
    const send = localSend(scene({}, { storage }))
    for (const path of ['usage', 'usage?format=csv', 'tokens']) {
      const response = await send(`/console/api/${path}`)
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
      expect((await response.json()).error.message).toContain('Try again shortly.')
    }
  })

  it('does not manage tokens for cross-site forms', async () => {
    const response = await localSend(scene())('/console/api/tokens', {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: '{}',
    })
    expect(response.status).toBe(415)
  })
})

describe('the CSV of usage', () => {
  const row = {
    day: '2026-11-21',
    token: 'tok_1',
    model: 'gpt-5',
    calls: 3,
    inputTokens: 30,
    cachedTokens: 4,
    outputTokens: 15,
    cost: 0.000000001,
    unpriced: 0,
  }
  const csvOf = async (rows: UsageReport['rows']) => {
    const { tokens } = scene()
    const report = { from: '2026-11-01', to: '2026-11-21', currency: 'EUR', rows }
    const response = await localSend(scene({ tokens: { ...tokens, report: async () => report } }))(
      '/console/api/usage?format=csv',
    )
    return { response, text: await response.text() }
  }

  it('is a file with one line for each row', async () => {
    const { response, text } = await csvOf([row, { ...row, token: null, failed: 2, cost: 1e21 }])
    const headers = ['content-type', 'content-disposition', 'cache-control', 'x-content-type-options']
    expect(headers.map((name) => response.headers.get(name))).toEqual([
      'text/csv; charset=utf-8',
      'attachment; filename="modelgate-usage-2026-11-01-to-2026-11-21.csv"',
      'no-store',
      'nosniff',
    ])
    expect(parseCsv(text)).toEqual([
      {
        day: '2026-11-21',
        token: 'tok_1',
        name: '',
        model: 'gpt-5',
        calls: '3',
        failed: '',
        input_tokens: '30',
        cached_tokens: '4',
        output_tokens: '15',
        cost: '0.000000001',
        currency: 'EUR',
        unpriced: '0',
      },
      expect.objectContaining({ token: '', failed: '2' }),
    ])
  })

  it('has only its header line without rows', async () => {
    const { text } = await csvOf([])
    expect(text).toBe(
      'day,token,name,model,calls,failed,input_tokens,cached_tokens,output_tokens,cost,currency,unpriced\r\n',
    )
  })

  it.each(['a,b', 'say "hi"', 'two\r\nlines', 'two\nlines', 'ünï 🌍', ' spaces ', '"', ','])(
    'keeps the text %j',
    async (model) => {
      const { text } = await csvOf([{ ...row, model, name: model }])
      expect(parseCsv(text)).toMatchObject([{ model, name: model }])
    },
  )

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx', '\nx', '=HYPERLINK("http://x","y")'])(
    'makes the formula %j a text',
    async (model) => {
      const { text } = await csvOf([{ ...row, model, name: model, token: model }])
      expect(parseCsv(text)).toMatchObject([{ model: `'${model}`, name: `'${model}`, token: `'${model}` }])
    },
  )
})
