import { metrics } from '@opentelemetry/api'
import { afterEach, describe, expect, it } from 'vitest'
import { secondBuckets, tokenBuckets } from './conventions.ts'
import { otel } from './otel.ts'
import { play, type Scene } from './testing/play.ts'
import { createRecorder } from './testing/recorder.ts'

afterEach(() => metrics.disable())

function measured(...scenes: Scene[]) {
  const recorder = createRecorder()
  const plugin = otel({ meterProvider: recorder.meterProvider, tracerProvider: false })
  for (const scene of scenes) play(plugin, scene)
  return recorder
}

const failedOver: Scene = {
  attempts: [
    { reason: 'first', startedMs: 0, status: 503, latencyMs: 100, error: 'overloaded' },
    { reason: 'fallback', startedMs: 100, upstream: 'claude', model: 'claude-opus-5', status: 200, latencyMs: 200 },
  ],
  request: { stream: true },
  ms: 1000,
  finish: {
    upstreamFormat: 'messages',
    firstEventMs: 300,
    usage: { input: { total: 100, cacheRead: 80 }, output: { total: 20 } },
    losses: [
      { path: '/seed', kind: 'unsupported', severity: 'warn', detail: '' },
      { path: '/logit_bias', kind: 'unsupported', severity: 'warn', detail: '' },
      { path: '/choices/0', side: 'answer', kind: 'approximated', severity: 'note', detail: '' },
    ],
  },
}
const openai = { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-5' }
const claude = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'anthropic',
  'gen_ai.request.model': 'claude-opus-5',
}

describe('the metrics', () => {
  it('follow the conventions for each call to a provider', async () => {
    const { points, metrics } = measured(failedOver)
    expect(await points('gen_ai.client.operation.duration')).toEqual([
      { attributes: { ...openai, 'error.type': 'overloaded' }, count: 1, sum: 0.1, boundaries: secondBuckets },
      { attributes: claude, count: 1, sum: 0.9, boundaries: secondBuckets },
    ])
    expect(await points('gen_ai.client.operation.time_to_first_chunk')).toEqual([
      { attributes: claude, count: 1, sum: 0.2, boundaries: secondBuckets },
    ])
    expect(await points('gen_ai.client.token.usage')).toEqual([
      { attributes: { ...claude, 'gen_ai.token.type': 'input' }, count: 1, sum: 100, boundaries: tokenBuckets },
      { attributes: { ...claude, 'gen_ai.token.type': 'output' }, count: 1, sum: 20, boundaries: tokenBuckets },
    ])
    expect((await metrics()).map(({ descriptor: { name, unit } }) => `${name} ${unit}`).sort()).toEqual([
      'gen_ai.client.operation.duration s',
      'gen_ai.client.operation.time_to_first_chunk s',
      'gen_ai.client.token.usage {token}',
      'modelgate.attempts {attempt}',
      'modelgate.call.duration s',
      'modelgate.call.time_to_first_event s',
      'modelgate.losses {loss}',
    ])
  })

  it("use the conventions' histogram buckets", () => {
    expect(tokenBuckets).toEqual([
      1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
    ])
  })

  it('use modelgate names for calls, attempts and losses', async () => {
    const { points } = measured(failedOver, {})
    const call = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'smart', 'modelgate.client.format': 'chat' }
    expect(await points('modelgate.call.duration')).toMatchObject([
      {
        attributes: { ...call, 'modelgate.outcome': 'finished', 'http.response.status_code': 200 },
        count: 2,
        sum: 1.1,
      },
    ])
    expect(await points('modelgate.call.time_to_first_event')).toMatchObject([{ attributes: call, count: 1, sum: 0.3 }])
    expect(await points('modelgate.attempts')).toEqual([
      {
        attributes: {
          ...openai,
          'error.type': 'overloaded',
          'modelgate.upstream.name': 'openai',
          'modelgate.attempt.reason': 'first',
        },
        value: 1,
      },
      {
        attributes: { ...claude, 'modelgate.upstream.name': 'claude', 'modelgate.attempt.reason': 'fallback' },
        value: 1,
      },
      {
        attributes: { ...openai, 'modelgate.upstream.name': 'openai', 'modelgate.attempt.reason': 'first' },
        value: 1,
      },
    ])
    const formats = {
      'gen_ai.operation.name': 'chat',
      'modelgate.client.format': 'chat',
      'modelgate.upstream.format': 'messages',
    }
    const loss = (kind: string, severity: string, side: string) => ({
      ...formats,
      'modelgate.loss.kind': kind,
      'modelgate.loss.severity': severity,
      'modelgate.loss.side': side,
    })
    expect(await points('modelgate.losses')).toEqual([
      { attributes: loss('unsupported', 'warn', 'request'), value: 2 },
      { attributes: loss('approximated', 'note', 'answer'), value: 1 },
    ])
  })

  it.each<[string, Scene, object]>([
    [
      'a disconnected client',
      { finish: { outcome: 'aborted', status: 499 } },
      { 'modelgate.outcome': 'aborted', 'error.type': 'cancelled' },
    ],
    [
      'a failure',
      { finish: { outcome: 'failed', status: 502, error: { info: { kind: 'upstream_error' } } } },
      { 'modelgate.outcome': 'failed', 'error.type': 'upstream_error', 'http.response.status_code': 502 },
    ],
  ])('distinguish %s from a successful call', async (_, scene, attributes) => {
    const [point] = await measured(scene).points('modelgate.call.duration')
    expect(point?.attributes).toMatchObject(attributes)
  })

  it('contain neither the id of a call nor the caller', async () => {
    const { everything } = measured(failedOver, { finish: { outcome: 'failed', status: 502 } })
    expect(await everything()).not.toMatch(/req_|someone/)
  })

  it("contain the user's own attributes", async () => {
    const recorder = createRecorder()
    play(otel({ meterProvider: recorder.meterProvider, attributes: ({ identity }) => ({ team: `${identity?.id}` }) }), {
      ...failedOver,
    })
    for (const { descriptor, dataPoints } of await recorder.metrics())
      for (const { attributes } of dataPoints) expect(attributes, descriptor.name).toMatchObject({ team: 'someone' })
  })

  it('count no tokens that the gateway estimated', async () => {
    const { points } = measured({
      finish: { usage: { input: { total: 5 }, output: { total: 0 } }, estimate: 'characters' },
    })
    expect(await points('gen_ai.client.token.usage')).toEqual([])
  })

  it.each(['estimated', 'partial'] as const)('count no tokens that were %s', async (basis) => {
    const { points } = measured({ finish: { usage: { input: { total: 5 }, output: { total: 9 } }, basis } })
    expect(await points('gen_ai.client.token.usage')).toEqual([])
  })

  it('limit the number of model names that clients invent', async () => {
    const guesses = Array.from(
      { length: 300 },
      (_, i): Scene => ({
        request: { model: `gpt-guess-${i}` },
        attempts: [
          { reason: 'first', startedMs: 1, model: `gpt-guess-${i}`, status: 404, latencyMs: 3, error: 'not_found' },
        ],
        finish: { outcome: 'failed', status: 404, error: { info: { kind: 'not_found' } } },
      }),
    )
    const good: Scene = {
      request: { model: 'gpt-real' },
      attempts: [{ reason: 'first', startedMs: 1, model: 'gpt-real', status: 200, latencyMs: 3 }],
    }
    const points = await measured(...guesses, good).points('gen_ai.client.operation.duration')
    const models = points.map(({ attributes }) => attributes['gen_ai.request.model'])
    expect(models).toHaveLength(102)
    expect(models).toEqual(expect.arrayContaining(['gpt-guess-0', '_OTHER', 'gpt-real']))
    expect(points.reduce((sum, { count = 0 }) => sum + count, 0)).toBe(301)
  })

  it('begin as soon as an SDK is registered', async () => {
    const plugin = otel()
    play(plugin)
    const recorder = createRecorder()
    metrics.setGlobalMeterProvider(recorder.meterProvider)
    play(plugin)
    expect(await recorder.points('modelgate.attempts')).toMatchObject([{ value: 1 }])
  })
})
