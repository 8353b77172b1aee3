import { describe, expect, it } from 'vitest'
import { createCanceller } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import { openaiCompatible } from './openai-compatible.ts'
import { addCredentials, callUrl, configuredKeyHeaders, recentCredentials, requestHeaders } from './outgoing-call.ts'
import type { OutgoingCall, Upstream } from './upstream.ts'

const plain = openaiCompatible({ baseURL: 'http://up.test/v1', apiKey: 'one', headers: { 'X-Org': 'o' } })
const pooled: Upstream = {
  ...openaiCompatible({ baseURL: 'http://up.test/v1', apiKey: ['one', 'two'] }),
  passHeaders: ['anthropic-beta', 'x-trace'],
}
const none = () => undefined

describe('the headers of a call', () => {
  it('consist of the upstream’s headers and those of every call', () =>
    expect(requestHeaders(plain, undefined, false, none)).toEqual({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      authorization: 'Bearer one',
      'x-org': 'o',
    }))

  it('accept an event stream if the client requests a stream', () => {
    expect(requestHeaders(plain, undefined, true, none)).toMatchObject({ accept: 'text/event-stream' })
    expect(requestHeaders(plain, undefined, false, none)).not.toHaveProperty('accept')
  })

  it.each([
    [0, 'Bearer one'],
    [1, 'Bearer two'],
    [undefined, 'Bearer one'],
  ])('contain the credential of key %s', (key, authorization) => {
    for (const stream of [true, false])
      expect(requestHeaders(pooled, key, stream, none).authorization).toBe(authorization)
    expect(configuredKeyHeaders(pooled, key).authorization).toBe(authorization)
  })

  it('include only the client headers in passHeaders', () => {
    const client: Record<string, string> = { 'anthropic-beta': 'b', authorization: 'Bearer client', cookie: 'c' }
    const headers = requestHeaders(pooled, 1, false, (name) => client[name])
    expect(headers).toMatchObject({ 'anthropic-beta': 'b', authorization: 'Bearer two' })
    expect(Object.keys(headers)).not.toContain('cookie')
    expect(Object.keys(headers)).not.toContain('x-trace')
    // The next call belongs to another client.
    expect(Object.keys(requestHeaders(pooled, 1, false, none))).not.toContain('anthropic-beta')
  })

  it('let configured headers override those of the gateway', () => {
    const own = openaiCompatible({
      baseURL: 'http://up.test/v1',
      apiKey: 'one',
      headers: { Authorization: 'Basic x', 'Accept-Encoding': 'gzip', Accept: 'text/plain' },
    })
    expect(requestHeaders(own, undefined, true, none)).toEqual({
      'content-type': 'application/json',
      'accept-encoding': 'gzip',
      accept: 'text/plain',
      authorization: 'Basic x',
    })
  })
})

describe('the credentials of a call', () => {
  const never = createCanceller()
  const call = { method: 'POST', url: 'http://up.test/v1/chat', headers: { a: '1', authorization: 'Bearer one' } }

  it('are not added without authorize', async () =>
    expect(await addCredentials(plain, { ...call, body: 'x' }, never)).toBe(call.headers))

  it.each<[string, Parameters<typeof addCredentials>[1]['body'], OutgoingCall['body']]>([
    ['text', '{}', '{}'],
    ['bytes', new Uint8Array([1]), new Uint8Array([1])],
    ['no body', undefined, undefined],
    [
      'an upload',
      (async function* () {
        yield new Uint8Array([1])
      })(),
      undefined,
    ],
  ])('are created from the final call (%s) and override its other headers', async (_, body, seen) => {
    const calls: OutgoingCall[] = []
    const upstream: Upstream = {
      ...plain,
      authorize(given) {
        calls.push(given)
        return { authorization: 'Signed 1' }
      },
    }
    expect(await addCredentials(upstream, { ...call, body }, never)).toEqual({ a: '1', authorization: 'Signed 1' })
    expect(calls).toEqual([{ ...call, body: seen }])
    expect([...recentCredentials(upstream)]).toEqual([{ name: 'authorization', value: 'Signed 1' }])
    expect([...recentCredentials(plain)]).toEqual([])
  })

  it.each<[string, () => never | Promise<never>]>([
    [
      'throws',
      () => {
        throw new Error('secret token sk-1')
      },
    ],
    ['rejects', () => Promise.reject(new Error('secret token sk-1'))],
  ])('cause upstream_auth without details if authorize %s', async (_, authorize) => {
    const error = await addCredentials({ ...plain, authorize }, { ...call, body: '{}' }, never).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(GatewayError)
    expect(error).toMatchObject({
      info: {
        kind: 'upstream_auth',
        status: 502,
        message: "The gateway's own credentials for the upstream could not be obtained. Your token is not the cause.",
      },
      cause: new Error('secret token sk-1'),
    })
    expect(JSON.stringify((error as GatewayError).info)).not.toContain('secret')
  })

  it('are not awaited after the call has ended', async () => {
    const signal = createCanceller()
    const hanging = addCredentials({ ...plain, authorize: () => new Promise(() => {}) }, { ...call, body: '' }, signal)
    signal.abort()
    await expect(hanging).rejects.toMatchObject({ info: { kind: 'upstream_auth' } })
  })
})

const upstream = openaiCompatible({ baseURL: 'https://up.test/v1' })
const url = (path: string, ending: string | undefined, model: string, query?: string): string =>
  callUrl(query === undefined ? upstream : { ...upstream, query }, path, ending, model).replace(
    'https://up.test/v1',
    '',
  )

describe('the URL of a call', () => {
  it.each([
    ['/chat', undefined, 'gpt-4o', undefined, '/chat'],
    ['/models', '/{model}:generate', 'gemini-x', undefined, '/models/gemini-x:generate'],
    ['/models', '/{model}:generate', 'org/gemini x', undefined, '/models/org/gemini%20x:generate'],
    ['/model', '/{id}/invoke', 'arn:aws:p/x', undefined, '/model/arn%3Aaws%3Ap%2Fx/invoke'],
    ['/deployments/{model}/chat', undefined, 'd', undefined, '/deployments/d/chat'],
    ['/a', '/{model}', '100%', undefined, '/a/100%25'],
    ['/a', '/{model}', 'x?y#z&q=1', undefined, '/a/x%3Fy%23z%26q%3D1'],
    ['/a', '/{model}', 'é\u{1f600}', undefined, '/a/%C3%A9%F0%9F%98%80'],
    ['/a', '/{model}', '$&$1', undefined, '/a/%24%26%241'],
    ['/a', '/{model}', '{id}', undefined, '/a/%7Bid%7D'],
    ['/a', '/{model}', '...', undefined, '/a/...'],
    ['/a', '/{model}', '%2e%2e', undefined, '/a/%252e%252e'],
    ['/a', '/{model}', 'a\\x', undefined, '/a/a%5Cx'],
    ['/chat', undefined, 'm', '?api-version=1', '/chat?api-version=1'],
    ['/a', '/{model}:stream?alt=sse', 'm', '?api-version=1', '/a/m:stream?alt=sse&api-version=1'],
    ['/a', '/{model}', 'what?', '?v=1', '/a/what%3F?v=1'],
  ])('is built from the path %s%s for the model %s and the query %s', (path, ending, model, query, expected) =>
    expect(url(path, ending, model, query)).toBe(expected),
  )

  it.each([
    '',
    '.',
    '..',
    '../keys',
    'a/../../keys',
    '/a',
    'a/',
    'a//b',
    'a/./b',
    '..\\keys',
    'a\\..\\keys',
    '\ud800',
    'x\udfff',
  ])('rejects a model name that leads to another path: %j', (model) => {
    for (const ending of ['/{model}:generate', '/{id}:generate'])
      expect(() => url('/models', ending, model)).toThrow(
        expect.objectContaining({ info: expect.objectContaining({ kind: 'model_not_found', param: 'model' }) }),
      )
  })

  it('shows only the beginning of a long model name in the error', () =>
    expect(() => url('/a', '/{model}', `${'x'.repeat(5000)}/..`)).toThrow(
      `The model '${'x'.repeat(100)}' does not exist.`,
    ))

  it('accepts any model name if the URL does not contain it', () => expect(url('/chat', undefined, '..')).toBe('/chat'))
})
