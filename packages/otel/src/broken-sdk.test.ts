import {
  type DiagLogger,
  diag,
  type MeterProvider,
  metrics,
  type Span,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { otel } from './otel.ts'
import { play, type Scene } from './testing/play.ts'
import { createRecorder } from './testing/recorder.ts'

afterEach(() => {
  trace.disable()
  metrics.disable()
  diag.disable()
})

const boom = (): never => {
  throw new Error('boom')
}
const throwing = <T extends object>(): T => new Proxy({} as T, { get: () => boom })
const spanThat = (over: Partial<Span>): TracerProvider => ({
  getTracer: () => {
    const { tracerProvider } = createRecorder()
    const tracer = tracerProvider.getTracer('real')
    const startSpan: typeof tracer.startSpan = (...args) => Object.assign(tracer.startSpan(...args), over)
    return { startSpan, startActiveSpan: boom }
  },
})

describe('a call with a broken SDK', () => {
  it.each<[string, TracerProvider]>([
    ['a provider that throws', throwing()],
    ['a tracer that throws', { getTracer: () => throwing() }],
    [
      'a span that throws at everything',
      { getTracer: () => ({ startSpan: () => throwing<Span>(), startActiveSpan: boom }) },
    ],
    ['a span that cannot be written to', spanThat({ setAttributes: boom })],
    ['a span that cannot be ended', spanThat({ end: boom })],
  ])('succeeds when the SDK breaks: %s', async (_, tracerProvider) => {
    const logError: DiagLogger['error'] = vi.fn()
    diag.setLogger({ ...console, error: logError, verbose() {}, debug() {}, info() {}, warn() {} })
    const recorder = createRecorder()
    const plugin = otel({ tracerProvider, meterProvider: recorder.meterProvider })
    expect(() => play(plugin)).not.toThrow()
    expect(logError).toHaveBeenCalledWith(expect.stringMatching(/^@modelgate\/otel: .* failed$/), expect.any(Error))
    // The parts that still work continue.
    expect(await recorder.points('modelgate.attempts')).toHaveLength(1)
  })

  it.each<[string, MeterProvider]>([
    ['a meter provider that throws', throwing()],
    ['instruments that throw', { getMeter: () => throwing() }],
  ])("succeeds when one of the host's functions breaks: %s", (_, meterProvider) => {
    const recorder = createRecorder()
    expect(() => play(otel({ meterProvider, tracerProvider: recorder.tracerProvider }))).not.toThrow()
    expect(recorder.spans()).toHaveLength(2)
  })

  it('succeeds when the diagnostics logger throws', () => {
    diag.setLogger(throwing<DiagLogger>())
    expect(() => play(otel({ tracerProvider: throwing<TracerProvider>(), attributes: boom }))).not.toThrow()
  })

  it('succeeds without extra attributes when `attributes` throws', () => {
    const recorder = createRecorder()
    play(otel({ tracerProvider: recorder.tracerProvider, attributes: boom }))
    expect(recorder.spans()).toHaveLength(2)
  })
})

describe('a gateway without an SDK', () => {
  it("adds nothing to the call upstream and keeps the client's own trace headers", () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    expect(play(otel(), { headers: { traceparent } })).toEqual([undefined])
    expect(play(otel({ tracerProvider: false, meterProvider: false }), { headers: { traceparent } })).toEqual([
      undefined,
    ])
  })

  it('begins to record spans as soon as an SDK is registered', () => {
    const plugin = otel()
    play(plugin)
    const recorder = createRecorder()
    trace.setGlobalTracerProvider(recorder.tracerProvider)
    play(plugin)
    expect(recorder.spans()).toHaveLength(2)
  })

  it('adds almost no time to a call', () => {
    const plugin = otel()
    const header = () => undefined
    const shared = {
      requestId: 'req_1',
      identity: null,
      operation: 'generate',
      format: 'chat',
      model: 'gpt-5',
      stream: false,
      startedAt: 0,
    } as const
    const attempt = { upstream: 'openai', model: 'gpt-5', reason: 'first', startedMs: 1, status: 200 } as const
    const begun = { ...shared, body: {}, header }
    const tried = { requestId: 'req_1', upstream: 'openai', model: 'gpt-5', attempt: 1, reason: 'first' } as const
    const over = {
      ...shared,
      status: 200,
      outcome: 'finished',
      losses: [],
      attempts: [attempt],
      durationMs: 2,
    } as const
    const call = (): void => {
      plugin.onRequest?.(begun)
      plugin.onUpstream?.(tried)
      plugin.onFinish?.(over)
    }
    for (let i = 0; i < 20_000; i++) call()
    const best = Math.min(
      ...Array.from({ length: 5 }, () => {
        const from = performance.now()
        for (let i = 0; i < 10_000; i++) call()
        return (performance.now() - from) / 10
      }),
    )
    // Microseconds; well below one on a quiet machine.
    expect(best).toBeLessThan(10)
  })
})

describe('the recorded telemetry', () => {
  const canary = 'canary-7f3a'
  /** A request with a marker word in every place where a client or a provider can put content or a credential. */
  const scene: Scene = {
    headers: {
      authorization: `Bearer ${canary}`,
      'x-api-key': canary,
      cookie: canary,
      baggage: `user=${canary}`,
      'user-agent': canary,
    },
    request: {
      identity: { id: canary, key: canary },
      body: {
        model: 'smart',
        messages: [{ role: 'user', content: canary }],
        tools: [{ type: 'function', function: { name: canary, parameters: { [canary]: {} } } }],
        user: canary,
        metadata: { [canary]: canary },
        response_format: { type: canary, json_schema: { name: canary } },
        service_tier: canary.toUpperCase(),
        temperature: canary,
        [canary]: canary,
      },
    },
    attempts: [
      { reason: 'first', startedMs: 1, status: 400, latencyMs: 5, error: 'invalid_request' },
      { reason: 'fallback', startedMs: 10, status: 200, latencyMs: 5 },
    ],
    finish: {
      outcome: 'failed',
      error: Object.assign(new Error(canary), { info: { kind: 'upstream_error', message: canary, raw: { canary } } }),
      losses: [{ path: `/metadata/${canary}`, kind: 'unsupported', severity: 'warn', detail: canary }],
      usage: { input: { total: 1 }, output: { total: 1 }, raw: { format: 'chat', value: { [canary]: canary } } },
    },
  }

  it.each(['chat', 'messages', 'gemini', 'responses'] as const)(
    'contains no content, no credential and no person (%s)',
    async (format) => {
      const recorder = createRecorder()
      const { tracerProvider, meterProvider } = recorder
      const given = play(otel({ tracerProvider, meterProvider }), { ...scene, request: { ...scene.request, format } })
      expect(recorder.spans()).toHaveLength(3)
      expect((await recorder.everything()) + JSON.stringify(given)).not.toMatch(new RegExp(canary, 'i'))
    },
  )
})
