import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { monotonicNow } from '../base/async.ts'
import { relayBytes } from './relay-bytes.ts'
import type { RelayEnd } from './relay-stream.ts'
import { createPump } from './response-body.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('bytes that a client does not read', () => {
  function start({ totalMs = Number.POSITIVE_INFINITY, clientStallMs = Number.POSITIVE_INFINITY }) {
    const ends: RelayEnd[] = []
    const cuts: unknown[] = []
    let isClosed = false
    const source = (async function* () {
      try {
        for (;;) yield new Uint8Array(10)
      } finally {
        isClosed = true
      }
    })()
    const startedAt = monotonicNow()
    const body = relayBytes(
      createPump(source),
      undefined,
      { idleMs: 1e6, startedAt, totalUntil: startedAt + totalMs, clientStallMs },
      new AbortController().signal,
      (end) => ends.push(end),
    )
    body.onCut = (error) => cuts.push(error)
    return { client: body[Symbol.asyncIterator](), ends, cuts, isClosed: () => isClosed }
  }

  it.each([
    ['clientStallMs', { clientStallMs: 1000 }, 'aborted', 'cancelled'],
    ['totalMs', { totalMs: 1000 }, 'failed', 'upstream_total_timeout'],
  ])('are aborted after %s and the upstream is closed', async (_, times, outcome, kind) => {
    const { client, ends, cuts, isClosed } = start(times)
    await client.next()
    await vi.advanceTimersByTimeAsync(999)
    expect(ends).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(ends).toMatchObject([{ outcome, error: { info: { kind } } }])
    expect(cuts).toMatchObject([{ info: { kind } }])
    expect(isClosed()).toBe(true)
    await expect(client.next()).rejects.toMatchObject({ info: { kind } })
    expect([ends.length, cuts.length, vi.getTimerCount()]).toEqual([1, 1, 0])
  })

  it('continue if the client reads slowly', async () => {
    const { client, ends } = start({ clientStallMs: 1000 })
    for (let n = 0; n < 10; n++) {
      await client.next()
      await vi.advanceTimersByTimeAsync(900)
    }
    await client.return?.()
    expect([ends, vi.getTimerCount()]).toEqual([[{ outcome: 'aborted' }], 0])
  })
})
