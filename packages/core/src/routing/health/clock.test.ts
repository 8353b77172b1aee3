import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { setUp } from '../../gateway/create-gateway.test-support.ts'
import { memoryResponseStore } from '../../operations/responses/store.ts'
import { cacheUntilExpiry } from '../../upstreams/access-token.ts'
import { openai } from '../../upstreams/openai.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import { createCallerCooldowns, createKeyPool, memoryHealthState } from './cooldowns.ts'
import { createLatencies, createRetryBudget } from './health.ts'

const start = 1_800_000_000_000
beforeEach(() => void vi.useFakeTimers({ now: start }))
afterEach(() => void vi.useRealTimers())

/** Sets the system time, as an administrator or NTP does. No time passes. */
const step = (ms: number): void => void vi.setSystemTime(Date.now() + ms)

const steps = [
  ['ahead by 301 s', 301_000],
  ['ahead by a day', 86_400_000],
  ['back by an hour', -3_600_000],
] as const

describe.each(steps)('a clock that is set %s', (_, stepMs) => {
  const seconds = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(1000 * count)

  /** An upstream that streams one event and then, each second, the result of `next`. */
  const streaming = (next: () => string | undefined) => (): Response => {
    let timer: ReturnType<typeof setInterval>
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const word = (content: string) =>
          `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`
        controller.enqueue(encoder.encode(word('first')))
        timer = setInterval(() => {
          const content = next()
          if (content !== undefined) controller.enqueue(encoder.encode(word(content)))
        }, 1000)
      },
      cancel: () => clearInterval(timer),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

  async function readStream(next: () => string | undefined, limits: Record<string, number>) {
    const { chat, finished } = setUp({ a: streaming(next) }, { limits, retry: false, breaker: false })
    const reply = await chat({ stream: true })
    let got = ''
    let isOver = false
    const reading = (async () => {
      for await (const chunk of reply.body as unknown as AsyncIterable<Uint8Array>)
        got += new TextDecoder().decode(chunk)
      isOver = true
    })()
    await seconds(2)
    return { got: () => got, isOver: () => isOver, reading, finished }
  }

  it('does not end a running stream', async () => {
    let words = 0
    const stream = await readStream(() => `word ${++words}`, { idleMs: 10_000, totalMs: 60_000 })
    step(stepMs)
    await seconds(5)
    expect([stream.isOver(), stream.finished.length]).toEqual([false, 0])
    expect(stream.got()).toContain('word 7')
    await seconds(60)
    await stream.reading
    expect(stream.finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_total_timeout' } } }])
  })

  it('affects neither the heartbeats nor the time limit of a silent stream', async () => {
    const stream = await readStream(() => undefined, { idleMs: 30_000, heartbeatMs: 5000 })
    step(stepMs)
    await seconds(20)
    expect(stream.isOver()).toBe(false)
    const heartbeats = stream
      .got()
      .split('\n\n')
      .filter((block) => block !== '' && !block.includes('first'))
    expect(heartbeats).toHaveLength(4)
    await seconds(10)
    await stream.reading
    expect(stream.finished).toMatchObject([{ outcome: 'failed', error: { info: { kind: 'upstream_idle_timeout' } } }])
  })

  it('neither shortens nor prolongs the wait for a response', async () => {
    const { chat, finished } = setUp(
      {
        a: (_call, signal) =>
          new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
      },
      { limits: { firstByteMs: 10_000 }, retry: false, breaker: false },
    )
    const pending = chat()
    await seconds(2)
    step(stepMs)
    await seconds(7)
    expect(finished).toHaveLength(0)
    await seconds(1)
    expect((await pending).status).toBe(504)
    expect(finished[0]?.attempts[0]?.latencyMs).toBe(10_000)
  })

  it('neither ends nor prolongs the cooldown of a target', async () => {
    const breaker = createCircuitBreaker({ failures: 1, restMs: 5000 }, memoryHealthState(), createCallerCooldowns())
    breaker.recordEnd('up/m', undefined, breaker.startCall('up/m'), 'unavailable')
    step(stepMs)
    expect(breaker.waitMs('up/m')).toBe(5000)
    await seconds(4)
    expect([breaker.waitMs('up/m'), breaker.startCall('up/m')]).toEqual([1000, 'none'])
    await seconds(1)
    expect([breaker.waitMs('up/m'), breaker.startCall('up/m')]).toEqual([0, 'all'])
  })

  it('neither ends nor prolongs the cooldown of a key', async () => {
    const keys = createKeyPool(memoryHealthState(), createCallerCooldowns())
    const upstream = openai({ apiKey: 'k' })
    keys.coolDown('up', upstream, 'm', undefined, 'rate_limited', 5000)
    step(stepMs)
    expect(keys.peek('up', upstream, 'm').waitMs).toBe(5000)
    await seconds(5)
    expect(keys.peek('up', upstream, 'm').waitMs).toBe(0)
  })

  it('neither refills nor blocks a retry budget', async () => {
    const budget = createRetryBudget()
    const settings = { budgetRatio: 0, budgetFloor: 1 }
    expect([budget.spend(settings), budget.spend(settings)]).toEqual([true, false])
    step(stepMs)
    expect(budget.spend(settings)).toBe(false)
    await seconds(10)
    expect(budget.spend(settings)).toBe(true)
  })

  it('does not change the age of measured latencies', async () => {
    const latencies = createLatencies()
    latencies.record('a', true, 100)
    step(stepMs)
    expect(latencies.expectedMs('a', true)).toBe(100)
    await seconds(60)
    expect(latencies.expectedMs('a', true)).toBe(-1)
  })

  it('does not change the lifetime of stored responses', async () => {
    const store = memoryResponseStore()
    await store.set('a', 'kept', 10_000)
    step(stepMs)
    expect(await store.get('a')).toBe('kept')
    await seconds(10)
    expect(await store.get('a')).toBeUndefined()
  })

  it('does not prolong the lifetime of an access token', async () => {
    let calls = 0
    const token = cacheUntilExpiry(async () => ({ value: ++calls, expiresAt: Date.now() + 600_000 }))
    expect(await token()).toBe(1)
    step(stepMs)
    await seconds(600)
    expect(await token()).toBe(2)
  })
})

it('passes wall-clock times to a shared health state', () => {
  const written: unknown[] = []
  const breaker = createCircuitBreaker(
    { failures: 1, restMs: 5000 },
    { read: () => ({ until: start + 3000, reason: 'failing' }), write: (_, rest) => written.push(rest) },
    createCallerCooldowns(),
  )
  expect(breaker.waitMs('up/m')).toBe(3000)
  vi.advanceTimersByTime(4000)
  expect(breaker.startCall('up/m')).toBe('all')
  expect(written).toEqual([{ until: start + 9000, reason: 'failing' }])
})
