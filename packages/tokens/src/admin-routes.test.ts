import { type AuthRequest, GatewayError, type Inbound, type PluginRoute, type Reply } from '@modelgate/core'
import { describe, expect, it } from 'vitest'
import { type AdminOptions, createAdminRoutes, type ManagedTokens } from './admin-routes.ts'
import { createOwners } from './limits/owners.ts'
import { memoryStorage } from './storage/memory/memory-storage.ts'
import { fakeStore } from './tokens/fake-store.test-support.ts'
import { createManagement } from './tokens/manage.ts'

const start = Date.parse('2026-11-21T12:00:00Z')
const json = { 'content-type': 'application/json' }

interface Asked {
  readonly headers?: Record<string, string>
  readonly body?: unknown
  readonly query?: string
}

function make(authorize: AdminOptions['authorize'] = () => true) {
  const store = fakeStore()
  const received: unknown[] = []
  const tokens: ManagedTokens = {
    ...createManagement({ store, onChange: () => {}, now: () => start }),
    usage: async (id, query) => {
      received.push([id, query])
      return { id } as Awaited<ReturnType<ManagedTokens['usage']>>
    },
    owners: createOwners({
      store: memoryStorage().owners,
      defaults: undefined,
      cacheMs: 0,
      staleMs: 0,
      readUsage: async ({ owner }, query) => {
        received.push([owner, query])
        return { owner } as Awaited<ReturnType<ManagedTokens['owners']['usage']>>
      },
      now: () => start,
      steadyNow: () => start,
    }).management,
  }
  const { routes = [] } = createAdminRoutes(tokens, { authorize })
  const ask = async (route: string, id: string | undefined, { headers = json, body, query = '' }: Asked = {}) => {
    const [method, path] = route.split(' ')
    const found = routes.find((one) => one.method === method && one.path === path) as PluginRoute
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
    const inbound: Inbound = {
      method: found.method,
      path: found.path,
      query,
      header: (name) => headers[name],
      async read(limit) {
        const bytes = new TextEncoder().encode(text)
        if (bytes.length > limit) throw new GatewayError('request_too_large', 'too large')
        return bytes
      },
      signal: new AbortController().signal,
    }
    try {
      const {
        status,
        headers: responseHeaders,
        body: answer,
      } = (await found.handle(inbound, id === undefined ? {} : { id })) as Reply
      return { status, headers: responseHeaders, body: JSON.parse(String(answer)) }
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      return { status: error.info.status, body: { param: error.info.param, message: error.message } }
    }
  }
  return { ask, store, tokens, received, routes }
}

const all = [
  'POST /admin/tokens',
  'GET /admin/tokens',
  'GET /admin/tokens/{id}',
  'PATCH /admin/tokens/{id}',
  'POST /admin/tokens/{id}/revoke',
  'DELETE /admin/tokens/{id}',
  'POST /admin/tokens/{id}/rotate',
  'GET /admin/tokens/{id}/usage',
  'GET /admin/tokens/owners',
  'GET /admin/tokens/owners/{id}',
  'PUT /admin/tokens/owners/{id}',
  'DELETE /admin/tokens/owners/{id}',
  'GET /admin/tokens/owners/{id}/usage',
]

describe('the endpoints of owners', () => {
  it('set, return, list and delete limits and budgets', async () => {
    const { ask, received } = make()
    const owner = '/admin/tokens/owners/{id}'
    const budget = { money: 20, period: 'month' }
    expect(await ask(`PUT ${owner}`, 'team/a', { body: { budget } })).toMatchObject({
      status: 200,
      body: { owner: 'team/a', budgets: [budget], limits: [], updatedAt: start },
    })
    expect((await ask(`GET ${owner}`, 'team/a')).body).toMatchObject({ owner: 'team/a' })
    expect((await ask('GET /admin/tokens/owners', undefined, { query: 'limit=5' })).body).toMatchObject({
      owners: [{ owner: 'team/a' }],
    })
    expect((await ask(`GET ${owner}/usage`, 'team/a', { query: 'from=2026-11-01' })).status).toBe(200)
    expect(received).toEqual([['team/a', { from: '2026-11-01' }]])
    expect(await ask(`DELETE ${owner}`, 'team/a')).toMatchObject({ body: { owner: 'team/a', deleted: true } })
    for (const route of [`GET ${owner}`, `GET ${owner}/usage`, `DELETE ${owner}`])
      expect((await ask(route, 'team/a')).status).toBe(404)
  })

  it.each([
    ['no settings', {}, 'limits'],
    ['an unknown setting', { budgets: [] }, 'budgets'],
    ['an invalid budget', { budget: { money: -1, period: 'day' } }, 'budget.money'],
    ['an invalid threshold', { limits: { requests: 1 }, thresholds: [80] }, 'thresholds'],
  ])('reject %s with 400 and the name of the field', async (_, body, param) => {
    const { ask } = make()
    expect(await ask('PUT /admin/tokens/owners/{id}', 'ada', { body })).toMatchObject({ status: 400, body: { param } })
  })

  it('need a content type of JSON', async () => {
    const { ask } = make()
    expect((await ask('PUT /admin/tokens/owners/{id}', 'ada', { headers: {}, body: {} })).status).toBe(415)
  })
})

describe('the authorized endpoints', () => {
  it('throw a TypeError without authorize', () => {
    const { tokens } = make()
    for (const options of [undefined, {}, { authorize: true }])
      expect(() => createAdminRoutes(tokens, options as unknown as AdminOptions)).toThrow(/authorize/)
  })

  it('pass the method, path and headers of every request to authorize', async () => {
    const seen: AuthRequest[] = []
    const { ask, routes } = make((request) => {
      seen.push(request)
      return false
    })
    expect(routes.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([...all].sort())
    for (const route of all)
      expect((await ask(route, 'tok_x', { headers: { cookie: 'a=b', ...json } })).status).toBe(403)
    expect(seen.map(({ method, path }) => `${method} ${path}`)).toEqual(all)
    expect(seen[0]?.header('Cookie')).toBe('a=b')
  })

  it.each([
    ['false', () => false, 403],
    ['nothing', () => undefined, 403],
    ['a value that is truthy but not true', () => 'ada', 403],
    ['a promise of false', async () => false, 403],
    ['true', () => true, 200],
    ['a promise of true', async () => true, 200],
  ])('respond for an authorize that returns %s (%s) with status %i', async (_, authorize, status) => {
    const { ask } = make(authorize as AdminOptions['authorize'])
    expect((await ask('GET /admin/tokens', undefined)).status).toBe(status)
  })

  it('send GatewayErrors of authorize to the client, and log its other failures', async () => {
    const refusing = make(() => {
      throw new GatewayError('authentication', 'Log in first.')
    })
    expect(await refusing.ask('GET /admin/tokens', undefined)).toMatchObject({
      status: 401,
      body: { message: 'Log in first.' },
    })
    const failing = make(() => Promise.reject(new Error('the session store is gone')))
    await expect(failing.ask('GET /admin/tokens', undefined)).rejects.toThrow('the session store is gone')
  })

  it('check the authorization before they read the body', async () => {
    const { ask, store } = make(() => false)
    expect((await ask('POST /admin/tokens', undefined, { body: '{' })).status).toBe(403)
    expect(store.records.size).toBe(0)
  })
})

describe('the endpoints', () => {
  it('issue, update, rotate and revoke a token', async () => {
    const { ask, received } = make()
    const issued = await ask('POST /admin/tokens', undefined, { body: { name: 'laptop', owner: 'ada' } })
    expect(issued).toMatchObject({ status: 201, body: { name: 'laptop', secret: expect.stringMatching(/^mg-/) } })
    const { id, secret } = issued.body
    const shown = await ask('GET /admin/tokens/{id}', id)
    expect(shown).toMatchObject({ status: 200, body: { id, owner: 'ada' } })
    expect(await ask('PATCH /admin/tokens/{id}', id, { body: { name: 'desk', owner: null } })).toMatchObject({
      status: 200,
      body: { name: 'desk' },
    })
    const rotated = await ask('POST /admin/tokens/{id}/rotate', id, { body: { graceMs: 0 } })
    expect(rotated).toMatchObject({ status: 200, body: { id, secret: expect.stringMatching(/^mg-/) } })
    expect(rotated.body.secret).not.toBe(secret)
    expect(await ask('GET /admin/tokens/{id}/usage', id, { query: 'from=2026-11-01' })).toMatchObject({ status: 200 })
    expect(received).toEqual([[id, { from: '2026-11-01' }]])
    expect(await ask('POST /admin/tokens/{id}/revoke', id)).toMatchObject({ status: 200, body: { revokedAt: start } })
    expect(await ask('POST /admin/tokens/{id}/rotate', id)).toMatchObject({ status: 409 })
    expect(await ask('DELETE /admin/tokens/{id}', id, { headers: {} })).toMatchObject({ status: 200 })
  })

  it('list tokens page by page', async () => {
    const { ask, tokens } = make()
    for (const owner of ['ada', 'bob', 'ada']) await tokens.issue({ owner })
    const first = await ask('GET /admin/tokens', undefined, { query: 'owner=ada&limit=1' })
    expect(first.body).toMatchObject({ tokens: [{ owner: 'ada' }], next: expect.any(String) })
    const second = await ask('GET /admin/tokens', undefined, { query: `owner=ada&limit=1&after=${first.body.next}` })
    expect(second.body.tokens).toHaveLength(1)
    expect(second.body.tokens[0].id).not.toBe(first.body.tokens[0].id)
  })

  it('return a secret only when it is new, with headers that forbid caching', async () => {
    const { ask } = make()
    const { body, headers } = await ask('POST /admin/tokens', undefined, { body: {} })
    expect(headers?.['cache-control']).toBe('no-store')
    const ofTokens = all.filter((one) => !one.includes('/owners'))
    for (const route of ofTokens.filter((one) => one !== 'POST /admin/tokens' && !one.endsWith('rotate'))) {
      const answer = await ask(route, body.id)
      expect([route, answer.status, answer.headers?.['cache-control']]).toEqual([route, 200, 'no-store'])
      expect(JSON.stringify(answer.body)).not.toMatch(/"secret|digest/)
      expect(JSON.stringify(answer.body)).not.toContain(body.secret)
    }
  })

  it.each([
    ['POST /admin/tokens', { body: { nam: 'laptop' } }, 'nam'],
    ['POST /admin/tokens', { body: { models: 'gpt-*' } }, 'models'],
    ['POST /admin/tokens', { body: { secret: 'mg-mine' } }, 'secret'],
    ['PATCH /admin/tokens/{id}', { body: { revokedAt: null } }, 'revokedAt'],
    ['POST /admin/tokens/{id}/revoke', { body: { why: 'lost' } }, 'why'],
    ['POST /admin/tokens/{id}/rotate', { body: { grace: 5 } }, 'grace'],
    ['POST /admin/tokens/{id}/rotate', { body: { graceMs: '5' } }, 'graceMs'],
    ['GET /admin/tokens', { query: 'page=2' }, 'page'],
    ['GET /admin/tokens', { query: 'limit=many' }, 'limit'],
    ['GET /admin/tokens', { query: 'limit=' }, 'limit'],
    ['GET /admin/tokens', { query: 'owner=a&owner=b' }, 'owner'],
    ['GET /admin/tokens/{id}', { query: 'x=1' }, 'x'],
    ['GET /admin/tokens/{id}/usage', { query: 'since=2026-11-01' }, 'since'],
  ])('reject %s with %o with a 400 that names the field', async (route, what, param) => {
    const { ask, tokens } = make()
    const { id } = await tokens.issue()
    expect(await ask(route, id, what)).toMatchObject({ status: 400, body: { param } })
  })

  it.each(['{', '[]', '"text"', 'null', '7'])('reject a body of %s with 400', async (body) => {
    expect((await make().ask('POST /admin/tokens', undefined, { body })).status).toBe(400)
  })

  it('reject a body of more than 64 kB with 413', async () => {
    const body = { metadata: { text: 'x'.repeat(65_536) } }
    expect((await make().ask('POST /admin/tokens', undefined, { body })).status).toBe(413)
  })

  it.each([
    'GET /admin/tokens/{id}',
    'PATCH /admin/tokens/{id}',
    'POST /admin/tokens/{id}/revoke',
    'DELETE /admin/tokens/{id}',
  ])('respond to %s of an unknown token with 404', async (route) => {
    for (const id of ['tok_none', 'a/b', '..']) expect((await make().ask(route, id)).status).toBe(404)
  })
})

describe('requests that a form on another site can send', () => {
  it.each([
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/json',
  ])('are rejected with content-type %s', async (type) => {
    const { ask, store, tokens } = make()
    const { id } = await tokens.issue()
    const headers = type === undefined ? {} : { 'content-type': type }
    for (const route of all.filter((one) => one.startsWith('POST') || one.startsWith('PATCH')))
      expect((await ask(route, id, { headers, body: '{}' })).status).toBe(415)
    expect(store.records.size).toBe(1)
    expect(await tokens.get(id)).not.toHaveProperty('revokedAt')
  })

  it('are accepted if they are JSON with a charset', async () => {
    const headers = { 'content-type': 'Application/JSON; charset=utf-8' }
    expect((await make().ask('POST /admin/tokens', undefined, { headers, body: {} })).status).toBe(201)
  })
})

describe('the path of the endpoints', () => {
  it('can be configured by the host', () => {
    const { tokens } = make()
    const { routes = [] } = createAdminRoutes(tokens, { authorize: () => true, path: '/internal/keys' })
    expect(routes.map(({ path }) => path)).toContain('/internal/keys/{id}/usage')
  })

  it.each(['', '/', 'admin', '/admin/', '/admin/{x}', '/a b'])('cannot be configured as %j', (path) => {
    expect(() => createAdminRoutes(make().tokens, { authorize: () => true, path })).toThrow(/path is/)
  })
})
