import { describe, expect, it } from 'vitest'
import { createCanceller } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import { openaiCompatible } from './openai-compatible.ts'
import { headersTo, ownHeaders, recentCredentials, withCredentials } from './request-headers.ts'
import type { OutgoingCall, Upstream } from './upstream.ts'

const plain = openaiCompatible({ baseURL: 'http://up.test/v1', apiKey: 'one', headers: { 'X-Org': 'o' } })
const pooled: Upstream = {
  ...openaiCompatible({ baseURL: 'http://up.test/v1', apiKey: ['one', 'two'] }),
  passHeaders: ['anthropic-beta', 'x-trace'],
}
const none = () => undefined

describe('the headers of a call', () => {
  it('are the upstream’s, with what every call has', () =>
    expect(headersTo(plain, undefined, false, none)).toEqual({
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      authorization: 'Bearer one',
      'x-org': 'o',
    }))

  it('ask for events where a stream is wanted', () => {
    expect(headersTo(plain, undefined, true, none)).toMatchObject({ accept: 'text/event-stream' })
    expect(headersTo(plain, undefined, false, none)).not.toHaveProperty('accept')
  })

  it.each([
    [0, 'Bearer one'],
    [1, 'Bearer two'],
    [undefined, 'Bearer one'],
  ])('carry the credential of key %s', (key, authorization) => {
    for (const stream of [true, false]) expect(headersTo(pooled, key, stream, none).authorization).toBe(authorization)
    expect(ownHeaders(pooled, key).authorization).toBe(authorization)
  })

  it('pass on those of the client’s that the upstream names, and no others', () => {
    const client: Record<string, string> = { 'anthropic-beta': 'b', authorization: 'Bearer client', cookie: 'c' }
    const headers = headersTo(pooled, 1, false, (name) => client[name])
    expect(headers).toMatchObject({ 'anthropic-beta': 'b', authorization: 'Bearer two' })
    expect(Object.keys(headers)).not.toContain('cookie')
    expect(Object.keys(headers)).not.toContain('x-trace')
    // The next call is another client's.
    expect(Object.keys(headersTo(pooled, 1, false, none))).not.toContain('anthropic-beta')
  })

  it('are the configuration’s where it sets one that the gateway sets too', () => {
    const own = openaiCompatible({
      baseURL: 'http://up.test/v1',
      apiKey: 'one',
      headers: { Authorization: 'Basic x', 'Accept-Encoding': 'gzip', Accept: 'text/plain' },
    })
    expect(headersTo(own, undefined, true, none)).toEqual({
      'content-type': 'application/json',
      'accept-encoding': 'gzip',
      accept: 'text/plain',
      authorization: 'Basic x',
    })
  })
})

describe('what is made for a call alone', () => {
  const never = createCanceller()
  const call = { method: 'POST', url: 'http://up.test/v1/chat', headers: { a: '1', authorization: 'Bearer one' } }

  it('is nothing where the upstream makes nothing', async () =>
    expect(await withCredentials(plain, { ...call, body: 'x' }, never)).toBe(call.headers))

  it.each<[string, Parameters<typeof withCredentials>[1]['body'], OutgoingCall['body']]>([
    ['text', '{}', '{}'],
    ['bytes', new Uint8Array([1]), new Uint8Array([1])],
    ['none', undefined, undefined],
    [
      'an upload',
      (async function* () {
        yield new Uint8Array([1])
      })(),
      undefined,
    ],
  ])('sees the call as it is about to be sent (%s), and goes before its other headers', async (_, body, seen) => {
    const calls: OutgoingCall[] = []
    const upstream: Upstream = {
      ...plain,
      authorize(given) {
        calls.push(given)
        return { authorization: 'Signed 1' }
      },
    }
    expect(await withCredentials(upstream, { ...call, body }, never)).toEqual({ a: '1', authorization: 'Signed 1' })
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
  ])('that %s is our own fault, and why stays in the process', async (_, authorize) => {
    const error = await withCredentials({ ...plain, authorize }, { ...call, body: '{}' }, never).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(GatewayError)
    expect(error).toMatchObject({
      info: {
        kind: 'upstream_auth',
        status: 502,
        message: "The gateway's own credentials for the upstream could not be had; this is not about your token.",
      },
      cause: new Error('secret token sk-1'),
    })
    expect(JSON.stringify((error as GatewayError).info)).not.toContain('secret')
  })

  it('is waited for only as long as the call lasts', async () => {
    const signal = createCanceller()
    const hanging = withCredentials({ ...plain, authorize: () => new Promise(() => {}) }, { ...call, body: '' }, signal)
    signal.abort()
    await expect(hanging).rejects.toMatchObject({ info: { kind: 'upstream_auth' } })
  })
})
