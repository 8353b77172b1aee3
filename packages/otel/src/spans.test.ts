import { describe, expect, it } from 'vitest'
import { otel } from './otel.ts'
import { arrival, play, type Scene } from './testing/play.ts'
import { createRecorder, type RecordedSpan } from './testing/recorder.ts'

const ok = { status: 200, latencyMs: 40 } as const

function spansOf(scene: Scene): { call: RecordedSpan; attempts: RecordedSpan[] } {
  const recorder = createRecorder()
  play(otel({ tracerProvider: recorder.tracerProvider, meterProvider: false }), scene)
  const [call, ...attempts] = recorder.spans()
  if (call === undefined) throw new Error('There is no span.')
  for (const attempt of attempts) expect(attempt).toMatchObject({ parent: call.spanId, traceId: call.traceId })
  return { call, attempts }
}

/** Formats the name, kind, status and times in milliseconds since the call's arrival. */
const outline = ({ name, kind, status, from, to }: RecordedSpan): string =>
  `${name} ${kind} ${status} ${from - arrival}-${to - arrival}`

describe('the spans of a call', () => {
  it.each<[string, Scene, string, string[]]>([
    ['a successful call', {}, 'chat smart SERVER UNSET 0-100', ['chat gpt-5 CLIENT UNSET 2-100']],
    [
      'a call that was retried',
      {
        attempts: [
          { reason: 'first', startedMs: 1, status: 503, latencyMs: 10, error: 'overloaded' },
          { reason: 'retry', startedMs: 31, waitedMs: 20, ...ok },
        ],
      },
      'chat smart SERVER UNSET 0-100',
      ['chat gpt-5 CLIENT ERROR 1-11', 'chat gpt-5 CLIENT UNSET 31-100'],
    ],
    [
      'a call that fell back to another target',
      {
        attempts: [
          { reason: 'first', startedMs: 1, latencyMs: 10, error: 'upstream_unreachable' },
          { reason: 'fallback', startedMs: 11, upstream: 'claude', model: 'claude-opus-5', ...ok },
        ],
        finish: { upstream: 'claude' },
      },
      'chat smart SERVER UNSET 0-100',
      ['chat gpt-5 CLIENT ERROR 1-11', 'chat claude-opus-5 CLIENT UNSET 11-100'],
    ],
    [
      'a hedged call with two concurrent attempts, the slower one cancelled',
      {
        attempts: [
          { reason: 'first', startedMs: 1, latencyMs: 59, error: 'cancelled' },
          { reason: 'hedge', startedMs: 30, upstream: 'claude', model: 'claude-opus-5', status: 200, latencyMs: 30 },
        ],
      },
      'chat smart SERVER UNSET 0-100',
      ['chat gpt-5 CLIENT UNSET 1-60', 'chat claude-opus-5 CLIENT UNSET 30-100'],
    ],
    [
      'a call whose attempts all failed',
      {
        attempts: [{ reason: 'first', startedMs: 1, status: 500, latencyMs: 10, error: 'upstream_error' }],
        finish: { status: 502, outcome: 'failed', error: { info: { kind: 'upstream_error' } } },
        ms: 12,
      },
      'chat smart SERVER ERROR 0-12',
      ['chat gpt-5 CLIENT ERROR 1-11'],
    ],
    [
      'a call with an invalid request',
      {
        attempts: [{ reason: 'first', startedMs: 1, status: 400, latencyMs: 10, error: 'invalid_request' }],
        finish: { status: 400, outcome: 'failed', error: { info: { kind: 'invalid_request' } } },
        ms: 12,
      },
      'chat smart SERVER UNSET 0-12',
      ['chat gpt-5 CLIENT ERROR 1-11'],
    ],
    [
      'a call whose client disconnected during the response',
      { request: { stream: true }, finish: { outcome: 'aborted' } },
      'chat smart SERVER UNSET 0-100',
      ['chat gpt-5 CLIENT UNSET 2-100'],
    ],
    [
      'a call whose stream broke off',
      { request: { stream: true }, finish: { outcome: 'failed', error: { kind: 'upstream_truncated' } } },
      'chat smart SERVER ERROR 0-100',
      ['chat gpt-5 CLIENT ERROR 2-100'],
    ],
    [
      'a call without an attempt',
      { attempts: [], finish: { status: 429, outcome: 'failed', error: { info: { kind: 'rate_limited' } } }, ms: 1 },
      'chat smart SERVER UNSET 0-1',
      [],
    ],
    [
      'a call that is reported only at its end',
      { unannounced: true, request: { operation: 'realtime', model: 'gpt-realtime' } },
      'realtime gpt-realtime SERVER UNSET 0-100',
      ['realtime gpt-5 CLIENT UNSET 2-100'],
    ],
    [
      'a call that was rejected before its model was read',
      {
        unannounced: true,
        request: { model: '' },
        attempts: [],
        finish: { status: 400, outcome: 'failed' },
        ms: 3,
      },
      'chat SERVER UNSET 0-3',
      [],
    ],
  ])('are traced for %s', (_, scene, call, attempts) => {
    const spans = spansOf(scene)
    expect([outline(spans.call), ...spans.attempts.map(outline)]).toEqual([call, ...attempts])
  })

  it('record the request, the upstream and the result', () => {
    const { call, attempts } = spansOf({
      request: { body: { temperature: 0.5, max_tokens: 100 }, stream: true },
      attempts: [
        {
          reason: 'first',
          startedMs: 1,
          status: 429,
          latencyMs: 10,
          error: 'rate_limited',
          key: 0,
          upstreamRequestId: 'req_theirs',
        },
        { reason: 'other-key', startedMs: 11, key: 1, status: 200, latencyMs: 250 },
      ],
      ms: 1000,
      finish: {
        upstream: 'openai',
        upstreamModel: 'gpt-5',
        upstreamFormat: 'responses',
        lane: 'translate',
        finish: 'stop',
        firstEventMs: 262,
        usage: { input: { total: 100, cacheRead: 80, cacheWrite: 5 }, output: { total: 20, reasoning: 12 } },
        losses: [
          { path: '/seed', kind: 'unsupported', severity: 'warn', detail: 'It has no seed.' },
          { path: '/logit_bias', kind: 'unsupported', severity: 'warn', detail: 'It has no bias.' },
          { path: '/n', kind: 'clamped', severity: 'note', detail: 'At most 1.' },
        ],
      },
    })
    expect(call.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'smart',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 100,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.time_to_first_chunk': 0.262,
      'http.response.status_code': 200,
      'modelgate.operation': 'generate',
      'modelgate.client.format': 'chat',
      'modelgate.request.id': expect.stringMatching(/^req_/),
      'modelgate.outcome': 'finished',
      'modelgate.lane': 'translate',
      'modelgate.attempt.count': 2,
      'modelgate.loss.count': 2,
      'modelgate.note.count': 1,
      'modelgate.loss.kinds': ['unsupported'],
      'modelgate.upstream.name': 'openai',
      'modelgate.upstream.model': 'gpt-5',
      'modelgate.upstream.format': 'responses',
    })
    const requested = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-5',
      'gen_ai.request.stream': true,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 100,
      'modelgate.upstream.name': 'openai',
    }
    expect(attempts.map(({ attributes }) => attributes)).toEqual([
      {
        ...requested,
        'error.type': 'rate_limited',
        'http.response.status_code': 429,
        'modelgate.attempt.number': 1,
        'modelgate.attempt.reason': 'first',
        'modelgate.attempt.key': 0,
        'modelgate.attempt.latency': 0.01,
        'modelgate.upstream.request_id': 'req_theirs',
      },
      {
        ...requested,
        'gen_ai.response.finish_reasons': ['stop'],
        'gen_ai.response.time_to_first_chunk': 0.25,
        'gen_ai.usage.input_tokens': 100,
        'gen_ai.usage.output_tokens': 20,
        'gen_ai.usage.cache_read.input_tokens': 80,
        'gen_ai.usage.cache_creation.input_tokens': 5,
        'gen_ai.usage.reasoning.output_tokens': 12,
        'http.response.status_code': 200,
        'modelgate.attempt.number': 2,
        'modelgate.attempt.reason': 'other-key',
        'modelgate.attempt.key': 1,
        'modelgate.attempt.latency': 0.25,
        'modelgate.upstream.format': 'responses',
        'openai.api.type': 'responses',
      },
    ])
  })

  it.each<[string, Scene, string | undefined, string | undefined]>([
    [
      'the kind of a gateway error',
      { finish: { outcome: 'failed', error: { info: { kind: 'overloaded' } } } },
      'overloaded',
      'overloaded',
    ],
    [
      'the kind of an error within a stream',
      { finish: { outcome: 'failed', error: { kind: 'upstream_error' } } },
      'upstream_error',
      'upstream_error',
    ],
    ['_OTHER for any other exception', { finish: { outcome: 'failed', error: new Error('boom') } }, '_OTHER', '_OTHER'],
    [
      '_OTHER for a malformed kind',
      { finish: { outcome: 'failed', error: { kind: 'Sent: "secret"' } } },
      '_OTHER',
      '_OTHER',
    ],
    ['cancelled if the client disconnected', { finish: { outcome: 'aborted', status: 499 } }, 'cancelled', 'cancelled'],
    ['nothing after a success', {}, undefined, undefined],
  ])('have as error.type %s', (_, scene, ofCall, ofAttempt) => {
    const { call, attempts } = spansOf(scene)
    expect(call.attributes['error.type']).toBe(ofCall)
    expect(attempts[0]?.attributes['error.type']).toBe(ofAttempt)
  })

  it('record no usage that the gateway estimated', () => {
    const { attempts } = spansOf({
      finish: { usage: { input: { total: 5 }, output: { total: 0 } }, estimate: 'characters' },
    })
    expect(Object.keys(attempts[0]?.attributes ?? {}).filter((name) => name.startsWith('gen_ai.usage'))).toEqual([])
  })

  it.each(['estimated', 'partial'] as const)('record usage that was %s without a claim of exactness', (basis) => {
    const { attempts } = spansOf({ finish: { usage: { input: { total: 5 }, output: { total: 9 } }, basis } })
    const attributes = attempts[0]?.attributes ?? {}
    expect(Object.keys(attributes).filter((name) => name.startsWith('gen_ai.usage'))).toEqual([])
    expect(attributes['modelgate.usage.basis']).toBe(basis)
  })

  it('all end exactly once', () => {
    const recorder = createRecorder()
    const plugin = otel({ tracerProvider: recorder.tracerProvider, meterProvider: false })
    for (let i = 0; i < 50; i++) play(plugin)
    expect(recorder.spans()).toHaveLength(100)
    expect(new Set(recorder.spans().map(({ spanId }) => spanId)).size).toBe(100)
    expect(new Set(recorder.spans().map(({ traceId }) => traceId)).size).toBe(50)
  })

  it("carry the user's attributes on the call and its attempts", () => {
    const recorder = createRecorder()
    const plugin = otel({
      tracerProvider: recorder.tracerProvider,
      attributes: ({ identity }) => ({ team: `team of ${identity?.id}`, 'gen_ai.operation.name': 'not this' }),
    })
    play(plugin)
    expect(recorder.spans().map(({ attributes }) => [attributes.team, attributes['gen_ai.operation.name']])).toEqual([
      ['team of someone', 'chat'],
      ['team of someone', 'chat'],
    ])
  })

  it('name the version of the conventions and of the package', async () => {
    const recorder = createRecorder()
    play(otel({ tracerProvider: recorder.tracerProvider }))
    const { version } = (await import('../package.json')).default
    expect(recorder.spans()[0]?.raw.instrumentationScope).toEqual({
      name: '@modelgate/otel',
      version,
      schemaUrl: 'https://opentelemetry.io/schemas/1.41.1',
    })
  })
})
