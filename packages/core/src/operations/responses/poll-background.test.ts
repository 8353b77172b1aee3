import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createCanceller } from '../../base/async.ts'
import type { GatewayContext } from '../../calls/call.ts'
import type { PollingCall } from '../stored-responses.ts'
import { pollBackground } from './poll-background.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** A gateway that polls responses of one owner. `read` is its response store. */
function setUp(read: () => Promise<undefined> = async () => undefined) {
  const warnings: string[] = []
  const logger = { warn: (text: string) => void warnings.push(text), error() {} }
  const polledByOwner: GatewayContext['polledByOwner'] = new Map()
  const shared = { logger, polledByOwner, closing: createCanceller() }
  const poll = (id: string): void =>
    pollBackground({ id, shared, records: { owner: 'alice', response: read } } as unknown as PollingCall)
  return { poll, warnings, polledByOwner }
}

describe('the polling of background responses', () => {
  it('is limited to 1,000 responses of a caller, warns once, and continues when there is room again', async () => {
    const { poll, warnings, polledByOwner } = setUp()
    polledByOwner.set('alice', { count: 998, hasWarned: false })
    for (let n = 0; n < 5; n++) poll(`resp_${n}`)
    expect(polledByOwner.get('alice')?.count).toBe(1_000)
    expect(warnings).toEqual([expect.stringMatching(/not polling background response 'resp_2': 1,000 responses/)])
    await vi.advanceTimersByTimeAsync(5_000)
    expect(polledByOwner.get('alice')?.count).toBe(998)
    poll('resp_5')
    expect(polledByOwner.get('alice')?.count).toBe(999)
  })

  it('counts the responses of each gateway separately', () => {
    const [first, second] = [setUp(), setUp()]
    first.polledByOwner.set('alice', { count: 1_000, hasWarned: false })
    second.poll('resp_1')
    expect([first.warnings, second.warnings, second.polledByOwner.get('alice')?.count]).toEqual([[], [], 1])
  })

  it('ends after a day with a warning if the store fails each time', async () => {
    let reads = 0
    const { poll, warnings, polledByOwner } = setUp(async () => {
      reads++
      throw new Error('unavailable')
    })
    poll('resp_1')
    await vi.advanceTimersByTimeAsync(25 * 3_600_000)
    expect(warnings).toEqual([expect.stringMatching(/gave up on background response 'resp_1' after 24 hours/)])
    expect(polledByOwner.size).toBe(0)
    const atEnd = reads
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(reads).toBe(atEnd)
  })
})
