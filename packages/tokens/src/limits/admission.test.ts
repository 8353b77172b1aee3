import { type Admission, GatewayError } from '@modelgate/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { MeterState, MeterStore, ReserveResult, Settlement } from '../contract/meter-store.ts'
import { StorageAwayError } from '../contract/storage.ts'
import { createPrices } from '../prices/prices.ts'
import { createMemoryMeters } from '../storage/memory/meters.ts'
import { type AdmissionOptions, createAdmission } from './admission.ts'
import { callOf, endOf, tokenWith, took } from './call.test-support.ts'
import { metersOf } from './token-meters.ts'

const noon = Date.UTC(2026, 10, 21, 12)
beforeEach(() => void vi.useFakeTimers({ now: noon }))
afterEach(() => void vi.useRealTimers())

const prices = createPrices({ models: { 'gpt-5': { input: 10, output: 20 } } })

function setUp(settings: Parameters<typeof tokenWith>[0], options: Partial<AdmissionOptions> = {}) {
  const meters = options.meters ?? createMemoryMeters()
  const logged: unknown[] = []
  const logger = { warn: (...all: unknown[]) => logged.push(all), error: (...all: unknown[]) => logged.push(all) }
  const admission = createAdmission({ meters, prices, logger, ...options })
  const token = tokenWith(settings)
  let calls = 0
  const admit = (more: Parameters<typeof callOf>[1] = {}, id = `req_${++calls}`) =>
    admission.admit({ token }, callOf(id, more)) as Admission
  const refused = (more: Parameters<typeof callOf>[1] = {}): GatewayError => {
    try {
      admit(more)
    } catch (error) {
      if (error instanceof GatewayError) return error
      throw error
    }
    return expect.fail('the call was accepted')
  }
  const used = () => {
    const states = meters.read(
      token.id,
      metersOf(token).map(({ meter }) => meter),
    ) as readonly MeterState[]
    return Object.fromEntries(
      states.map(({ name, used }) => [
        name.startsWith('concurrent') ? 'concurrent' : (name.split(':').at(-1) ?? ''),
        used,
      ]),
    )
  }
  return { admission, admit, refused, used, token, meters, logged }
}

describe('a limit', () => {
  it('admits calls up to the limit, and rejects the next with a wait', () => {
    const { admit, refused } = setUp({ limits: { requests: 2 } })
    expect(admit().allowance).toEqual({ requests: { limit: 2, remaining: 1, resetMs: 60_000 } })
    admit()
    const { info, allowance, headers } = refused()
    expect(info).toMatchObject({ kind: 'rate_limited', status: 429, code: 'rate_limit_exceeded', retryAfter: 90 })
    expect(info.message).toBe(
      'Rate limit reached for gpt-5 in requests per minute: limit 2, used 2, requested 1. Please try again in 1m30s.',
    )
    expect(allowance?.requests?.remaining).toBe(0)
    // SDKs would silently sleep for the whole wait.
    expect(headers).toMatchObject({ 'x-should-retry': 'false' })
    vi.advanceTimersByTime(89_999)
    expect(refused().info.retryAfter).toBe(1)
    vi.advanceTimersByTime(1)
    admit()
  })
  it('reports retryAfter for a short window', () => {
    const { admit, refused } = setUp({ limits: { requests: 1, window: 'second' } })
    admit()
    const { info, headers } = refused()
    expect(info.retryAfter).toBe(2)
    expect(headers).toEqual({})
  })
  it('on tokens reserves the estimate and corrects it afterwards', () => {
    const { admit, used, refused } = setUp({ limits: { tokens: 1000, inputTokens: 600, outputTokens: 500 } })
    const admission = admit({ input: 100, output: 300 })
    expect(used()).toEqual({ tokens: 400, inputTokens: 100, outputTokens: 300 })
    admission.settle?.(endOf('req_1', took(90, 40)))
    admission.settle?.(endOf('req_1', took(90, 40)))
    expect(used()).toEqual({ tokens: 130, inputTokens: 90, outputTokens: 40 })
    expect(refused({ input: 520, output: 10 }).message).toContain(
      'input tokens per minute: limit 600, used 90, requested 520',
    )
    // Rejected calls are not counted.
    expect(used()).toEqual({ tokens: 130, inputTokens: 90, outputTokens: 40 })
  })
  it('reserves the default number of output tokens, or the configured one', () => {
    const limits = { outputTokens: 1_000_000 }
    const { admit, used } = setUp({ limits })
    admit({ output: 64_000 })
    admit({ output: undefined })
    expect(used()).toEqual({ outputTokens: 2 * 4096 })
    const wide = setUp({ limits }, { reserve: { outputTokens: 100_000 } })
    wide.admit({ output: 64_000 })
    expect(wide.used()).toEqual({ outputTokens: 64_000 })
  })
  it('admits a call with unbounded output while any quota remains, and no further call until it ends', () => {
    const { admit, refused, used } = setUp({ limits: { tokens: 1000 }, budget: { money: 0.01, period: 'day' } })
    const first = admit({ input: 100, output: undefined })
    expect(used()).toEqual({ tokens: 4196, money: 82_920_000 })
    refused({ input: 1, output: 1 })
    first.settle?.(endOf('req_1', { ...took(100, 300), cost: { amount: 0.007, currency: 'USD' } }))
    expect(used()).toEqual({ tokens: 400, money: 7_000_000 })
    admit({ input: 100, output: 64_000 })
    expect(refused({ input: 10, output: undefined }).info.kind).toBe('rate_limited')
  })
  it('rejects a call that exceeds it by itself, and tells SDKs not to retry', () => {
    const { refused } = setUp({ limits: { inputTokens: 50 } })
    const { info } = refused({ input: 80 })
    expect(info).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(info.retryAfter).toBeUndefined()
    expect(info.kind).toBe('quota_exceeded')
    expect(info.message).toContain('Request too large for gpt-5 in input tokens per minute: limit 50, requested 80')
  })
  it('on concurrent calls releases each call, however it ended', () => {
    const { admit, refused, used } = setUp({ limits: { concurrent: 2 } })
    const first = admit()
    const second = admit()
    expect(refused().info).toMatchObject({ kind: 'rate_limited', retryAfter: 1 })
    first.settle?.(endOf('req_1', { outcome: 'aborted', status: 499 }))
    second.settle?.(endOf('req_2', { outcome: 'failed', status: 502 }))
    expect(used()).toEqual({ concurrent: 0 })
    admit()
  })
  it('on concurrent calls counts a call until it ends', async () => {
    const { admit, refused, used } = setUp({ limits: { concurrent: 1 } })
    const admission = admit()
    await vi.advanceTimersByTimeAsync(3_600_000)
    refused()
    admission.settle?.(endOf('req_1'))
    expect(used()).toEqual({ concurrent: 0 })
    // The timer of the leases ends itself, so that calls do not start and stop it.
    vi.advanceTimersByTime(20_000)
    expect(vi.getTimerCount()).toBe(0)
  })
  it('for some models does not affect others, and shares one count among all of its models', () => {
    const { admit, refused } = setUp({ limits: { models: ['gpt-5*', 'o3'], requests: 2 } })
    admit({ model: 'gpt-5' })
    admit({ model: 'o3' })
    refused({ model: 'gpt-5-mini' })
    expect(admit({ model: 'claude-x' }).allowance).toBeUndefined()
  })
  it('needs no estimate if no meter uses it', () => {
    const estimate = vi.fn(() => ({ input: 1, output: 1 }))
    const { admit } = setUp({ limits: { requests: 5, concurrent: 5 } })
    admit({ estimate })
    expect(estimate).not.toHaveBeenCalled()
  })
  it('reports the tightest limit of each kind', () => {
    const { admit } = setUp({ limits: [{ requests: 100 }, { requests: 3, window: 'hour' }] })
    expect(admit().allowance?.requests).toEqual({ limit: 3, remaining: 2, resetMs: 3_600_000 })
  })
})

describe('a budget', () => {
  it('in money reserves by price, and the actual cost replaces the reservation', () => {
    const { admit, used, refused } = setUp({ budget: { money: 0.01, period: 'month' } })
    // 100 × $10 and 50 × $20 for a million.
    const admission = admit()
    expect(used()).toEqual({ money: 2_000_000 })
    expect(admission.headers).toEqual({
      'modelgate-budget': `month;unit=USD;limit=0.01;remaining=0.008;reset=${9.5 * 86_400}`,
    })
    admission.settle?.(endOf('req_1', { ...took(900, 0), cost: { amount: 0.009, currency: 'USD' } }))
    expect(used()).toEqual({ money: 9_000_000 })
    const { info } = refused()
    expect(info).toMatchObject({ kind: 'quota_exceeded', status: 429, code: 'insufficient_quota' })
    expect(info.retryAfter).toBeUndefined()
    expect(info.message).toBe(
      'This request needs about 0.002 USD, but only 0.001 USD of your monthly budget of 0.01 USD remain. The budget resets at 2026-12-01T00:00:00Z.',
    )
  })
  it('in tokens reports its remainder', () => {
    const { admit } = setUp({
      budget: [
        { tokens: 1000, period: 'total' },
        { tokens: 400, period: 'day', models: 'gpt-*' },
      ],
    })
    expect(admit().headers).toEqual({
      'modelgate-budget':
        'total;unit=tokens;limit=1000;remaining=850, day;unit=tokens;limit=400;remaining=250;reset=43200',
    })
  })
  it('of zero rejects every call', () => {
    expect(setUp({ budget: { money: 0, period: 'total' } }).refused().message).toContain(
      'budget of 0 USD (used: 0 USD)',
    )
  })
  it('in money rejects models with an unknown price at any of their targets', () => {
    const { refused } = setUp({ budget: { money: 5, period: 'day' } })
    const targets = [
      { upstream: 'openai', model: 'gpt-5' },
      { upstream: 'other', model: 'mystery' },
    ]
    expect(refused({ targets }).info).toMatchObject({ kind: 'permission', code: 'model_not_priced', param: 'model' })
  })
  it('in money admits them if configured, and counts nothing for them', () => {
    const { admit, used } = setUp({ budget: { money: 5, period: 'day' } }, { unpriced: 'allow' })
    const targets = [{ upstream: 'other', model: 'mystery' }]
    admit({ targets }).settle?.(endOf('req_1', took(10, 10)))
    expect(used()).toEqual({ money: 0 })
  })
  it('keeps the estimate for a call whose cost turns out to be unknown', () => {
    const { admit, used } = setUp({ budget: { money: 1, period: 'day' } })
    admit().settle?.(endOf('req_1', took(10, 10)))
    expect(used()).toEqual({ money: 2_000_000 })
  })
  it('releases the whole reservation of a call without a response', () => {
    const { admit, used } = setUp({
      budget: [
        { money: 1, period: 'day' },
        { tokens: 1000, period: 'day' },
      ],
    })
    admit().settle?.(endOf('req_1', { outcome: 'failed', status: 502 }))
    expect(used()).toEqual({ money: 0, tokens: 0 })
  })
})

describe('usage sums', () => {
  const sumsOf = (meters: MeterStore) => meters.sums({ tokenId: 'tok_1', from: '2026-11-01', to: '2026-11-30' })
  it('are also stored for tokens without limits, by day and model', () => {
    const { admit, meters } = setUp({})
    admit().settle?.(endOf('req_1', { ...took(100, 20, 60), cost: { amount: 0.5, currency: 'USD' } }))
    admit().settle?.(endOf('req_2', took(1, 2)))
    admit().settle?.(endOf('req_3', { outcome: 'failed', status: 404, model: 'whatever-a-client-says' }))
    expect(sumsOf(meters)).toEqual([
      {
        day: '2026-11-21',
        model: '(no response)',
        calls: 1,
        inputTokens: 0,
        cachedTokens: 0,
        outputTokens: 0,
        cost: 0,
        unpriced: 0,
      },
      {
        day: '2026-11-21',
        model: 'gpt-5',
        calls: 2,
        inputTokens: 101,
        cachedTokens: 60,
        outputTokens: 22,
        cost: 500_000_000,
        unpriced: 1,
      },
    ])
  })
})

describe('a store that fails', () => {
  it('causes calls to be rejected with 503 while it is unavailable, and settles nothing for them', async () => {
    const settled: Settlement[] = []
    const meters: MeterStore = {
      ...createMemoryMeters(),
      reserve: () => Promise.reject(new StorageAwayError('no answer')),
      settle: async (settlement) => void settled.push(settlement),
    }
    const { admit } = setUp({ limits: { requests: 5 } }, { meters })
    await expect(admit() as unknown as Promise<Admission>).rejects.toMatchObject({
      info: { kind: 'unavailable', status: 503, retryAfter: 1 },
    })
    // The store reverts reservations it may have sent. A settlement for each would displace those of other calls.
    expect(settled).toEqual([])
  })
  it('receives failed settlements later', async () => {
    let away = true
    const settled: string[] = []
    const meters: MeterStore = {
      ...createMemoryMeters(),
      async settle({ callId }) {
        if (away) throw new StorageAwayError('no answer')
        settled.push(callId)
      },
    }
    const { admit, logged } = setUp({}, { meters })
    admit().settle?.(endOf('req_1'))
    await vi.advanceTimersByTimeAsync(40_000)
    away = false
    await vi.advanceTimersByTimeAsync(40_000)
    expect(settled).toEqual(['req_1'])
    expect(logged).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })
  it('is retried once at close, and lost settlements are logged', async () => {
    const settle = vi.fn(async () => {
      throw new StorageAwayError('gone')
    })
    const { admit, admission, logged } = setUp({}, { meters: { ...createMemoryMeters(), settle } })
    admit().settle?.(endOf('req_1'))
    await Promise.resolve()
    await admission.close()
    expect(settle).toHaveBeenCalledTimes(2)
    expect(JSON.stringify(logged)).toContain('req_1 could not be counted')
  })
})

describe('a store with promises of another library', () => {
  /** A lazy thenable, as query builders return it: does nothing until it is awaited. */
  const thenable = <T>(run: () => T): Promise<T> =>
    // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable.
    ({ then: (...args: Parameters<Promise<T>['then']>) => Promise.resolve(run()).then(...args) }) as Promise<T>
  it('is awaited', async () => {
    const inner = createMemoryMeters()
    const meters: MeterStore = {
      ...inner,
      reserve: (reservation) => thenable(() => inner.reserve(reservation) as ReserveResult),
      settle: (settlement) => thenable(() => inner.settle(settlement) as undefined),
    }
    const { admit, used } = setUp({ limits: { requests: 1 }, budget: { tokens: 1000, period: 'day' } }, { meters })
    const first = (await admit()) as Admission
    await expect(admit() as unknown as Promise<Admission>).rejects.toMatchObject({ info: { kind: 'rate_limited' } })
    first.settle?.(endOf('req_1', took(1, 2)))
    await Promise.resolve()
    await Promise.resolve()
    expect(used()).toEqual({ requests: 1, tokens: 3 })
  })
})

describe('a logger that throws', () => {
  it('does not prevent the retry of a settlement', async () => {
    const logger = {
      warn: () => undefined,
      error: vi.fn((): void => {
        throw new Error('the log is full')
      }),
    }
    const settle = vi.fn(async () => {
      throw new StorageAwayError('gone')
    })
    const { admit, admission } = setUp({}, { meters: { ...createMemoryMeters(), settle }, logger })
    admit().settle?.(endOf('req_1'))
    await Promise.resolve()
    await expect(admission.close()).resolves.toBeUndefined()
    expect(logger.error).toHaveBeenCalledTimes(1)
  })
})

describe('ten thousand calls with random outcomes', () => {
  it('are each settled exactly once', () => {
    const inner = createMemoryMeters()
    const settled = new Map<string, number>()
    const meters: MeterStore = {
      ...inner,
      settle(settlement) {
        settled.set(settlement.callId, (settled.get(settlement.callId) ?? 0) + 1)
        return inner.settle(settlement)
      },
    }
    const { admit, used } = setUp(
      { limits: { requests: 1e9, window: 'day', concurrent: 20 }, budget: { tokens: 1e12, period: 'total' } },
      { meters },
    )
    const running: { id: string; admission: Admission }[] = []
    let [letIn, refusals, tokens] = [0, 0, 0]
    for (let n = 0; n < 10_000; n++) {
      const id = `req_${n}`
      try {
        running.push({ id, admission: admit({ input: n % 700, output: n % 90 }, id) })
        letIn++
      } catch {
        refusals++
      }
      // Slightly fewer calls end than begin.
      for (let ends = n % 3 === 0 ? 2 : n % 7 === 0 ? 1 : 0; ends > 0 && running.length > 0; ends--) {
        const [{ id: ended, admission } = { id: '', admission: undefined }] = running.splice(
          (n * 31) % running.length,
          1,
        )
        const kind = n % 4
        const [input, output] = kind === 0 ? [0, 0] : [n % 1000, n % 333]
        tokens += input + output
        admission?.settle?.(
          endOf(
            ended,
            kind === 0
              ? { outcome: 'failed', status: 500 }
              : { ...took(input, output), outcome: kind === 1 ? 'aborted' : 'finished' },
          ),
        )
      }
    }
    for (const { id, admission } of running) admission.settle?.(endOf(id, { outcome: 'aborted', status: 499 }))
    expect(letIn + refusals).toBe(10_000)
    expect(refusals).toBeGreaterThan(100)
    expect(settled.size).toBe(letIn)
    expect([...settled.values()].every((times) => times === 1)).toBe(true)
    expect(used()).toEqual({ requests: letIn, concurrent: 0, tokens })
  })
})
