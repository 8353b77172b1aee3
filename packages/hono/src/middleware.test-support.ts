import { request as httpRequest } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { createFakeGateway, type FakeGateway, serve } from '@modelgate/node/test-support'
import { until } from '@modelgate/testing/test-support'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { compress } from 'hono/compress'
import { cors } from 'hono/cors'
import { describe, expect, it } from 'vitest'
import type { honoMiddleware as Middleware } from './middleware.ts'

type Mount = (app: Hono, gateway: FakeGateway) => unknown

function build(mount: Mount) {
  const gateway = createFakeGateway()
  const app = new Hono()
  app.get('/before', (c) => c.text('before'))
  mount(app, gateway)
  app.get('/after', (c) => c.text('after'))
  app.notFound((c) => c.text('host 404', 404))
  return { gateway, app }
}

/** In process, as on Workers, Deno and Bun, and on Node, where requests are objects of @hono/node-server. */
const runtimes = [
  [
    'in process',
    async (mount: Mount) => {
      const { gateway, app } = build(mount)
      return { gateway, call: async (path: string, init?: RequestInit) => app.request(`http://host${path}`, init) }
    },
  ],
  [
    'on @hono/node-server',
    async (mount: Mount) => {
      const { gateway, app } = build(mount)
      const { url } = await serve(getRequestListener(app.fetch))
      return { gateway, call: (path: string, init?: RequestInit) => fetch(url + path, init) }
    },
  ],
] as const

/** Tests for both middlewares: the one for any runtime, and the one for Node. */
export function describeMiddleware(honoMiddleware: typeof Middleware): void {
  const root: Mount = (app, gateway) => app.use(honoMiddleware(gateway))

  describe.each(runtimes)('%s', (_runtime, start) => {
    const post = (body: BodyInit = '{}'): RequestInit => ({
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })

    const mounts: [string, string, Mount][] = [
      ['at the root', '', root],
      ['at the root, for all paths', '', (app, gateway) => app.use('*', honoMiddleware(gateway))],
      ["on the gateway's own paths", '', (app, gateway) => app.use('/v1/*', honoMiddleware(gateway))],
      ['under a path', '/ai', (app, gateway) => app.use('/ai/*', honoMiddleware(gateway))],
      [
        'under a path with parameters',
        '/a%20b/ai',
        (app, gateway) => app.use('/:tenant/ai/*', honoMiddleware(gateway)),
      ],
      [
        "under a path that ends in the gateway's own",
        '/ai',
        (app, gateway) => app.all('/ai/v1/*', honoMiddleware(gateway)),
      ],
      ['in a sub-app', '/ai', (app, gateway) => app.route('/ai', new Hono().use(honoMiddleware(gateway)))],
      ['in an app with a base path', '/ai', (app, gateway) => app.basePath('/ai').use(honoMiddleware(gateway))],
      ['with basePath', '/ai', (app, gateway) => app.use(honoMiddleware(gateway, { basePath: '/ai/' }))],
    ]
    it.each(mounts)('serves its paths and leaves all others to the host: %s', async (_name, prefix, mount) => {
      const { call } = await start(mount)
      const response = await call(`${prefix}/v1/echo?a=b%20c&d=/e?f`, post('{ "x":1}'))
      expect(await response.json()).toMatchObject({ path: '/v1/echo', query: 'a=b%20c&d=/e?f', body: '{ "x":1}' })
      expect((await call(`${prefix}/v1/models`, post())).status).toBe(405)
      expect((await call(`${prefix}/v1/models`, { method: 'HEAD' })).status).toBe(200)
      for (const [path, text] of [
        ['/before', 'before'],
        ['/after', 'after'],
        [`${prefix}/nothing`, 'host 404'],
        [`${prefix}/v1/unknown`, 'host 404'],
        [prefix === '' ? '/v2/models' : '/elsewhere/v1/v1/models', 'host 404'],
      ])
        expect(await (await call(path ?? '')).text()).toBe(text)
    })

    it.each<[string, Mount]>([
      ['json()', (app) => app.use((c, next) => c.req.json().then(next))],
      ['text()', (app) => app.use((c, next) => c.req.text().then(next))],
      ['arrayBuffer()', (app) => app.use((c, next) => c.req.arrayBuffer().then(next))],
      ['bodyLimit()', (app) => app.use(bodyLimit({ maxSize: 1000 }))],
    ])('uses the body that %s has read before', async (_name, reader) => {
      for (const prefix of ['', '/ai']) {
        const { call } = await start((app, gateway) => {
          reader(app, gateway)
          app.use(`${prefix}/*`, honoMiddleware(gateway))
        })
        const response = await call(`${prefix}/v1/echo`, post('{"a":"ä"}'))
        expect(await response.json()).toMatchObject({ body: '{"a":"ä"}', type: 'application/json' })
      }
    })

    it('works behind cors() and compress() without delaying events', async () => {
      const { call } = await start((app, gateway) =>
        app
          .use(cors())
          .use(compress({ threshold: 0 }))
          .use(honoMiddleware(gateway)),
      )
      const init = {
        ...post(),
        headers: { 'content-type': 'application/json', 'accept-encoding': 'gzip', origin: 'http://x' },
      }
      const json = await call('/v1/echo', init)
      expect(json.headers.get('access-control-allow-origin')).toBe('*')
      const begin = performance.now()
      const stream = await call('/v1/stream', init)
      expect(stream.headers.get('content-encoding')).toBeNull()
      const times: number[] = []
      for await (const _chunk of stream.body as unknown as AsyncIterable<Uint8Array>)
        times.push(performance.now() - begin)
      expect(times).toHaveLength(5)
      expect((times[4] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(120)
    })
  })

  describe('a client that disconnects from @hono/node-server', () => {
    const cases = ['', '/ai'].flatMap((prefix) => ['/v1/hang', '/v1/endless'].map((path) => [prefix, path] as const))
    it.each(cases)('aborts its call within 100 ms: %s%s', async (prefix, path) => {
      const { gateway, app } = build((host, fake) => host.use(`${prefix}/*`, honoMiddleware(fake)))
      const { port } = await serve(getRequestListener(app.fetch))
      const client = httpRequest({ port, path: prefix + path, method: 'POST' }).on('error', () => {})
      client.end('{}')
      await until(
        () => gateway.seen.inbounds.length === 1 && (path === '/v1/hang' || gateway.seen.pulled > 3),
        'the call to be under way',
      )
      const left = performance.now()
      client.destroy()
      await until(() => gateway.seen.aborts.length === 1, 'the abort of the call')
      expect((gateway.seen.aborts[0] ?? Number.POSITIVE_INFINITY) - left).toBeLessThan(100)
      if (path === '/v1/endless') await until(() => gateway.seen.returned === 1, 'the stream to be closed')
    })
  })
}
