import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Command } from './client.ts'
import { createProcesses, presenceMs } from './processes.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Process counter on a fake Redis that returns a configurable number. */
const make = () => {
  const redis: { alive: number | Error } = { alive: 1 }
  let announced = 0
  const command: Command = async () => {
    announced++
    if (redis.alive instanceof Error) throw redis.alive
    return redis.alive
  }
  const processes = createProcesses('processes', 'id', (work) => work(command))
  return { redis, command, processes, announced: () => announced }
}

describe('the number of processes', () => {
  it('is unknown before Redis is reached', async () => {
    const { redis, processes } = make()
    expect(processes.count()).toBeUndefined()
    redis.alive = new Error('Socket closed')
    processes.touch()
    await vi.advanceTimersByTimeAsync(10)
    expect(processes.count()).toBeUndefined()
    processes.close()
  })

  it('is updated with calls at intervals, and without calls every five seconds', async () => {
    const { processes, announced } = make()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(announced()).toBe(0)
    for (let n = 0; n < 100; n++) {
      processes.touch()
      await vi.advanceTimersByTimeAsync(10)
    }
    expect(announced()).toBe(4)
    await vi.advanceTimersByTimeAsync(10 * presenceMs)
    expect(announced()).toBe(14)
    processes.close()
    await vi.advanceTimersByTimeAsync(10 * presenceMs)
    expect(announced()).toBe(14)
  })

  it('rises at once, and falls some time after the other processes end', async () => {
    const { redis, command, processes } = make()
    for (const [alive, count] of [
      [2, 2],
      [5, 5],
      [1, 5],
    ]) {
      redis.alive = alive ?? 0
      await processes.announce(command)
      expect(processes.count()).toBe(count)
    }
    await vi.advanceTimersByTimeAsync(3 * presenceMs - 1)
    await processes.announce(command)
    expect(processes.count()).toBe(5)
    await vi.advanceTimersByTimeAsync(1)
    await processes.announce(command)
    expect(processes.count()).toBe(1)
  })

  it('stays unchanged while Redis does not respond', async () => {
    const { redis, command, processes } = make()
    redis.alive = 3
    await processes.announce(command)
    redis.alive = new Error('Socket closed')
    processes.touch()
    await vi.advanceTimersByTimeAsync(10 * presenceMs)
    expect(processes.count()).toBe(3)
    processes.close()
  })
})
