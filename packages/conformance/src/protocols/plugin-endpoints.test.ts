import { createGateway, openai, type Plugin } from '@modelgate/core'
import { fastifyPlugin } from '@modelgate/fastify'
import { honoMiddleware } from '@modelgate/hono'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hostsNotFound, parsingServers, type Running, servers } from '../base/servers.ts'

const text = (body: string) => ({ status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body })

/** A plugin with a page at the root and its own endpoints, like the console and the tokens' administration. */
const plugin: Plugin = {
  name: 'things',
  routes: [
    { method: 'GET', path: '/', handle: () => text('home') },
    { method: 'GET', path: '/things', handle: (inbound) => text(`all ${inbound.query}`) },
    { method: 'GET', path: '/things/{id}', handle: (_, { id }) => text(`thing ${id}`) },
    {
      method: 'POST',
      path: '/things/{id}/turn',
      handle: async (inbound, { id }) => {
        const { to } = JSON.parse(new TextDecoder().decode(await inbound.read(1000))) as { to: string }
        return text(`${id} to ${to} by ${inbound.header('x-who')}`)
      },
    },
    { method: 'PATCH', path: '/things/{id}', handle: () => ({ status: 204, headers: {}, body: null }) },
    { method: 'DELETE', path: '/things/{id}', handle: () => text('gone') },
  ],
}

describe.each([...servers, ...parsingServers])('endpoints of a plugin on $name', ({ hosted, start }) => {
  let running: Running
  beforeAll(async () => {
    running = await start(
      createGateway({
        auth: () => null,
        upstreams: { up: openai({ apiKey: 'sk-aaaaaaaaaa' }) },
        models: { m: 'up' },
        plugins: [plugin],
        logger: false,
      }),
    )
  })
  afterAll(() => running.close())
  const ask = async (method: string, path: string, body?: object) => {
    const response = await (running.fetch ?? fetch)(running.origin + path, {
      method,
      headers: { 'x-who': 'me', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return [response.status, await response.text()]
  }

  it.each<[string, string, object | undefined, number, string]>([
    ['GET', '/', undefined, 200, 'home'],
    ['GET', '/things?limit=2', undefined, 200, 'all limit=2'],
    ['GET', '/things/a%20b', undefined, 200, 'thing a b'],
    ['POST', '/things/7/turn', { to: 'left' }, 200, '7 to left by me'],
    ['PATCH', '/things/7', {}, 204, ''],
    ['DELETE', '/things/7', undefined, 200, 'gone'],
  ])('respond to %s %s', async (method, path, body, status, answer) => {
    expect(await ask(method, path, body)).toEqual([status, answer])
  })
  it("do not affect the gateway's own endpoints and their authentication", async () => {
    const [status, body] = await ask('GET', '/v1/models')
    expect(status).toBe(401)
    expect(body).toContain('invalid_api_key')
  })
  it('pass other paths to the host', async () => {
    const [status, body] = await ask('GET', '/thing')
    expect(status).toBe(404)
    if (hosted) expect(body).toBe(hostsNotFound)
    else expect(JSON.parse(String(body)).error.message).toContain('Unknown route: GET /thing')
    if (hosted) expect(await ask('GET', '/after')).toEqual([200, 'after'])
  })
})

describe('page of a plugin at the root, with the gateway below a path', () => {
  const gatewayAt = (basePath?: string) =>
    createGateway({
      auth: 'none',
      upstreams: { up: openai({ apiKey: 'sk-aaaaaaaaaa' }) },
      models: { m: 'up' },
      plugins: [plugin],
      logger: false,
      ...(basePath === undefined ? {} : { basePath }),
    })
  const hosts: readonly (readonly [string, (path: string) => Promise<Response>])[] = [
    ['in process, by basePath', (path) => gatewayAt('/ai').fetch(`http://host${path}`)],
    ['Hono', async (path) => new Hono().use('/ai/*', honoMiddleware(gatewayAt())).request(path)],
    [
      'Fastify',
      async (path) => {
        const app = Fastify()
        await app.register(fastifyPlugin(gatewayAt()), { prefix: '/ai' })
        const { statusCode, body } = await app.inject({ url: path })
        return new Response(body, { status: statusCode })
      },
    ],
  ]
  it.each(hosts)('responds with and without a trailing slash: %s', async (_, ask) => {
    for (const path of ['/ai', '/ai/']) expect(await (await ask(path)).text(), path).toBe('home')
    expect((await ask('/air')).status).toBe(404)
  })
})
