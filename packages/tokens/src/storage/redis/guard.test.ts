import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { StorageAwayError } from '../../contract/storage.ts'
import type { Command } from './client.ts'
import { createGuard } from './guard.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A fake Redis that replies, fails or stays silent, as set by the test. */
const make = () => {
  const redis: { does: 'answer' | 'fail' | 'nothing' } = { does: 'answer' }
  const sent: string[] = []
  const logged: string[] = []
  const command: Command = (_, args) => {
    sent.push(args.join(' '))
    if (redis.does === 'nothing') return new Promise(() => {})
    return redis.does === 'fail' ? Promise.reject(new Error('Socket closed')) : Promise.resolve(args[0])
  }
  const guard = createGuard({
    command,
    timeoutMs: 100,
    probe: (send) => send('', ['PING']),
    onAway: (reason) => logged.push(`away: ${reason}`),
    onBack: (ms, refused) => logged.push(`back after ${ms}, ${refused} refused`),
  })
  const get = () => guard.run((send) => send('k', ['GET']))
  /** Returns the outcome of a call after a while. */
  const outcome = async (): Promise<string> => {
    const end = get().then(String, (error: unknown) => (error instanceof StorageAwayError ? 'away' : String(error)))
    await vi.advanceTimersByTimeAsync(150)
    return Promise.race([end, Promise.resolve('still waiting')])
  }
  return { redis, sent, logged, guard, get, outcome }
}

describe('a guard', () => {
  it('returns the replies of Redis', async () => {
    const { get, guard, sent } = make()
    expect(await get()).toBe('GET')
    expect(guard.awayMs()).toBeUndefined()
    expect(sent).toEqual(['GET'])
  })

  it.each(['fail', 'nothing'] as const)('marks Redis as unavailable when its behavior is: %s', async (does) => {
    const { redis, outcome, guard, logged } = make()
    redis.does = does
    expect(await outcome()).toBe('away')
    expect(guard.awayMs()).toBeGreaterThan(0)
    expect(logged).toEqual([does === 'fail' ? 'away: Socket closed' : 'away: no response within 100 ms'])
  })

  it('waits for all commands of one call no longer than for one', async () => {
    let steps = 0
    const slow: Command = () =>
      new Promise((resolve) => {
        steps++
        setTimeout(resolve, 60)
      })
    const guard = createGuard({
      command: slow,
      timeoutMs: 100,
      probe: () => new Promise(() => {}),
      onAway: () => {},
      onBack: () => {},
    })
    const failure = guard
      .run(async (send) => {
        await send('k', ['1'])
        await send('k', ['2'])
        await send('k', ['3'])
      })
      .catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(110)
    expect(await failure).toBeInstanceOf(StorageAwayError)
    await vi.advanceTimersByTimeAsync(500)
    // No more commands are sent for a call that was reported as failed.
    expect(steps).toBe(2)
    guard.close()
  })

  it('fails at once while Redis is unavailable, and sends only probes', async () => {
    const { redis, outcome, get, sent } = make()
    redis.does = 'fail'
    await outcome()
    sent.length = 0
    await expect(get()).rejects.toThrow(StorageAwayError)
    expect(sent).toEqual([])
    await vi.advanceTimersByTimeAsync(1000)
    expect(sent).toEqual(['PING', 'PING', 'PING', 'PING'])
  })

  it('retries once, 50 ms after a failure', async () => {
    const { redis, get, sent, logged } = make()
    redis.does = 'fail'
    const answer = get()
    await vi.advanceTimersByTimeAsync(40)
    redis.does = 'answer'
    await vi.advanceTimersByTimeAsync(20)
    expect(await answer).toBe('GET')
    expect(sent).toEqual(['GET', 'GET'])
    expect(logged).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('does not repeat non-idempotent work', async () => {
    const { redis, guard, sent } = make()
    redis.does = 'fail'
    await expect(guard.run((send) => send('k', ['SET']), { repeatable: false })).rejects.toThrow(/Socket closed/)
    expect(sent).toEqual(['SET', 'PING'])
    guard.close()
  })

  it('has a separate limit for commands, and a longer one until Redis has been reached once', async () => {
    const guard = createGuard({
      command: (_, [ms]) => new Promise((resolve) => setTimeout(() => resolve(ms), Number(ms))),
      timeoutMs: 100,
      commandMs: 1000,
      connectMs: 400,
      probe: () => new Promise(() => {}),
      onAway: () => {},
      onBack: () => {},
    })
    const take = async (ms: number, limit: 'admission' | 'command'): Promise<unknown> => {
      const outcome = guard.run((send) => send('k', [String(ms)]), { limit }).catch((error: unknown) => String(error))
      await vi.advanceTimersByTimeAsync(2000)
      return outcome
    }
    expect(await take(350, 'admission')).toBe('350')
    expect(await take(900, 'command')).toBe('900')
    expect(await take(350, 'admission')).toContain('no response within 100 ms')
    guard.close()
  })

  it('sends one probe at a time, and repeats a lost one after five seconds', async () => {
    const { redis, outcome, sent } = make()
    redis.does = 'nothing'
    await outcome()
    await vi.advanceTimersByTimeAsync(4000)
    expect(sent).toEqual(['GET', 'PING'])
    await vi.advanceTimersByTimeAsync(2000)
    expect(sent).toEqual(['GET', 'PING', 'PING'])
  })

  it('marks Redis as available with the first successful probe', async () => {
    const { redis, outcome, get, logged, guard } = make()
    redis.does = 'fail'
    await outcome()
    await vi.advanceTimersByTimeAsync(850)
    redis.does = 'answer'
    await vi.advanceTimersByTimeAsync(250)
    expect(logged[1]).toMatch(/^back after 1\d\d\d.*, 1 refused$/)
    expect(guard.awayMs()).toBeUndefined()
    expect(await get()).toBe('GET')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('passes errors of the work and error replies on without marking Redis as unavailable', async () => {
    const { guard } = make()
    await expect(guard.run(async () => Promise.reject(new Error('exists already')))).rejects.toThrow('exists already')
    const refusing = createGuard({
      command: () => Promise.reject(new Error('WRONGTYPE Operation against a key')),
      timeoutMs: 100,
      probe: async () => {},
      onAway: () => expect.unreachable(),
      onBack: () => {},
    })
    await expect(refusing.run((send) => send('k', ['GET']))).rejects.toThrow(/^WRONGTYPE/)
    expect(refusing.awayMs()).toBeUndefined()
  })

  it('rejects work after close, and clears all timers', async () => {
    const { redis, outcome, guard, get } = make()
    redis.does = 'fail'
    await outcome()
    guard.close()
    await expect(get()).rejects.toThrow(/closed/)
    expect(vi.getTimerCount()).toBe(0)
  })
})
