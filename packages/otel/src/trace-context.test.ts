import { context, createTraceState, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core'
import { AlwaysOffSampler, ParentBasedSampler } from '@opentelemetry/sdk-trace'
import { afterEach, describe, expect, it } from 'vitest'
import { type OtelOptions, otel } from './otel.ts'
import { play } from './testing/play.ts'
import { createRecorder } from './testing/recorder.ts'
import { readTraceHeaders } from './trace-headers.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const parentId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${parentId}-01`

afterEach(() => {
  propagation.disable()
  context.disable()
  trace.disable()
})

/** Runs one call with two attempts and returns its spans and the trace headers of the attempts. */
function spansAndHeaders(headers: { [name: string]: string }, options: OtelOptions = {}) {
  const recorder = createRecorder()
  const given = play(otel({ tracerProvider: recorder.tracerProvider, meterProvider: false, ...options }), {
    headers,
    attempts: [
      { reason: 'first', startedMs: 1, status: 500, latencyMs: 3, error: 'upstream_error' },
      { reason: 'fallback', startedMs: 5, status: 200, latencyMs: 3 },
    ],
  })
  const [call, first, second] = recorder.spans()
  return { call, first, second, given }
}

describe.each([
  ['without a propagator', undefined],
  ['with the W3C propagator', new W3CTraceContextPropagator()],
  [
    'with trace context and baggage',
    new CompositePropagator({ propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()] }),
  ],
])('trace context, %s', (_, propagator) => {
  const setUp = () => propagator === undefined || propagation.setGlobalPropagator(propagator)

  it("continues from the client's headers to each attempt's own span", () => {
    setUp()
    const { call, first, second, given } = spansAndHeaders({ traceparent, tracestate: 'vendor=1,other=2' })
    expect(call).toMatchObject({ traceId, parent: parentId, kind: 'SERVER' })
    expect(given).toEqual([
      { traceparent: `00-${traceId}-${first?.spanId}-01`, tracestate: 'vendor=1,other=2' },
      { traceparent: `00-${traceId}-${second?.spanId}-01`, tracestate: 'vendor=1,other=2' },
    ])
  })

  it('starts a new trace if the client sends no headers', () => {
    setUp()
    const { call, first, given } = spansAndHeaders({})
    expect(call?.parent).toBeUndefined()
    expect(given[0]).toEqual({ traceparent: `00-${call?.traceId}-${first?.spanId}-01` })
  })

  it('sends no baggage to providers', () => {
    setUp()
    const { given } = spansAndHeaders({ traceparent, baggage: 'user=canary' })
    for (const headers of given) expect(Object.keys(headers ?? {})).toEqual(['traceparent'])
  })

  it.each([
    ['too short', traceparent.slice(0, -1)],
    ['with more fields than version 00', `${traceparent}-00`],
    ['of the invalid version ff', traceparent.replace('00-', 'ff-')],
    ['without a trace', `00-${'0'.repeat(32)}-${parentId}-01`],
    ['without a span', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['in capitals', traceparent.toUpperCase()],
    ['without any structure', 'hello'],
  ])('starts a new trace for a header %s', (_, broken) => {
    setUp()
    const { call } = spansAndHeaders({ traceparent: broken })
    expect(call?.traceId).not.toBe(traceId)
    expect(call?.parent).toBeUndefined()
  })

  it('reads the known fields of later versions', () => {
    setUp()
    const { call } = spansAndHeaders({ traceparent: `cc-${traceId}-${parentId}-01-what-the-future-holds` })
    expect(call).toMatchObject({ traceId, parent: parentId })
  })

  it("honours the client's decision not to sample", () => {
    setUp()
    const recorder = createRecorder({ sampler: new ParentBasedSampler({ root: new AlwaysOffSampler() }) })
    const given = play(otel({ tracerProvider: recorder.tracerProvider }), {
      headers: { traceparent: traceparent.replace(/01$/, '00') },
    })
    expect(recorder.spans()).toEqual([])
    expect(given[0]?.traceparent).toMatch(new RegExp(`^00-${traceId}-(?!${parentId})[\\da-f]{16}-00$`))
  })
})

describe('the parent of a call', () => {
  it("is the host's span if there is one, and the call's span is then internal", () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    const recorder = createRecorder()
    const host = recorder.tracerProvider.getTracer('host').startSpan('POST')
    context.with(trace.setSpan(context.active(), host), () =>
      play(otel({ tracerProvider: recorder.tracerProvider }), { headers: { traceparent } }),
    )
    const call = recorder.spans().find(({ attributes }) => attributes['modelgate.operation'] !== undefined)
    expect(call).toMatchObject({
      parent: host.spanContext().spanId,
      traceId: host.spanContext().traceId,
      kind: 'INTERNAL',
    })
  })

  it('is the context that contextFrom returns', () => {
    const { call } = spansAndHeaders({ traceparent }, { contextFrom: () => ROOT_CONTEXT })
    expect(call?.parent).toBeUndefined()
    expect(call?.traceId).not.toBe(traceId)
  })

  it('is the default if contextFrom returns nothing or throws', () => {
    const silent = spansAndHeaders({ traceparent }, { contextFrom: () => undefined })
    const loud = spansAndHeaders(
      { traceparent },
      {
        contextFrom() {
          throw new Error('boom')
        },
      },
    )
    expect([silent.call?.parent, loud.call?.parent]).toEqual([parentId, parentId])
  })
})

it('parses W3C headers as the SDK does', () => {
  const read = (headers: { [name: string]: string }) =>
    trace.getSpanContext(readTraceHeaders(ROOT_CONTEXT, (name) => headers[name]))
  const cases = [
    { traceparent },
    { traceparent, tracestate: 'a=1, b=2' },
    { traceparent: traceparent.replace(/01$/, '00') },
    { tracestate: 'a=1' },
  ]
  for (const headers of cases) {
    const ours = read(headers)
    propagation.setGlobalPropagator(new W3CTraceContextPropagator())
    const theirs = read(headers)
    propagation.disable()
    expect({ ...ours, traceState: ours?.traceState?.serialize() }).toEqual({
      ...theirs,
      traceState: theirs?.traceState?.serialize(),
    })
  }
  expect(createTraceState('a=1').get('a')).toBe('1')
})
