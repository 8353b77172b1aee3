import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createCanceller } from '../../base/async.ts'
import type { GatewayContext } from '../../calls/call.ts'
import { createGateway } from '../../gateway/create-gateway.ts'
import { openai } from '../../upstreams/openai.ts'
import type { PollingCall } from '../stored-responses.ts'
import { checkPolled, pollBackground } from './poll-background.ts'
import { PollTurns } from './poll-turns.ts'
import { memoryResponseStore } from './store.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  // The middle of the random spread.
  vi.spyOn(Math, 'random').mockReturnValue(0.5)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const endsOf = (count: number) => new Map(Array.from({ length: count }, (_, n) => [`other_${n}`, () => {}]))

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

it('the 1,001st background response of a caller gets a 429 until one of them is settled', async () => {
  const ended = new Set<string>()
  let created = 0
  const fetch = async (url: string, { method }: RequestInit) => {
    const id = method === 'POST' ? `resp_${++created}` : url.slice(url.lastIndexOf('/') + 1)
    return Response.json({ id, object: 'response', status: ended.has(id) ? 'failed' : 'queued', output: [] })
  }
  await using gateway = createGateway({
    auth: (token) => ({ id: token }),
    upstreams: { up: openai({ apiKey: 'key', baseURL: 'http://up/v1', formats: ['responses'] }) },
    models: { m: 'up' },
    responses: { store: memoryResponseStore() },
    logger: false,
    fetch: fetch as typeof globalThis.fetch,
  })
  const call = (method: string, path: string, body?: object, token = 'alice'): Promise<Response> =>
    gateway.fetch(`http://gw/v1/responses${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  const begin = (token?: string) => call('POST', '', { model: 'm', input: 'hi', background: true }, token)
  const statuses = await Promise.all(Array.from({ length: 1_000 }, async () => (await begin()).status))
  expect(new Set(statuses)).toEqual(new Set([200]))
  const refused = await begin()
  expect([refused.status, refused.headers.get('retry-after'), created]).toEqual([429, '30', 1_000])
  expect((await refused.json()).error).toMatchObject({ param: 'background', message: expect.stringContaining('1,000') })
  expect((await begin('bob')).status).toBe(200)
  ended.add('resp_7')
  expect((await call('GET', '/resp_7')).status).toBe(200)
  expect([(await begin()).status, (await begin()).status]).toEqual([200, 429])
})

describe('the polling of background responses', () => {
  it('is limited to 1,000 responses of a caller, warns once, and continues when there is room again', async () => {
    const { poll, warnings, polledByOwner } = setUp()
    polledByOwner.set('alice', { ends: endsOf(998), hasWarned: false })
    for (let n = 0; n < 5; n++) poll(`resp_${n}`)
    expect(polledByOwner.get('alice')?.ends.size).toBe(1_000)
    expect(warnings).toEqual([expect.stringMatching(/not polling background response 'resp_2': 1,000 responses/)])
    await vi.advanceTimersByTimeAsync(5_000)
    expect(polledByOwner.get('alice')?.ends.size).toBe(998)
    poll('resp_5')
    expect(polledByOwner.get('alice')?.ends.size).toBe(999)
  })

  it('counts the responses of each gateway separately', () => {
    const [first, second] = [setUp(), setUp()]
    first.polledByOwner.set('alice', { ends: endsOf(1_000), hasWarned: false })
    second.poll('resp_1')
    expect([first.warnings, second.warnings, second.polledByOwner.get('alice')?.ends.size]).toEqual([[], [], 1])
  })

  it('is spread at random, by a fifth of each pause', async () => {
    let reads = 0
    const { poll } = setUp(async () => {
      reads++
      return undefined
    })
    vi.mocked(Math.random).mockReturnValue(0).mockReturnValueOnce(1)
    poll('late')
    poll('early')
    await vi.advanceTimersByTimeAsync(4_000)
    expect(reads).toBe(1)
    await vi.advanceTimersByTimeAsync(1_999)
    expect(reads).toBe(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(reads).toBe(2)
  })

  it('rejects further background requests of a caller with 1,000 that have not ended', () => {
    const { polledByOwner } = setUp()
    const ends = endsOf(999)
    polledByOwner.set('alice', { ends, hasWarned: false })
    checkPolled({ polledByOwner }, 'alice')
    ends.set('last', () => {})
    expect(() => checkPolled({ polledByOwner }, 'alice')).toThrow(/^You have 1,000 background responses/)
    checkPolled({ polledByOwner }, 'bob')
  })

  it('runs 32 requests at a time, and those that wait of each caller in turn', async () => {
    const turns = new PollTurns()
    const started: string[] = []
    const ends: (() => void)[] = []
    const start = (owner: string, id: string) =>
      turns.run(owner, () => {
        started.push(id)
        return new Promise<void>((resolve) => ends.push(resolve))
      })
    const polls = Array.from({ length: 40 }, (_, n) => start('alice', `a${n}`))
    polls.push(start('bob', 'b0'), start('bob', 'b1'))
    expect(started).toHaveLength(32)
    const failing = turns.run('carol', () => Promise.reject(new Error('unavailable')))
    const failed = expect(failing).rejects.toThrow('unavailable')
    while (ends.length > 0) {
      ends.shift()?.()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all([...polls, failed])
    expect(started.slice(32)).toEqual(['a32', 'b0', 'a33', 'b1', 'a34', 'a35', 'a36', 'a37', 'a38', 'a39'])
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
