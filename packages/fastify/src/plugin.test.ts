import { request as httpRequest } from 'node:http'
import { adapterFunctions } from '@modelgate/core/adapter'
import { createFakeGateway, type FakeGateway, sleep, withAdapterFunctions } from '@modelgate/node/test-support'
import { until } from '@modelgate/testing/test-support'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fastifyPlugin } from './plugin.ts'

async function start(
  mount: (app: FastifyInstance, gateway: FakeGateway) => unknown = (app, gateway) =>
    app.register(fastifyPlugin(gateway)),
  options: FastifyServerOptions = {},
) {
  const gateway = createFakeGateway()
  const app = Fastify(options)
  app.get('/before', async () => 'before')
  await mount(app, gateway)
  app.get('/after', async () => 'after')
  app.post('/host', async (request) => ({ parsed: request.body }))
  app.setNotFoundHandler((_request, reply) => void reply.code(404).send('host 404'))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    app.server.closeAllConnections()
    await app.close()
  })
  const post = (path: string, body: BodyInit = '{}', headers: Record<string, string> = {}) =>
    fetch(url + path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
  return { app, gateway, url, port: Number(new URL(url).port), post }
}

describe('registration', () => {
  it.each([
    ['at the root', '', '', undefined],
    [
      'with a prefix',
      '/ai',
      '/ai',
      (app: FastifyInstance, gateway: FakeGateway) => app.register(fastifyPlugin(gateway), { prefix: '/ai' }),
    ],
    [
      'in a plugin of the host, with a parameter in its prefix',
      '/some%20tenant/ai',
      '/other/ai',
      (app: FastifyInstance, gateway: FakeGateway) =>
        app.register(async (child) => void child.register(fastifyPlugin(gateway), { prefix: '/ai' }), {
          prefix: '/:tenant',
        }),
    ],
  ])('serves its paths and leaves all others to the host: %s', async (_name, prefix, other, mount) => {
    const { post, url } = await start(mount)
    for (const at of [prefix, other])
      expect(await (await post(`${at}/v1/echo?a=b%20c`, '{ "x":1}')).json()).toMatchObject({
        path: '/v1/echo',
        query: 'a=b%20c',
        body: '{ "x":1}',
      })
    expect((await post(`${prefix}/v1/models`)).status).toBe(405)
    expect((await fetch(`${url}${prefix}/v1/models`, { method: 'HEAD' })).status).toBe(200)
    for (const [path, text] of [
      ['/before', 'before'],
      ['/after', 'after'],
      [`${prefix}/nothing`, 'host 404'],
      [`${prefix}/v1/unknown`, 'host 404'],
      [prefix === '' ? '/v2/models' : '/v1/models', 'host 404'],
    ])
      expect(await (await fetch(url + path)).text()).toBe(text)
    expect(await (await post('/host', '{"a":1}')).json()).toEqual({ parsed: { a: 1 } })
  })

  it.each([
    ['POST', '/v1/v1/echo', '"/v1/v1/echo"'],
    ['POST', '/echo', '"/echo"'],
    ['GET', '/v1/models/a%2Fb/c', '"object":"list"'],
    ['GET', `/v1/models/${'x'.repeat(300)}`, '"object":"list"'],
  ])('serves %s %s as the gateway itself does', async (method, path, expected) => {
    const { url } = await start()
    const response = await fetch(url + path, { method, ...(method === 'POST' ? { body: '{}' } : {}) })
    expect(await response.text()).toContain(expected)
  })

  it('leaves the other methods of a short path to the host', async () => {
    const { url } = await start(async (app, gateway) => {
      await app.register(fastifyPlugin(gateway))
      app.get('/echo', async () => 'a page of the host')
    })
    expect(await (await fetch(`${url}/echo`)).text()).toBe('a page of the host')
  })

  it.each([
    [{ ignoreTrailingSlash: true }],
    [{ routerOptions: { ignoreTrailingSlash: true } }],
    [{ routerOptions: { caseSensitive: false } }],
  ])('starts under %j', async (options) => {
    const { post } = await start(undefined, options)
    expect((await post('/v1/echo')).status).toBe(200)
  })

  it('leaves a wildcard match that the gateway does not serve to the 404 of the host', async () => {
    const { url } = await start((app, gateway) => {
      const { match } = adapterFunctions(gateway)
      const strict = withAdapterFunctions(gateway, {
        match: (method, path) => (path.endsWith('/no') ? null : match(method, path)),
      })
      return app.register(fastifyPlugin(strict))
    })
    expect(await (await fetch(`${url}/v1/models/no`)).text()).toBe('host 404')
    expect((await fetch(`${url}/v1/models/yes`)).status).toBe(200)
  })
})

describe('bodies', () => {
  it('reach the gateway unchanged, whatever the host parses and limits', async () => {
    const { post } = await start(
      (app, gateway) => {
        app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, _body, done) =>
          done(null, 'parsed'),
        )
        return app.register(fastifyPlugin(gateway))
      },
      { bodyLimit: 10 },
    )
    const body = `{ "big": 12345678901234567890, "pad": "${'x'.repeat(100)}" }`
    expect(await (await post('/v1/echo', body)).json()).toMatchObject({ body })
    expect(await (await post('/host', '{}')).json()).toEqual({ parsed: 'parsed' })
  })

  it.each(['', 'text/plain', 'application/x-unheard-of', 'no type at all'])(
    'with content type "%s" are for the gateway to judge',
    async (type) => {
      const { port, gateway } = await start()
      const status = await new Promise((resolve) => {
        httpRequest({ port, path: '/v1/echo', method: 'POST', headers: type === '' ? {} : { 'content-type': type } })
          .on('response', (response) => resolve(response.resume().statusCode))
          .end('{}')
      })
      expect(status).toBe(200)
      expect(gateway.seen.inbounds[0]?.header('content-type')).toBe(type === '' ? undefined : type)
    },
  )

  it('over the limit by their content-length get a readable 413', async () => {
    const { gateway, post } = await start()
    gateway.bodyLimit = 1000
    expect((await post('/v1/echo', 'x'.repeat(5_000_000))).status).toBe(413)
  })
})

describe('streams', () => {
  it('arrive event by event', async () => {
    const { post } = await start()
    const begin = performance.now()
    const times: number[] = []
    const { body } = await post('/v1/stream')
    for await (const _chunk of body as unknown as AsyncIterable<Uint8Array>) times.push(performance.now() - begin)
    expect(times).toHaveLength(5)
    expect((times[4] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(120)
  })

  it.each(['/v1/hang', '/v1/endless'])('abort within 100 ms when the client disconnects from %s', async (path) => {
    const { gateway, port } = await start()
    const client = httpRequest({ port, path, method: 'POST' }).on('error', () => {})
    client.end('{}')
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

describe("the host's hooks", () => {
  it('run before the handler, and onResponse after it', async () => {
    const ran: string[] = []
    const { post } = await start((app, gateway) => {
      app.addHook('onRequest', async (_request, reply) => {
        ran.push('onRequest')
        reply.header('x-host', 'yes')
      })
      app.addHook('preParsing', async () => void ran.push('preParsing'))
      app.addHook('preValidation', async () => void ran.push('preValidation'))
      app.addHook('preHandler', async () => void ran.push('preHandler'))
      app.addHook('onSend', async () => void ran.push('onSend'))
      app.addHook('onResponse', async () => void ran.push('onResponse'))
      return app.register(fastifyPlugin(gateway))
    })
    const response = await post('/v1/echo')
    expect(response.headers.get('x-host')).toBe('yes')
    await until(() => ran.includes('onResponse'), 'the onResponse hook')
    expect(ran).toEqual(['onRequest', 'preParsing', 'preValidation', 'preHandler', 'onResponse'])
  })

  it.each(['onRequest', 'preHandler'] as const)('can reject a call in %s with their own response', async (hook) => {
    const { post, gateway } = await start((app, gatewayOf) => {
      app.setErrorHandler((error, _request, reply) => void reply.code(418).send(`host: ${(error as Error).message}`))
      app.addHook(hook, async () => {
        await sleep(1)
        throw new Error('not you')
      })
      return app.register(fastifyPlugin(gatewayOf))
    })
    const response = await post('/v1/echo')
    expect([response.status, await response.text()]).toEqual([418, 'host: not you'])
    expect(gateway.seen.inbounds).toEqual([])
  })
})

it('fails to start if the host has the same route', async () => {
  const app = Fastify()
  app.post('/v1/echo', async () => 'mine')
  app.register(fastifyPlugin(createFakeGateway()))
  await expect(app.ready()).rejects.toThrow(/already declared for route '\/v1\/echo'/)
})

it('serves injected requests', async () => {
  const gateway = createFakeGateway()
  const app = Fastify().register(fastifyPlugin(gateway))
  const response = await app.inject({ method: 'POST', url: '/v1/echo', payload: { a: 1 } })
  expect([response.statusCode, response.json().body]).toEqual([200, '{"a":1}'])
  const stream = await app.inject({ method: 'POST', url: '/v1/stream', payload: {} })
  expect(stream.body).toContain('data: 4')
  await app.close()
})
