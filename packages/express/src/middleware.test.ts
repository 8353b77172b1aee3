import { request as httpRequest } from 'node:http'
import { createFakeGateway, serve } from '@modelgate/node/test-support'
import { until } from '@modelgate/testing/test-support'
import compression from 'compression'
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import express4 from 'express4'
import { describe, expect, it } from 'vitest'
import { expressMiddleware } from './middleware.ts'

/** Express 4 has no types of its own; the parts used here are the same as in Express 5. */
const versions = [
  ['Express 5', express],
  ['Express 4', express4 as unknown as typeof express],
] as const

describe.each(versions)('%s', (_version, make) => {
  async function start(mount: (app: Express, middleware: RequestHandler) => void) {
    const gateway = createFakeGateway()
    const app = make()
    app.get('/before', (_req, res) => void res.send('before'))
    mount(app, expressMiddleware(gateway))
    app.get('/after', (_req, res) => void res.send('after'))
    app.use((_req, res) => void res.status(404).send('host 404'))
    const failed: ErrorRequestHandler = (error, _req, res, _next) => void res.status(599).send(String(error))
    app.use(failed)
    const { url, port } = await serve(app)
    const post = (path: string, body: BodyInit = '{}', headers: Record<string, string> = {}) =>
      fetch(url + path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
    return { gateway, url, port, post }
  }

  it.each([
    ['at the root', '', (app: Express, middleware: RequestHandler) => void app.use(middleware)],
    ['under a path', '/ai', (app: Express, middleware: RequestHandler) => void app.use('/ai', middleware)],
    [
      'in a router',
      '/a/b',
      (app: Express, middleware: RequestHandler) => void app.use('/a', make.Router().use('/b', middleware)),
    ],
  ])('serves its paths %s and leaves all others to the host', async (_name, prefix, mount) => {
    const { post, url } = await start(mount)
    expect(await (await post(`${prefix}/v1/echo?a=b%20c`, '{"x":1}')).json()).toMatchObject({
      path: '/v1/echo',
      query: 'a=b%20c',
      body: '{"x":1}',
    })
    expect((await post(`${prefix}/v1/models`)).status).toBe(405)
    expect((await fetch(`${url}${prefix}/v1/models`, { method: 'HEAD' })).status).toBe(200)
    for (const [path, text] of [
      ['/before', 'before'],
      ['/after', 'after'],
      [`${prefix}/nothing`, 'host 404'],
      [`${prefix}/v1/unknown`, 'host 404'],
      [prefix === '' ? '/v2' : '/v1/models', 'host 404'],
    ])
      expect(await (await fetch(url + path)).text()).toBe(text)
  })

  it.each([
    ['json()', make.json(), '{"a":{"b":[1,"ä"]}}', 'application/json'],
    ['raw()', make.raw({ type: '*/*' }), '{ "a": 12345678901234567890 }', 'application/json'],
    ['text()', make.text({ type: '*/*' }), '{ "a": 1 }', 'application/json'],
    ['json() for another type', make.json({ type: 'application/other' }), '{ "a": 1 }', 'application/json'],
    [
      'json() that keeps the raw body',
      make.json({ verify: (req, _res, buffer) => void Object.assign(req, { rawBody: buffer }) }),
      '{ "a": 12345678901234567890 }',
      'application/json',
    ],
  ])('uses the body that %s has read before', async (_name, parser, body, type) => {
    const { post } = await start((app, middleware) => void app.use(parser).use(middleware))
    expect(await (await post('/v1/echo', body, { 'content-type': type })).json()).toMatchObject({ body, type })
  })

  it('leaves the body of other routes to parsers after it', async () => {
    const { post } = await start((app, middleware) => {
      app.use(middleware)
      app.post('/host', make.json(), (req, res) => void res.json(req.body))
    })
    expect(await (await post('/host', '{"a":1}')).json()).toEqual({ a: 1 })
  })

  it('sends a readable 413 for a content-length over the limit', async () => {
    const { gateway, post } = await start((app, middleware) => void app.use(middleware))
    gateway.bodyLimit = 1000
    expect((await post('/v1/echo', 'x'.repeat(5_000_000))).status).toBe(413)
  })

  it('lets compression() compress JSON but not delay events', async () => {
    const { url, gateway } = await start(
      (app, middleware) => void app.use(compression({ threshold: 0 })).use(middleware),
    )
    const headers = { 'accept-encoding': 'gzip', 'content-type': 'application/json' }
    const json = await fetch(`${url}/v1/echo`, { method: 'POST', body: '{"x":1}', headers })
    expect(json.headers.get('content-encoding')).toBe('gzip')
    expect(await json.json()).toMatchObject({ body: '{"x":1}' })

    const begin = performance.now()
    const stream = await fetch(`${url}/v1/stream`, { method: 'POST', body: '{}', headers })
    expect(stream.headers.get('content-encoding')).toBeNull()
    const times: number[] = []
    for await (const _chunk of stream.body as unknown as AsyncIterable<Uint8Array>)
      times.push(performance.now() - begin)
    expect(times).toHaveLength(5)
    expect((times[4] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(120)
    expect(gateway.seen.aborts).toEqual([])
  })

  it('keeps headers that the host has set', async () => {
    const { post } = await start(
      (app, middleware) =>
        void app
          .use((_req, res, next) => {
            res.set('x-host', 'yes')
            next()
          })
          .use(middleware),
    )
    const response = await post('/v1/echo')
    expect([response.headers.get('x-host'), response.headers.get('content-type')]).toEqual(['yes', 'application/json'])
  })

  it.each(['/v1/hang', '/v1/endless'])('aborts within 100 ms when the client disconnects from %s', async (path) => {
    const { gateway, port } = await start((app, middleware) => void app.use(make.json()).use(middleware))
    const client = httpRequest({ port, path, method: 'POST', headers: { 'content-type': 'application/json' } })
    client.on('error', () => {}).end('{}')
    await until(
      () => gateway.seen.inbounds.length === 1 && (path === '/v1/hang' || gateway.seen.pulled > 3),
      'the call to be under way',
    )
    const left = performance.now()
    client.destroy()
    await until(() => gateway.seen.aborts.length === 1, 'the abort of the call')
    expect((gateway.seen.aborts[0] ?? Number.POSITIVE_INFINITY) - left).toBeLessThan(100)
  })
})
