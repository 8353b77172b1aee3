import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createCheckRunner, type ReadinessCheck } from './readiness-check.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

function runnerOf(check: ReadinessCheck, timeoutMs = 800) {
  const logged: string[] = []
  const log = (message: string): void => void logged.push(message)
  return { logged, run: createCheckRunner('redis', check, timeoutMs, { warn: log }) }
}

describe('a readiness check', () => {
  it.each<[string, ReadinessCheck, boolean]>([
    ['returns nothing', () => undefined, true],
    ['resolves', () => Promise.resolve('PONG'), true],
    ['returns false', () => false, false],
    ['resolves to false', () => Promise.resolve(false), false],
    [
      'throws',
      () => {
        throw new Error('away')
      },
      false,
    ],
    ['rejects', () => Promise.reject(new Error('away')), false],
    ['rejects with undefined', () => Promise.reject(undefined), false],
  ])('that %s has a result', async (_, check, ok) => {
    expect(await runnerOf(check).run()).toEqual({ name: 'redis', ok, durationMs: expect.any(Number) })
  })

  it('fails after its time limit, and is told to stop', async () => {
    let stopped: AbortSignal | undefined
    const { run, logged } = runnerOf(({ signal }) => {
      stopped = signal
      return new Promise(() => {})
    })
    const result = run()
    await vi.advanceTimersByTimeAsync(799)
    expect(stopped?.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await result).toEqual({ name: 'redis', ok: false, durationMs: 800 })
    expect(stopped?.aborted).toBe(true)
    expect(logged).toEqual(["modelgate: The readiness check 'redis' failed."])
  })

  it('runs once for any number of requests within a second, and again after it', async () => {
    const check = vi.fn<ReadinessCheck>()
    const { run } = runnerOf(check)
    await Promise.all(Array.from({ length: 1000 }, run))
    await vi.advanceTimersByTimeAsync(999)
    await run()
    expect(check).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(1)
    await Promise.all([run(), run()])
    expect(check).toHaveBeenCalledTimes(2)
  })

  it('does not run twice at the same time if it takes longer than a second', async () => {
    const check = vi.fn<ReadinessCheck>(() => new Promise((resolve) => setTimeout(resolve, 3000)))
    const { run } = runnerOf(check, 5000)
    const first = run()
    await vi.advanceTimersByTimeAsync(2000)
    const second = run()
    await vi.advanceTimersByTimeAsync(1000)
    expect(await first).toEqual(await second)
    expect(check).toHaveBeenCalledTimes(1)
  })

  it('logs when it begins to fail and when it passes again, and nothing in between', async () => {
    let fails = true
    const { run, logged } = runnerOf(() => (fails ? Promise.reject(new Error('away')) : 'PONG'))
    for (let count = 0; count < 3; count++) {
      await run()
      await vi.advanceTimersByTimeAsync(1000)
    }
    fails = false
    for (let count = 0; count < 3; count++) {
      await run()
      await vi.advanceTimersByTimeAsync(1000)
    }
    expect(logged).toEqual([
      "modelgate: The readiness check 'redis' failed.",
      "modelgate: The readiness check 'redis' passes again.",
    ])
  })

  it('logs nothing if it returns false', async () => {
    let result = false
    const { run, logged } = runnerOf(() => result)
    await run()
    await vi.advanceTimersByTimeAsync(1000)
    result = true
    expect(await run()).toMatchObject({ ok: true })
    expect(logged).toEqual([])
  })
})
