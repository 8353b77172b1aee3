import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { assets, pages } from 'virtual:console-assets'
import { createGateway, openaiCompatible } from '@modelgate/core'
import { createTokens, memoryStorage } from '@modelgate/tokens'
import { describe, expect, it } from 'vitest'
import { consolePages } from './index.ts'

const tokens = createTokens({ storage: memoryStorage(), logger: false })
const authorize = () => false

const make = (basePath = '', options = {}) =>
  createGateway({
    auth: (token) => (token === 'right' ? { id: 'me' } : null),
    upstreams: {
      secretive: openaiCompatible({ baseURL: 'http://upstream.invalid/v1', apiKey: 'sk-hidden-0123456789' }),
    },
    models: { 'hidden-model': { upstream: 'secretive', overrides: { user: 'account-of-the-operator' } } },
    plugins: [consolePages({ recentCalls: { authorize }, usage: { authorize, tokens }, ...options })],
    logger: false,
    ...(basePath === '' ? {} : { basePath }),
  })
const ask = (path: string, init: RequestInit = {}, gateway = make()) =>
  gateway.fetch(`http://gateway.test${path}`, init)

describe.each(['', '/ai'])("the console below '%s'", (mount) => {
  const gateway = make(mount)

  it.each(['/', '/console/playground', '/console/calls', '/console/usage', '/console/tokens'])(
    'serves %s under a policy that allows only its own files',
    async (path) => {
      const response = await ask(mount + path, {}, gateway)
      const html = await response.text()
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(response.headers.get('cache-control')).toBe('no-cache')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(response.headers.get('referrer-policy')).toBe('no-referrer')
      expect(response.headers.get('set-cookie')).toBeNull()
      const policy = response.headers.get('content-security-policy') ?? ''
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      for (const part of [
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        'media-src blob:',
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ])
        expect(policy.split('; ')).toContain(part)
      const inline = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, text = '']) => text)
      expect(inline.length).toBeGreaterThan(0)
      for (const text of inline)
        expect(policy).toContain(`'sha256-${createHash('sha256').update(text).digest('base64')}'`)
      // All are relative, because the page does not know its mount path.
      for (const [, target = ''] of html.matchAll(/(?:href|src)="([^"]*)"/g)) expect(target).toMatch(/^(?:data:|[\w.])/)
    },
  )

  it('serves the files that its pages reference as immutable', async () => {
    const html = Object.values(pages)
      .map((page) => page.html)
      .join('')
    const named = new Set([...html.matchAll(/assets\/([\w.-]+)/g)].map(([, name = '']) => name))
    expect(named.size).toBe(6)
    for (const name of named) {
      const response = await ask(`${mount}/console/assets/${name}`, {}, gateway)
      expect(response.status).toBe(200)
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(response.headers.get('content-type')).toBe(
        name.endsWith('.js') ? 'text/javascript; charset=utf-8' : 'text/css; charset=utf-8',
      )
    }
  })

  it('returns a JSON 404 for a missing file', async () => {
    const response = await ask(`${mount}/console/assets/home-OLD.js`, {}, gateway)
    expect(response.status).toBe(404)
    expect((await response.json()).error.message).toContain('home-OLD.js')
  })

  it('publishes only public facts', async () => {
    const response = await ask(`${mount}/console/info.json`, {}, gateway)
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({ name: 'modelgate', healthy: true, playground: true, requiresToken: true })
    expect(text).toContain('/v1/chat/completions')
    expect(text).not.toMatch(/secretive|hidden|upstream\.invalid|console/)
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  const explain = (token: string, init: RequestInit = {}) =>
    ask(
      `${mount}/console/explain?path=/v1/messages`,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'anthropic-version': '2023-06-01',
        },
        body: JSON.stringify({
          model: 'hidden-model',
          max_tokens: 5,
          top_k: 3,
          messages: [{ role: 'user', content: 'Hi' }],
        }),
        ...init,
      },
      gateway,
    )

  it('explains a call to an authorized caller, with secrets and configured values masked', async () => {
    const response = await explain('right')
    const text = await response.text()
    expect(text).toContain('"user":"(set by the configuration)"')
    expect(text).not.toContain('account-of-the-operator')
    expect(response.status).toBe(200)
    const { plan } = JSON.parse(text)
    expect(plan[0]).toMatchObject({ upstream: 'secretive', lane: 'translate', format: 'chat' })
    expect(plan[0].losses.map(({ path }: { path: string }) => path)).toContain('/top_k')
    expect(text).not.toContain('sk-hidden-0123456789')
  })

  it.each<[string, string, RequestInit, string, number]>([
    ['a wrong token', 'wrong', {}, '/v1/messages', 401],
    [
      'a form',
      'right',
      { headers: { authorization: 'Bearer right', 'content-type': 'text/plain' } },
      '/v1/messages',
      415,
    ],
    [
      'a model that is not there',
      'right',
      { body: '{"model":"x","max_tokens":1,"messages":[{"role":"user","content":"a"}]}' },
      '',
      404,
    ],
    ['no JSON', 'right', { body: '{' }, '', 400],
  ])('rejects a request to explain %s', async (_, token, init, _path, status) => {
    const response = await explain(token, init)
    expect(response.status).toBe(status)
    expect((await response.json()).error.message).toMatch(/\w{4}/)
  })
})

describe('explain', () => {
  it.each([
    ['', 400],
    ['?path=v1/messages', 400],
    ['?path=/v1/embeddings', 404],
    ['?path=//elsewhere/v1/messages', 404],
  ])('requires a path of the gateway: %j returns %i', async (query, status) => {
    const headers = { authorization: 'Bearer right', 'content-type': 'application/json' }
    expect((await ask(`/console/explain${query}`, { method: 'POST', headers, body: '{}' })).status).toBe(status)
  })

  it('checks the token before it reads the body', async () => {
    let read = 0
    const body = new ReadableStream({ pull: () => void read++ }, { highWaterMark: 0 })
    const init: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      headers: { authorization: 'Bearer wrong', 'content-type': 'application/json' },
      body,
      duplex: 'half',
    }
    expect((await ask('/console/explain?path=/v1/chat/completions', init)).status).toBe(401)
    expect(read).toBe(0)
  })
})

describe('a page', () => {
  it.each(['', 'W/'])('is not sent again to a client that has it (%j)', async (weak) => {
    const first = await ask('/')
    const again = await ask('/', { headers: { 'if-none-match': `"other", ${weak}${first.headers.get('etag')}` } })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  it('redirects the Playground with a trailing slash', async () => {
    const response = await ask('/console/playground/')
    expect([response.status, response.headers.get('location')]).toEqual([308, '../playground'])
  })
})

it('leaves out the Playground and its endpoints when it is disabled', async () => {
  const gateway = make('', { playground: false })
  expect((await ask('/', {}, gateway)).status).toBe(200)
  expect((await ask('/console/playground', {}, gateway)).status).toBe(404)
  expect((await ask('/console/explain', { method: 'POST' }, gateway)).status).toBe(404)
  expect(await (await ask('/console/info.json', {}, gateway)).json()).toMatchObject({ playground: false })
})

describe('the address of the documentation', () => {
  it.each(['https://docs.example.com/models', 'http://wiki/models', '/docs'])(
    '%s is published',
    async (documentation) => {
      const info = await (await ask('/console/info.json', {}, make('', { documentation }))).json()
      expect(info).toMatchObject({ documentation })
    },
  )

  it.each(['javascript:alert(1)', '//elsewhere.test', '/\\\\elsewhere.test', 'docs', '', 'https://'])(
    '%j is rejected',
    (documentation) => {
      expect(() => consolePages({ documentation })).toThrow(/documentation is .*Use an address such as/)
    },
  )

  it('is absent without one', async () => {
    expect(await (await ask('/console/info.json')).json()).not.toHaveProperty('documentation')
  })
})

/** Returns the scripts that a page loads: its own, and every chunk that it imports, at first or also later. */
function scriptsOf(html: string, when: 'first' | 'ever' = 'ever'): readonly string[] {
  const loaded = new Set<string>()
  const load = (text: string): void => {
    const shown = when === 'ever' ? text : text.replaceAll(/\bimport\("[^"]*"\)/g, '')
    for (const { name, body } of assets)
      if (name.endsWith('.js') && shown.includes(name) && !loaded.has(name)) {
        loaded.add(name)
        load(body)
      }
  }
  load(html)
  return [...loaded]
}

const sizeOf = (scripts: readonly string[]): number =>
  assets.filter(({ name }) => scripts.includes(name)).reduce((sum, { body }) => sum + gzipSync(body).length, 0)

it.each([
  ['playground', 90_000],
  ['home', 25_000],
  ['calls', 25_000],
  ['usage', 25_000],
  ['tokens', 25_000],
] as const)('the page %s loads at most %i bytes of compressed script', (page, most) => {
  const scripts = scriptsOf(pages[page].html)
  // Its own, and the shared chunks.
  expect(scripts.length).toBeGreaterThan(1)
  expect(sizeOf(scripts)).toBeLessThan(most)
})

it('the Playground loads the code of the tabs other than chat when one of them is opened', () => {
  const { html } = pages.playground
  const [first, ever] = [scriptsOf(html, 'first'), scriptsOf(html)]
  expect(ever.length).toBeGreaterThan(first.length)
  expect(sizeOf(first)).toBeLessThan(70_000)
  expect(assets.filter(({ name }) => first.includes(name)).some(({ body }) => body.includes('/v1/rerank'))).toBe(false)
  expect(assets.filter(({ name }) => ever.includes(name)).some(({ body }) => body.includes('/v1/rerank'))).toBe(true)
})
