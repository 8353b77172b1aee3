import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Strategy } from '../config/config.ts'
import { openaiCompatible } from '../upstreams/openai-compatible.ts'
import { createLatencies } from './health/health.ts'
import { orderByStrategy } from './order-targets.ts'
import type { ResolvedTarget } from './router.ts'

afterEach(() => void vi.useRealTimers())

const upstream = openaiCompatible({ baseURL: 'http://up.test/v1' })
/** `a`, `a*3` with a weight, `a@1` with a priority. */
const target = (text: string): ResolvedTarget => {
  const [, id = '', weight = '1', priority = '0'] = /^(\w+)(?:\*([\d.]+))?(?:@(-?\d+))?$/.exec(text) ?? []
  return { id, upstreamName: id, upstream, model: 'm', weight: Number(weight), priority: Number(priority) }
}
const arranged = (
  targets: readonly string[],
  strategy: Strategy,
  {
    latencies = createLatencies(),
    affinity,
  }: { latencies?: ReturnType<typeof createLatencies>; affinity?: string } = {},
): string[][] =>
  orderByStrategy(targets.map(target), strategy, { latencies, stream: true, affinity }).map((group) =>
    group.map(({ id }) => id),
  )

const counted = (count: number, call: (at: number) => string | undefined): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (let at = 0; at < count; at++) {
    const name = call(at) ?? 'none'
    counts[name] = (counts[name] ?? 0) + 1 / count
  }
  return counts
}

describe('priorities', () => {
  it.each([
    ['keep a single target', ['a'], [['a']]],
    ['return no groups without targets', [], []],
    ['put the lowest number first', ['a@2', 'b', 'c@-1', 'd@2'], [['c'], ['b'], ['a', 'd']]],
    ['form one group by default', ['a', 'b', 'c'], [['a', 'b', 'c']]],
  ])('%s', (_, targets, groups) => expect(arranged(targets, 'order')).toEqual(groups))

  it.each(['order', 'weighted', 'fastest', 'sticky'] as const)('hold for the strategy %s', (strategy) => {
    const groups = arranged(['a@1', 'b@0', 'c@1', 'd@0'], strategy, { affinity: 'k' })
    expect(groups.map((group) => group.toSorted())).toEqual([
      ['b', 'd'],
      ['a', 'c'],
    ])
  })
})

describe('weighted', () => {
  it('selects the first and the following targets in proportion to their weights', () => {
    const first: string[] = []
    const second: string[] = []
    for (let at = 0; at < 20_000; at++) {
      const [[one = '', two = ''] = []] = arranged(['a*5', 'b*3', 'c*2'], 'weighted')
      first.push(one)
      if (one === 'a') second.push(two)
    }
    const shares = counted(first.length, (at) => first[at])
    for (const [id, share] of Object.entries({ a: 0.5, b: 0.3, c: 0.2 }))
      expect(Math.abs((shares[id] ?? 0) - share), id).toBeLessThan(0.03)
    expect(Math.abs((counted(second.length, (at) => second[at]).b ?? 0) - 0.6)).toBeLessThan(0.03)
  })

  it('returns every target exactly once', () => {
    for (let at = 0; at < 50; at++)
      expect(arranged(['a*1000', 'b*0.001', 'c'], 'weighted')[0]?.toSorted()).toEqual(['a', 'b', 'c'])
  })
})

describe('sticky', () => {
  it('returns the same order for the same affinity and respects weights', () => {
    const orderOf = (at: number) => arranged(['a*3', 'b'], 'sticky', { affinity: `session ${at}` })
    expect(orderOf(7)).toEqual(orderOf(7))
    const shares = counted(4000, (at) => orderOf(at)[0]?.[0])
    expect(Math.abs((shares.a ?? 0) - 0.75)).toBeLessThan(0.03)
  })

  it('uses weights for a call without an affinity', () => {
    const shares = counted(8000, () => arranged(['a*3', 'b'], 'sticky')[0]?.[0])
    expect(Math.abs((shares.a ?? 0) - 0.75)).toBeLessThan(0.03)
  })
})

describe('fastest', () => {
  it('orders targets by their last measurements and keeps the configured order of equal ones', () => {
    const latencies = createLatencies()
    for (const [id, ms] of Object.entries({ a: 300, b: 100, c: 200, d: 100 })) latencies.record(id, true, ms)
    expect(arranged(['a', 'b', 'c', 'd'], 'fastest', { latencies })).toEqual([['b', 'd', 'c', 'a']])
  })

  it('sends one call to each unmeasured target and the next calls to the others', () => {
    const latencies = createLatencies()
    const firsts = [1, 2, 3].map(() => arranged(['a', 'b', 'c'], 'fastest', { latencies })[0]?.[0])
    expect(firsts).toEqual(['a', 'b', 'c'])
    latencies.record('b', true, 50)
    expect(arranged(['a', 'b', 'c'], 'fastest', { latencies })).toEqual([['b', 'a', 'c']])
  })

  it('sends one call per minute to slow targets', () => {
    vi.useFakeTimers({ now: 1_000_000 })
    const latencies = createLatencies()
    latencies.record('a', true, 900)
    latencies.record('b', true, 100)
    vi.advanceTimersByTime(30_000)
    latencies.record('b', true, 100)
    vi.advanceTimersByTime(30_000)
    const firsts = [1, 2, 3].map(() => arranged(['a', 'b'], 'fastest', { latencies })[0]?.[0])
    expect(firsts).toEqual(['a', 'b', 'b'])
  })
})
