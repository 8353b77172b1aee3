import { describe, expect, it, vi } from 'vitest'
import { GatewayError } from '../base/errors.ts'
import type { Authenticate } from '../config/config.ts'
import type { Plugin, PluginRoute } from '../config/plugin.ts'
import { openai } from '../upstreams/openai.ts'
import { adapterFunctions } from './adapter.ts'
import { asJson, completion, setUp } from './create-gateway.test-support.ts'
import { createGateway } from './create-gateway.ts'
import type { Gateway } from './gateway.ts'

const minimal = {
  auth: 'none',
  upstreams: { a: openai({ apiKey: 'sk-aaaaaaaaaa' }) },
  models: { m: 'a' },
} as const

describe('the plugin of an auth function', () => {
  it('runs first and only once, even if plugins lists it again', async () => {
    const order: string[] = []
    const own: Plugin = { name: 'own', onFinish: () => void order.push('own') }
    const auth: Authenticate = Object.assign(() => ({ id: 'me' }), { plugin: own })
    const other: Plugin = { name: 'other', onFinish: () => void order.push('other') }
    const { chat } = setUp({ a: asJson(completion) }, { auth, plugins: [other, own] })
    await (await chat()).text()
    expect(order).toEqual(['own', 'other'])
  })
})

describe('a plugin', () => {
  it('receives the created gateway in onStart', () => {
    const onStart = vi.fn()
    const gateway: Gateway = createGateway({ ...minimal, plugins: [{ name: 'x', onStart }] })
    expect(onStart.mock.calls).toEqual([[gateway]])
  })
  it('prevents the creation of a gateway if its onStart throws', () => {
    const onStart = () => {
      throw new TypeError('x: set the key')
    }
    expect(() => createGateway({ ...minimal, plugins: [{ name: 'x', onStart }] })).toThrow('x: set the key')
  })
  it.each<[string, unknown]>([
    ['no name', {}],
    ['null', null],
    ['a route without a slash', { name: 'x', routes: [{ method: 'GET', path: 'x', handle: () => null }] }],
    ['a route with an unknown method', { name: 'x', routes: [{ method: 'get', path: '/x', handle: () => null }] }],
    ['a route without a function', { name: 'x', routes: [{ method: 'GET', path: '/x' }] }],
  ])('with %s is rejected with a message that shows what to write', (_, plugin) => {
    expect(() => createGateway({ ...minimal, plugins: [plugin as Plugin] })).toThrow(/^plugins: .*\{/)
  })
})

describe('routes of a plugin', () => {
  const text = (body: string) => ({ status: 200, headers: { 'content-type': 'text/plain' }, body })
  const routes: PluginRoute[] = [
    { method: 'GET', path: '/', handle: () => text('home') },
    { method: 'GET', path: '/things/{id}', handle: (_, { id }) => text(`thing ${id}`) },
    {
      method: 'POST',
      path: '/things/{id}/turn',
      handle: async (inbound, { id }) => text(`${id} ${new TextDecoder().decode(await inbound.read(10))}`),
    },
    {
      method: 'DELETE',
      path: '/things/{id}',
      handle() {
        throw new GatewayError('conflict', 'It is in use.')
      },
    },
    {
      method: 'PUT',
      path: '/things/{id}',
      handle() {
        throw new Error('at secret-host')
      },
    },
  ]
  const plugins: Plugin[] = [{ name: 'things', routes }]
  const ask = async (method: string, path: string, init: RequestInit = {}, more = {}) => {
    const { gateway, finished, logged } = setUp(
      {},
      { plugins: [...plugins, { name: 'f', onFinish: () => expect.fail() }], ...more },
    )
    const response = await gateway.fetch(new Request(`http://gw${path}`, { method, ...init }))
    return { status: response.status, body: await response.text(), gateway, finished, logged }
  }
  it.each([
    ['GET', '/', 200, 'home'],
    ['GET', '/things/7%2F8', 200, 'thing 7/8'],
    ['GET', '/things/7/', 200, 'thing 7'],
  ])('serve %s %s without a token or a settlement', async (method, path, status, body) => {
    expect(await ask(method, path)).toMatchObject({ status, body })
  })
  it('read request bodies up to their own limit', async () => {
    expect(await ask('POST', '/things/7/turn', { body: 'left' })).toMatchObject({ body: '7 left' })
    expect(await ask('POST', '/things/7/turn', { body: 'x'.repeat(11) })).toMatchObject({ status: 413 })
  })
  it('return the GatewayErrors that they throw, and log other errors without returning their message', async () => {
    const known = await ask('DELETE', '/things/7')
    expect(known.status).toBe(409)
    expect(JSON.parse(known.body).error.message).toBe('It is in use.')
    const other = await ask('PUT', '/things/7')
    expect(other.status).toBe(500)
    expect(other.body).not.toContain('secret-host')
    expect(JSON.stringify(other.logged.map(String))).toContain('failed')
  })
  it('match no other methods and paths', async () => {
    const { gateway } = await ask('GET', '/')
    expect(adapterFunctions(gateway).match('POST', '/')).toBeNull()
    expect(adapterFunctions(gateway).match('PATCH', '/things/7')).toBeNull()
    expect(adapterFunctions(gateway).match('GET', '/things')).toBeNull()
    expect(adapterFunctions(gateway).match('GET', '/v1/models')?.route.operation).toBe('list-models')
  })
  it('are served below the base path and listed in routes', async () => {
    for (const path of ['/ai/', '/ai'])
      expect(await ask('GET', path, {}, { basePath: '/ai' })).toMatchObject({ body: 'home' })
    const { gateway } = await ask('GET', '/ai/things/1', {}, { basePath: '/ai' })
    expect(gateway.routes.filter(({ operation }) => operation === 'plugin')).toHaveLength(routes.length)
    expect(adapterFunctions(gateway).match('GET', '/')).toBeNull()
  })
  it('cannot replace a route of the gateway', async () => {
    const handle = () => text('mine')
    const { gateway } = setUp(
      {},
      { plugins: [{ name: 'thief', routes: [{ method: 'POST', path: '/v1/messages', handle }] }] },
    )
    const response = await gateway.fetch(new Request('http://gw/v1/messages', { method: 'POST', body: '{}' }))
    expect(response.status).toBe(401)
  })
})
