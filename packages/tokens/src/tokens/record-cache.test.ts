import { describe, expect, it } from 'vitest'
import { StorageAwayError } from '../contract/storage.ts'
import type { TokenRecord } from '../contract/token.ts'
import { createRecordCache } from './record-cache.ts'

const record = (id: string, version = 1): TokenRecord => ({
  id,
  limits: [],
  budgets: [],
  hint: 'mg-abcd',
  createdAt: 0,
  secrets: [{ digest: `digest of ${id}` }],
  version,
})

/** Creates a cache in front of a store whose results the test sets. */
function make(settings: { cacheMs?: number; staleMs?: number } = {}) {
  let time = 1_000_000
  const lookups: string[] = []
  let answer: () => TokenRecord | undefined | Promise<TokenRecord | undefined> = () => record('a')
  const cache = createRecordCache<TokenRecord>({
    lookUp(digest) {
      lookups.push(digest)
      return answer()
    },
    cacheMs: settings.cacheMs ?? 500,
    staleMs: settings.staleMs ?? 0,
    now: () => time,
  })
  return {
    cache,
    lookups,
    answers: (next: typeof answer) => {
      answer = next
    },
    pass: (ms: number) => {
      time += ms
    },
  }
}

const away = (): never => {
  throw new StorageAwayError('gone')
}

describe('a lookup result', () => {
  it('is used for cacheMs, without a promise', () => {
    const { cache, lookups, pass } = make()
    const first = cache.find('x')
    expect(first).toMatchObject({ id: 'a' })
    pass(499)
    expect(cache.find('x')).toBe(first)
    expect(lookups).toHaveLength(1)
    pass(1)
    cache.find('x')
    expect(lookups).toHaveLength(2)
  })

  it('ages from the start of the lookup, not from its end', async () => {
    const { cache, lookups, answers, pass } = make()
    let arrive = (_record: TokenRecord): void => {}
    answers(
      () =>
        new Promise((resolve) => {
          arrive = resolve
        }),
    )
    const waiting = cache.find('x')
    pass(400)
    arrive(record('a'))
    await waiting
    pass(100)
    void cache.find('x')
    expect(lookups).toHaveLength(2)
  })

  it('is returned without a promise after a late arrival', async () => {
    const { cache, answers } = make()
    answers(async () => record('a'))
    await cache.find('x')
    expect(cache.find('x')).toMatchObject({ id: 'a' })
  })

  it('is not kept longer because the clock was set back', () => {
    const { cache, lookups, pass } = make()
    cache.find('x')
    pass(-3_600_000)
    cache.find('x')
    expect(lookups).toHaveLength(2)
  })

  it('belongs to the whole digest', () => {
    const { cache, lookups } = make()
    for (const digest of ['x', 'xy', 'y', 'X']) cache.find(digest)
    expect(lookups).toEqual(['x', 'xy', 'y', 'X'])
  })

  it('for an unknown token is used for half of cacheMs', () => {
    const { cache, lookups, answers, pass } = make()
    answers(() => undefined)
    expect(cache.find('x')).toBeUndefined()
    pass(249)
    expect(cache.find('x')).toBeUndefined()
    expect(lookups).toHaveLength(1)
    pass(1)
    answers(() => record('a'))
    expect(cache.find('x')).toMatchObject({ id: 'a' })
  })

  it('for a deleted token replaces the cached token', () => {
    const { cache, answers, pass } = make({ staleMs: 60_000 })
    cache.find('x')
    pass(500)
    answers(() => undefined)
    expect(cache.find('x')).toBeUndefined()
    pass(500)
    answers(away)
    expect(() => cache.find('x')).toThrow(StorageAwayError)
  })

  it('is requested from the store each time if cacheMs is 0', () => {
    const { cache, lookups } = make({ cacheMs: 0 })
    for (let call = 0; call < 3; call++) cache.find('x')
    expect(lookups).toHaveLength(3)
  })
})

describe('concurrent callers', () => {
  it('share one lookup for each digest', async () => {
    const { cache, lookups, answers } = make()
    answers(async () => record('a'))
    await Promise.all(Array.from({ length: 100 }, (_, at) => cache.find(at % 2 === 0 ? 'x' : 'y')))
    expect(lookups).toEqual(['x', 'y'])
  })

  it('do not share a lookup older than cacheMs, nor use its result in place of the newer one', async () => {
    const { cache, lookups, answers, pass } = make()
    const given: ((found: TokenRecord) => void)[] = []
    answers(() => new Promise((resolve) => given.push(resolve)))
    const old = cache.find('x')
    pass(500)
    expect(cache.find('x')).toBe(old)
    pass(1)
    const young = cache.find('x')
    expect(young).not.toBe(old)
    expect(cache.find('x')).toBe(young)
    expect(lookups).toHaveLength(2)
    given[1]?.(record('a', 2))
    expect(await young).toMatchObject({ version: 2 })
    given[0]?.(record('a', 1))
    await old
    expect(cache.find('x')).toMatchObject({ version: 2 })
  })

  it('share a failed lookup, and the next caller repeats it', async () => {
    const { cache, lookups, answers } = make()
    answers(async () => away())
    const all = await Promise.allSettled([cache.find('x'), cache.find('x')])
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    answers(async () => record('a'))
    expect(await cache.find('x')).toMatchObject({ id: 'a' })
    expect(lookups).toHaveLength(2)
  })
})

describe('a token that this process changes', () => {
  it('is looked up again at once', () => {
    const { cache, lookups } = make()
    cache.find('x')
    cache.forget(({ id }) => id === 'b')
    cache.find('x')
    expect(lookups).toHaveLength(1)
    cache.forget(({ id }) => id === 'a')
    cache.find('x')
    expect(lookups).toHaveLength(2)
  })

  it('is not cached in its old state by a lookup in flight', async () => {
    const { cache, answers } = make()
    let arrive = (_record: TokenRecord): void => {}
    answers(
      () =>
        new Promise((resolve) => {
          arrive = resolve
        }),
    )
    const early = cache.find('x')
    cache.forget(({ id }) => id === 'a')
    answers(async () => record('a', 2))
    const delayed = cache.find('x')
    expect(await delayed).toMatchObject({ version: 2 })
    arrive(record('a', 1))
    await early
    expect(await cache.find('x')).toMatchObject({ version: 2 })
  })
})

describe('the cache while the store is unavailable', () => {
  it('accepts no token by default', () => {
    const { cache, answers, pass } = make()
    cache.find('x')
    answers(away)
    pass(500)
    expect(() => cache.find('x')).toThrow(StorageAwayError)
  })

  it.each([
    ['throws', away],
    ['rejects', async () => away()],
  ])('returns the last known result for staleMs if the store %s', async (_, fails) => {
    const { cache, answers, pass } = make({ staleMs: 2000 })
    await cache.find('x')
    answers(fails)
    pass(1999)
    expect(await cache.find('x')).toMatchObject({ id: 'a' })
    pass(1)
    await expect((async () => cache.find('x'))()).rejects.toThrow(StorageAwayError)
  })

  it('does not repeat the lookup for each call', () => {
    const { cache, lookups, answers, pass } = make({ staleMs: 60_000 })
    cache.find('x')
    answers(away)
    pass(500)
    for (let call = 0; call < 10; call++) cache.find('x')
    expect(lookups).toHaveLength(2)
    pass(500)
    cache.find('x')
    expect(lookups).toHaveLength(3)
  })

  it('reports tokens that were never looked up or were unknown as unknown', () => {
    const { cache, answers, pass } = make({ staleMs: 60_000 })
    answers(() => undefined)
    cache.find('x')
    answers(away)
    pass(500)
    for (const digest of ['x', 'y']) expect(() => cache.find(digest)).toThrow(StorageAwayError)
  })

  it('returns no old result after other failures', () => {
    const { cache, answers, pass } = make({ staleMs: 60_000 })
    cache.find('x')
    answers(() => {
      throw new TypeError('a bug')
    })
    pass(500)
    expect(() => cache.find('x')).toThrow('a bug')
  })
})

describe('the bounded size of the cache', () => {
  it('evicts the least recently used token first', () => {
    const { cache, lookups } = make()
    for (let at = 0; at < 10_000; at++) cache.find(`x${at}`)
    cache.find('x0')
    cache.find('one more')
    lookups.length = 0
    cache.find('x0')
    expect(lookups).toEqual([])
    cache.find('x1')
    expect(lookups).toEqual(['x1'])
  })

  it('evicts no token in favor of unknown ones', () => {
    const { cache, lookups, answers } = make()
    cache.find('x')
    answers(() => undefined)
    for (let at = 0; at < 20_000; at++) cache.find(`none ${at}`)
    lookups.length = 0
    expect(cache.find('x')).toMatchObject({ id: 'a' })
    expect(lookups).toEqual([])
    cache.find('none 0')
    expect(lookups).toEqual(['none 0'])
  })
})
