import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { authorizeWithToken, cacheUntilExpiry } from './access-token.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Returns `t1`, `t2`, …, each valid for an hour. */
function source(lifeMs = 3_600_000) {
  let count = 0
  return vi.fn(async () => ({ token: `t${++count}`, expiresAt: Date.now() + lifeMs }))
}

describe('access tokens', () => {
  it('caches a token until a minute before it expires', async () => {
    const get = source()
    const headers = authorizeWithToken(get)
    expect(await headers()).toEqual({ authorization: 'Bearer t1' })
    vi.advanceTimersByTime(3_539_000)
    expect(await headers()).toEqual({ authorization: 'Bearer t1' })
    vi.advanceTimersByTime(1000)
    expect(await headers()).toEqual({ authorization: 'Bearer t2' })
    expect(get).toHaveBeenCalledTimes(2)
  })

  it('fetches a token once for concurrent calls, and again after a token without an expiry', async () => {
    const get = vi.fn(async () => 'bare')
    const headers = authorizeWithToken(get)
    expect(await Promise.all([headers(), headers(), headers()])).toEqual(
      Array.from({ length: 3 }, () => ({ authorization: 'Bearer bare' })),
    )
    expect(get).toHaveBeenCalledTimes(1)
    await headers()
    expect(get).toHaveBeenCalledTimes(2)
  })

  it('uses a token that is about to expire without caching it', async () => {
    const get = source(30_000)
    const headers = authorizeWithToken(get)
    expect(await headers()).toEqual({ authorization: 'Bearer t1' })
    expect(await headers()).toEqual({ authorization: 'Bearer t2' })
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('no network'))],
    [
      'throws',
      () => {
        throw new Error('no network')
      },
    ],
  ])('requests a token again after a failure that %s', async (_, fail) => {
    let broken = true
    const headers = authorizeWithToken(() => (broken ? fail() : 'good'))
    const both = await Promise.allSettled([headers(), headers()])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    broken = false
    expect(await headers()).toEqual({ authorization: 'Bearer good' })
  })

  it('keeps using a token that cannot be renewed until it expires', async () => {
    const get = vi
      .fn<() => Promise<{ value: string; expiresAt: number }>>()
      .mockResolvedValueOnce({ value: 'first', expiresAt: Date.now() + 100_000 })
      .mockRejectedValue(new Error('down'))
    const held = cacheUntilExpiry(get)
    expect(await held()).toBe('first')
    vi.advanceTimersByTime(50_000)
    expect(await held()).toBe('first')
    vi.advanceTimersByTime(50_000)
    await expect(held()).rejects.toThrow('down')
    get.mockResolvedValueOnce({ value: 'second', expiresAt: Date.now() + 900_000 })
    expect([await held(), await held()]).toEqual(['second', 'second'])
    expect(get).toHaveBeenCalledTimes(4)
  })

  it.each([
    ['', 'returned no token'],
    [undefined, 'returned no token'],
    [{ token: '' }, 'returned no token'],
    [{ token: 'x', expiresAt: Number.NaN }, 'milliseconds since 1970'],
  ])('rejects %j as a token with a message about what to return', async (given, words) => {
    await expect(authorizeWithToken(() => given as string)()).rejects.toThrow(words)
  })
})
