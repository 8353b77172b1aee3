import { describe, expect, it } from 'vitest'
import type { Settlement } from '../../contract/meter-store.ts'
import { StorageAwayError } from '../../contract/storage.ts'
import { createBacklog, maxBacklog } from './backlog.ts'

const settlement = (n: number): Settlement => ({ callId: `call-${n}`, tokenId: 't', at: undefined, meters: [] })

const make = () => {
  const redis: { fails: (callId: string) => Error | undefined } = { fails: () => undefined }
  const [written, dropped, logged]: [string[], string[], string[]] = [[], [], []]
  const backlog = createBacklog({
    write: async ({ callId }) => {
      const error = redis.fails(callId)
      if (error !== undefined) throw error
      written.push(callId)
    },
    onDrop: ({ callId }) => dropped.push(callId),
    warn: (message) => logged.push(message),
  })
  return { redis, backlog, written, dropped, logged }
}
const away = new StorageAwayError('away')

describe('settlements', () => {
  it('are written at once while Redis is available', async () => {
    const { backlog, written } = make()
    await backlog.add(settlement(1), true)
    expect([written, backlog.size()]).toEqual([['call-1'], 0])
  })

  it('are queued while it is unavailable, and written in order', async () => {
    const { redis, backlog, written, logged } = make()
    redis.fails = () => away
    await backlog.add(settlement(1), true)
    await backlog.add(settlement(2), false)
    for (let n = 3; n <= 250; n++) await backlog.add(settlement(n), false)
    expect([written, backlog.size()]).toEqual([[], 250])
    redis.fails = () => undefined
    await backlog.flush()
    expect(written).toEqual(Array.from({ length: 250 }, (_, n) => `call-${n + 1}`))
    expect([backlog.size(), logged]).toEqual([0, ['250 waiting settlements were written to Redis']])
  })

  it('are counted in words that fit one of them', async () => {
    const { backlog, logged } = make()
    await backlog.add(settlement(1), false)
    await backlog.flush()
    expect(logged).toEqual(['1 waiting settlement was written to Redis'])
  })

  it('stay queued if Redis becomes unavailable during the flush', async () => {
    const { redis, backlog, written } = make()
    for (let n = 1; n <= 3; n++) await backlog.add(settlement(n), false)
    redis.fails = (callId) => (callId === 'call-2' ? away : undefined)
    await backlog.flush()
    expect([written, backlog.size()]).toEqual([['call-1', 'call-3'], 1])
    redis.fails = () => undefined
    await backlog.flush()
    expect([written, backlog.size()]).toEqual([['call-1', 'call-3', 'call-2'], 0])
  })

  it('are written even if Redis recovers before the first attempt has failed', async () => {
    const { redis, backlog, written } = make()
    await backlog.add(settlement(1), false)
    redis.fails = () => away
    const first = backlog.flush()
    redis.fails = () => undefined
    await Promise.all([first, backlog.flush()])
    expect([written, backlog.size()]).toEqual([['call-1'], 0])
  })

  it('are dropped with a warning, oldest first, if too many are queued', async () => {
    const { backlog, written, dropped, logged } = make()
    for (let n = 1; n <= maxBacklog + 3; n++) await backlog.add(settlement(n), false)
    expect([backlog.size(), dropped]).toEqual([maxBacklog, ['call-1', 'call-2', 'call-3']])
    expect(logged).toEqual([expect.stringMatching(/^More than 10000 settlements wait/)])
    await backlog.flush()
    expect([written.length, written[0]]).toEqual([maxBacklog, 'call-4'])
    expect(logged[1]).toBe('10000 waiting settlements were written to Redis; 3 were dropped and are not counted')
  })

  it('that only cancel a reservation never displace the usage of a call', async () => {
    const { backlog, written, dropped } = make()
    const add = { calls: 1, inputTokens: 0, cachedTokens: 0, outputTokens: 0, cost: 0, unpriced: 0 }
    const real = (n: number): Settlement => ({ ...settlement(n), sums: { day: '2026-11-21', model: 'm', add } })
    for (let n = 1; n <= 50; n++) await backlog.add(real(n), false)
    for (let n = 51; n <= maxBacklog + 100; n++) await backlog.add(settlement(n), false)
    expect([backlog.size(), dropped.length, dropped[0]]).toEqual([maxBacklog, 100, 'call-51'])
    for (let n = 0; n < maxBacklog; n++) await backlog.add(real(100_000 + n), false)
    // The settlements with usage were queued first, and are now the oldest of their kind.
    expect([dropped.length, dropped.slice(-50)]).toEqual([
      100 + maxBacklog,
      Array.from({ length: 50 }, (_, n) => `call-${n + 1}`),
    ])
    await backlog.add(settlement(200_000), false)
    expect(dropped.at(-1)).toBe('call-200000')
    await backlog.flush()
    expect([written.length, written[0]]).toEqual([maxBacklog, 'call-100000'])
  })

  it('that Redis rejects are not retried forever', async () => {
    const { redis, backlog, written, dropped, logged } = make()
    for (let n = 1; n <= 3; n++) await backlog.add(settlement(n), false)
    redis.fails = (callId) => (callId === 'call-2' ? new Error('WRONGTYPE') : undefined)
    await backlog.flush()
    expect([written, dropped, backlog.size()]).toEqual([['call-1', 'call-3'], ['call-2'], 0])
    expect(logged[0]).toMatch(/^The settlement of call call-2 was rejected by Redis/)
  })
})
