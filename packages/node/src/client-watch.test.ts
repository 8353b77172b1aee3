// Isolated: fakes setInterval, which the sweep of other connections in this process uses.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { WatchedClient } from './client-watch.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  // The sweep that finds nobody ends the sweeping.
  vi.advanceTimersByTime(10_000)
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

class Client extends WatchedClient {
  waiting = 0
  gone = 0
  readonly cuts: number[] = []

  constructor(limitMs: number) {
    super()
    this.watch(limitMs)
  }

  /** Takes bytes off what waits. */
  take(bytes: number): void {
    this.waiting -= bytes
    this.gone += bytes
  }

  leave(): void {
    this.unwatch()
  }

  protected unread(): number {
    return this.waiting
  }

  protected taken(): number {
    return this.gone
  }

  protected onStalled(stallMs: number): void {
    this.cuts.push(stallMs)
  }
}

describe('a client that is watched', () => {
  it('is cut once, when it has taken nothing for as long as it may', () => {
    const client = new Client(10_000)
    client.waiting = 100
    vi.advanceTimersByTime(10_000)
    expect(client.cuts).toEqual([])
    vi.advanceTimersByTime(2000)
    expect(client.cuts).toEqual([10_000])
    vi.advanceTimersByTime(60_000)
    expect(client.cuts).toEqual([10_000])
  })

  it('is not cut while there is nothing for it', () => {
    const client = new Client(1000)
    vi.advanceTimersByTime(60_000)
    expect(client.cuts).toEqual([])
    client.leave()
  })

  it('is not cut while it takes a byte now and then', () => {
    const client = new Client(10_000)
    client.waiting = 100
    for (let n = 0; n < 20; n++) {
      vi.advanceTimersByTime(8000)
      client.take(1)
    }
    expect(client.cuts).toEqual([])
    client.leave()
  })

  it('is cut though there is ever more for it', () => {
    const client = new Client(10_000)
    for (let n = 0; n < 15; n++) {
      client.waiting += 100
      vi.advanceTimersByTime(1000)
    }
    expect(client.cuts).toEqual([10_000])
  })

  it('is not cut for the time for which the process stood still', () => {
    const client = new Client(10_000)
    client.waiting = 100
    vi.advanceTimersByTime(3000)
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_600_000)
    vi.advanceTimersByTime(1000)
    expect(client.cuts).toEqual([])
    vi.mocked(performance.now).mockRestore()
    client.leave()
  })

  it('is cut by its own limit, beside others with other ones and those that have left', () => {
    const [fast, slow, left] = [new Client(1000), new Client(100_000), new Client(1000)]
    for (const client of [fast, slow, left]) client.waiting = 1
    left.leave()
    left.leave()
    vi.advanceTimersByTime(2000)
    expect([fast.cuts, slow.cuts, left.cuts]).toEqual([[1000], [], []])
    vi.advanceTimersByTime(110_000)
    expect([fast.cuts, slow.cuts, left.cuts]).toEqual([[1000], [100_000], []])
  })
})
