import { describe, expect, it } from 'vitest'
import { createCanceller } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import { authenticate, readCredential } from '../gateway/authenticate.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Inbound } from '../http/inbound.ts'
import { createMatcher } from '../operations/match-route.ts'
import type { Route } from '../operations/route.ts'
import { routes } from '../operations/routes.ts'
import { openai } from '../upstreams/openai.ts'
import { createRouter } from './router.ts'

const match = createMatcher(routes)
const chat = '/v1/chat/completions'

describe('routes', () => {
  it.each([
    ['POST', chat, chat],
    ['POST', '/chat/completions', chat],
    ['POST', `/v1${chat}`, chat],
    ['POST', `${chat}/`, chat],
    ['POST', '/v1/messages', '/v1/messages'],
    ['POST', '/messages', '/v1/messages'],
    ['POST', '/v1/v1/messages', '/v1/messages'],
    ['GET', '/v1/models', '/v1/models'],
    ['HEAD', '/v1/models', '/v1/models'],
    ['GET', '/v1/v1/models', '/v1/models'],
    ['GET', '/v1/models/a/b', '/v1/models/{model}'],
    ['POST', '/v1/responses', '/v1/responses'],
    ['POST', '/responses', '/v1/responses'],
    ['POST', '/v1beta/models/a/b:c:generateContent', '/v1beta/models/{model}:generateContent'],
    ['POST', '/v1/v1beta/models/a:streamGenerateContent', '/v1beta/models/{model}:streamGenerateContent'],
    ['POST', '/v1/models/a:countTokens', '/v1/models/{model}:countTokens'],
    ['GET', '/v1beta/models/a/b', '/v1beta/models/{model}'],
  ])('match %s %s to %s', (method, path, expected) => {
    const found = match(method, path)
    expect(found?.route.path).toBe(expected)
    expect(found?.allow).toBeUndefined()
  })

  it.each([
    ['GET', '/'],
    ['GET', '/messages'],
    ['GET', '/chat/completions'],
    ['POST', '/models'],
    ['POST', '/v1/chat'],
    ['POST', '/v1/v1/v1/messages'],
    ['GET', '/v1/modelsx'],
    ['POST', '/V1/messages'],
  ])('do not match %s %s, which belongs to the host', (method, path) => {
    expect(match(method, path)).toBeNull()
  })

  it('report the allowed method for a known path with another method', () => {
    expect(match('GET', chat)?.allow).toBe('POST')
    expect(match('DELETE', '/v1/models')?.allow).toBe('GET')
  })

  it('keep slashes and escapes of a model name in the path', () => {
    expect(match('GET', '/v1/models/org%2Fm%20x/y')?.params).toEqual({ model: 'org/m x/y' })
    expect(match('GET', '/v1/models/%zz')?.params).toEqual({ model: '%zz' })
    expect(match('POST', '/v1beta/models/org%2Fm/x:7b:generateContent')?.params).toEqual({ model: 'org/m/x:7b' })
  })
})

const inbound = (headers: Record<string, string>, query = ''): Inbound => ({
  method: 'POST',
  path: chat,
  query,
  header: (name) => headers[name],
  read: async () => new Uint8Array(),
  signal: new AbortController().signal,
})
const plain = routes[0] as Route

describe('auth', () => {
  it.each<[string, Record<string, string>, string | undefined]>([
    ['a bearer token', { authorization: 'Bearer t1' }, 't1'],
    ['a bearer token in any letter case', { authorization: 'bearer  t1 ' }, 't1'],
    ['x-api-key', { 'x-api-key': 't2' }, 't2'],
    ['x-goog-api-key', { 'x-goog-api-key': 't3' }, 't3'],
    ['api-key', { 'api-key': ' t4 ' }, 't4'],
    ['the same token in several headers', { authorization: 'Bearer t1', 'x-api-key': 't1', 'api-key': 't1' }, 't1'],
    ['a key in addition to another scheme', { authorization: 'Basic abc', 'api-key': 't1' }, 't1'],
    ['a key in addition to blank headers', { authorization: 'Bearer ', 'x-api-key': ' ', 'api-key': 't1' }, 't1'],
    ['no token from another scheme', { authorization: 'Basic abc' }, undefined],
    ['no token from an empty bearer', { authorization: 'Bearer ' }, undefined],
    ['no token without headers', {}, undefined],
  ])('reads %s', (_, headers, expected) => {
    expect(readCredential(inbound(headers), plain)).toBe(expected)
  })

  it('reads the query only if the route allows it', () => {
    expect(readCredential(inbound({}, 'key=t4'), plain)).toBeUndefined()
    expect(readCredential(inbound({ 'x-api-key': 't1' }, 'key=t4'), plain)).toBe('t1')
    expect(readCredential(inbound({}, 'a=b&key=t4'), { ...plain, queryKey: true })).toBe('t4')
    expect(readCredential(inbound({ 'x-goog-api-key': 't4' }, 'key=t4'), { ...plain, queryKey: true })).toBe('t4')
  })

  const offer = { 'sec-websocket-protocol': 'realtime, openai-insecure-api-key.t5' }
  it.each<[string, Record<string, string>, string, Partial<Route>]>([
    ['a bearer token and a key', { authorization: 'Bearer t1', 'x-api-key': 't2' }, '', {}],
    ['two keys', { 'x-goog-api-key': 't1', 'api-key': 't2' }, '', {}],
    ['a key and the query', { 'x-goog-api-key': 't1' }, 'key=t4', { queryKey: true }],
    ['a bearer token and a subprotocol', { authorization: 'Bearer t1', ...offer }, '', { protocolKey: true }],
  ])('rejects different credentials: %s', (_, headers, query, route) => {
    const read = () => readCredential(inbound(headers, query), { ...plain, ...route })
    expect(read).toThrow('two different API keys')
    expect(read).not.toThrow(/t[1245]/)
  })

  const kindOf = (promise: Promise<unknown>) =>
    promise.then(
      () => 'none',
      (error: GatewayError) => error.info.kind,
    )

  it.each<[string, Parameters<typeof authenticate>[0], Record<string, string>, string]>([
    ['rejects a missing credential', () => ({ id: 'a' }), {}, 'authentication'],
    ['rejects an unknown credential', () => null, { 'x-api-key': 'x' }, 'authentication'],
    [
      'reports an auth function that throws as an internal error',
      () => {
        throw new Error('db at 10.0.0.1 down')
      },
      { 'x-api-key': 'x' },
      'internal',
    ],
    [
      'passes a GatewayError of the auth function',
      () => {
        throw new GatewayError('overloaded', 'later')
      },
      { 'x-api-key': 'x' },
      'overloaded',
    ],
    ['accepts a valid credential', async () => ({ id: 'a' }), { 'x-api-key': 'x' }, 'none'],
    ["accepts every call with auth: 'none'", 'none', { 'content-type': 'application/json' }, 'none'],
  ])('%s', async (_, auth, headers, kind) => {
    expect(await kindOf((async () => authenticate(auth, inbound(headers), plain, 1000, createCanceller()))())).toBe(
      kind,
    )
  })
})

describe('router', () => {
  const up = openai({ apiKey: 'k' })
  const router = createRouter({
    upstreams: { a: up, b: up },
    models: {
      'gpt-5': 'a',
      'gpt-*': 'b',
      'gpt-5-*': { upstream: 'a' },
      fast: { upstream: 'b', model: 'real' },
      'my/*': { upstream: 'b', model: 'their-*' },
      smart: ['a', { upstream: 'b', model: 'other' }],
    },
  })
  const plan = (model: string) =>
    router.plan(model, null).targets.map((target) => `${target.upstreamName}:${target.model}`)

  it.each([
    ['gpt-5', ['a:gpt-5']],
    ['gpt-4', ['b:gpt-4']],
    ['gpt-5-mini', ['a:gpt-5-mini']],
    ['fast', ['b:real']],
    ['my/x', ['b:their-x']],
    ['smart', ['a:smart', 'b:other']],
  ])('routes %s to %s', (model, expected) => expect(plan(model)).toEqual(expected))

  it.each(['unknown', 'GPT-5', '', '__proto__', 'constructor'])('rejects %j as an unknown model', (model) => {
    expect(() => plan(model)).toThrow(/does not exist/)
  })

  it('lists and accepts only models that the caller may use', () => {
    const identity = { id: 'x', models: ['fast', 'gpt-*'] }
    expect(router.list(identity)).toEqual(['gpt-5', 'fast'])
    expect(router.has('gpt-4', identity)).toBe(true)
    expect(router.has('smart', identity)).toBe(false)
    expect(() => router.plan('smart', identity)).toThrow(/do not have access/)
  })

  it('treats stars in a client’s model name as plain characters', () => {
    expect(router.has('*', null)).toBe(false)
    expect(plan(`gpt-${'*'.repeat(200)}`)).toEqual([`b:gpt-${'*'.repeat(200)}`])
  })
})

describe('listed models', () => {
  const base = {
    auth: 'none',
    upstreams: { up: openai({ apiKey: 'k' }) },
    models: { exact: 'up', 'gpt-*': 'up' },
  } as const
  const listOf = async (gateway: Gateway, path: string): Promise<unknown> =>
    (await gateway.fetch(new Request(`http://gateway.test${path}`))).json()

  it('include names of wildcard routes that the configuration lists, in every format', async () => {
    const gateway = createGateway({ ...base, listedModels: ['gpt-5', 'exact', 'gpt-5-mini'] })
    expect(await listOf(gateway, '/v1/models')).toMatchObject({
      data: [{ id: 'exact' }, { id: 'gpt-5' }, { id: 'gpt-5-mini' }],
    })
    expect(await listOf(gateway, '/v1beta/models')).toMatchObject({
      models: [{ name: 'models/exact' }, { name: 'models/gpt-5' }, { name: 'models/gpt-5-mini' }],
    })
    await gateway.close()
  })

  it('include only names that the caller may use', () => {
    const router = createRouter({ ...base, listedModels: ['gpt-5', 'gpt-5-mini'] })
    expect(router.list({ id: 'a', models: ['gpt-5'] })).toEqual(['gpt-5'])
  })

  it.each([
    ['other', "listedModels holds 'other', which matches no model route"],
    ['gpt-*', `listedModels holds "gpt-*": write a model name without '*'`],
  ])('are rejected if they contain %s', (name, message) =>
    expect(() => createGateway({ ...base, listedModels: [name] })).toThrow(message),
  )
})
