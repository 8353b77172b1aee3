import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { authorizeWithToken, cacheUntilExpiry } from './access-token.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Gives `t1`, `t2`, …, each good for an hour. */
function source(lifeMs = 3_600_000) {
  let count = 0
  return vi.fn(async () => ({ token: `t${++count}`, expiresAt: Date.now() + lifeMs }))
}

describe('an access token', () => {
  it('is kept until a minute before it expires', async () => {
    const get = source()
    const headers = authorizeWithToken(get)
    expect(await headers()).toEqual({ authorization: 'Bearer t1' })
    vi.advanceTimersByTime(3_539_000)
    expect(await headers()).toEqual({ authorization: 'Bearer t1' })
    vi.advanceTimersByTime(1000)
    expect(await headers()).toEqual({ authorization: 'Bearer t2' })
    expect(get).toHaveBeenCalledTimes(2)
  })

  it('is fetched once for calls at the same time, and anew for those after a bare string', async () => {
    const get = vi.fn(async () => 'bare')
    const headers = authorizeWithToken(get)
    expect(await Promise.all([headers(), headers(), headers()])).toEqual(
      Array.from({ length: 3 }, () => ({ authorization: 'Bearer bare' })),
    )
    expect(get).toHaveBeenCalledTimes(1)
    await headers()
    expect(get).toHaveBeenCalledTimes(2)
  })

  it('that is as good as expired is used, but not kept', async () => {
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
  ])('is asked for again after a failure that %s', async (_, fail) => {
    let broken = true
    const headers = authorizeWithToken(() => (broken ? fail() : 'good'))
    const both = await Promise.allSettled([headers(), headers()])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    broken = false
    expect(await headers()).toEqual({ authorization: 'Bearer good' })
  })

  it('stays in use while it cannot be renewed, until it expires', async () => {
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
  ])('%j is none, and the message says what to return', async (given, words) => {
    await expect(authorizeWithToken(() => given as string)()).rejects.toThrow(words)
  })
})
