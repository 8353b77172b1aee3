// Isolated: fakes setInterval, which the sweep of other connections in this process uses.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { WatchedClient } from './watched-client.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  // A sweep over an empty list stops the timer.
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

  /** Receives some of the buffered bytes. */
  take(bytes: number): void {
    this.waiting -= bytes
    this.gone += bytes
  }

  leave(): void {
    this.unwatch()
  }

  protected pendingBytes(): number {
    return this.waiting
  }

  protected progress(): number {
    return this.gone
  }

  protected onStalled(stallMs: number): void {
    this.cuts.push(stallMs)
  }
}

describe('a watched client', () => {
  it('is closed once, when it has read nothing for its time limit', () => {
    const client = new Client(10_000)
    client.waiting = 100
    vi.advanceTimersByTime(10_000)
    expect(client.cuts).toEqual([])
    vi.advanceTimersByTime(2000)
    expect(client.cuts).toEqual([10_000])
    vi.advanceTimersByTime(60_000)
    expect(client.cuts).toEqual([10_000])
  })

  it('is not closed while no bytes are buffered for it', () => {
    const client = new Client(1000)
    vi.advanceTimersByTime(60_000)
    expect(client.cuts).toEqual([])
    client.leave()
  })

  it('is not closed while it reads a byte from time to time', () => {
    const client = new Client(10_000)
    client.waiting = 100
    for (let n = 0; n < 20; n++) {
      vi.advanceTimersByTime(8000)
      client.take(1)
    }
    expect(client.cuts).toEqual([])
    client.leave()
  })

  it('is closed even if more bytes keep arriving for it', () => {
    const client = new Client(10_000)
    for (let n = 0; n < 15; n++) {
      client.waiting += 100
      vi.advanceTimersByTime(1000)
    }
    expect(client.cuts).toEqual([10_000])
  })

  it('is not closed for a time in which the process was paused', () => {
    const client = new Client(10_000)
    client.waiting = 100
    vi.advanceTimersByTime(3000)
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_600_000)
    vi.advanceTimersByTime(1000)
    expect(client.cuts).toEqual([])
    vi.mocked(performance.now).mockRestore()
    client.leave()
  })

  it('is closed by its own limit, whatever other clients do', () => {
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
