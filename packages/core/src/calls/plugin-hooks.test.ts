import { describe, expect, it, vi } from 'vitest'
import type { Plugin, RequestEvent, UpstreamEvent } from '../config/plugin.ts'
import type { AttemptLog, TargetCall } from './call.ts'
import { additionalHeaders, notifyRequest } from './plugin-hooks.ts'

const log: AttemptLog = { upstream: 'up', model: 'real', reason: 'fallback', startedMs: 3 }
const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const other = '00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01'

function call(plugins: readonly Plugin[], headers: Record<string, string> = {}) {
  const logger = { warn: vi.fn(), error: vi.fn() }
  const given: Parameters<typeof notifyRequest>[0] & Parameters<typeof additionalHeaders>[0] = {
    // Of what all calls share, observers are told by these two alone.
    shared: { plugins, logger } as unknown as TargetCall['shared'],
    inbound: {
      method: 'POST',
      path: '/v1/chat/completions',
      query: '',
      header: (name) => headers[name],
      read: async () => new Uint8Array(),
      signal: new AbortController().signal,
    },
    record: {
      requestId: 'req_1',
      operation: 'generate',
      format: 'chat',
      startedAt: 12,
      arrivedAt: 1_000_000,
      identity: { id: 'someone' },
      model: 'm',
      stream: true,
      losses: [],
      attempts: [{ ...log, reason: 'first' }, log],
    },
    request: { value: { model: 'm' }, text: '{"model":"m"}', bytes: new Uint8Array(), members: [] },
  }
  return { given, logger }
}
const boom = (): never => {
  throw new Error('boom')
}

describe('plugins are told that a call begins', () => {
  it('with the request as the client wrote it', () => {
    const seen: RequestEvent[] = []
    const { given } = call([{ name: 'one', onRequest: (event) => void seen.push(event) }], { 'user-agent': 'x' })
    notifyRequest(given)
    const [{ header, ...event } = {} as RequestEvent] = seen
    expect(seen.length).toBe(1)
    expect(event).toEqual({
      requestId: 'req_1',
      identity: { id: 'someone' },
      operation: 'generate',
      format: 'chat',
      model: 'm',
      stream: true,
      startedAt: 1_000_000,
      body: { model: 'm' },
    })
    expect([header('user-agent'), header('cookie')]).toEqual(['x', undefined])
  })

  it('each, whatever another throws, which is logged', () => {
    const last = vi.fn()
    const { given, logger } = call([
      { name: 'one', onRequest: boom },
      { name: 'two' },
      { name: 'three', onRequest: last },
    ])
    notifyRequest(given)
    expect(last).toHaveBeenCalledOnce()
    expect(logger.error.mock.calls).toEqual([["modelgate: onRequest of plugin 'one' failed", new Error('boom')]])
  })

  it('as a method of the plugin', () => {
    class Counter implements Plugin {
      readonly name = 'counter'
      count = 0
      onRequest(): void {
        this.count++
      }
      onUpstream(): undefined {
        this.count++
      }
    }
    const counter = new Counter()
    const { given } = call([counter])
    notifyRequest(given)
    additionalHeaders(given, log)
    expect(counter.count).toBe(2)
  })
})

describe('a call upstream', () => {
  const adds =
    (headers: Readonly<Record<string, string>> | undefined): NonNullable<Plugin['onUpstream']> =>
    () =>
      headers
  const trace = { traceparent: parent, tracestate: 'a=1' }

  it.each<[string, Record<string, string>, Plugin['onUpstream'][], Record<string, string> | undefined]>([
    ['carries nothing more where there is nothing', {}, [], undefined],
    ['carries the client’s trace', trace, [], trace],
    ['carries a parent without a state', { traceparent: parent }, [], { traceparent: parent }],
    ['carries no state without a parent', { tracestate: 'a=1' }, [], undefined],
    ['carries nothing else of the client', { baggage: 'x', authorization: 'y' }, [], undefined],
    ['keeps the client’s trace where plugins add nothing', trace, [undefined, adds(undefined), adds({})], trace],
    ['keeps it where they add something else', trace, [adds({ 'x-a': '1' })], { ...trace, 'x-a': '1' }],
    [
      'goes by the plugin’s parent, without the other’s state',
      trace,
      [adds({ traceparent: other })],
      { traceparent: other },
    ],
    [
      'goes by the plugin’s parent and state',
      trace,
      [adds({ traceparent: other, tracestate: 'b=2' })],
      { traceparent: other, tracestate: 'b=2' },
    ],
    [
      'goes by the last plugin’s',
      {},
      [adds({ traceparent: parent, tracestate: 'b=2', 'x-a': '1' }), adds({ traceparent: other })],
      { traceparent: other, 'x-a': '1' },
    ],
  ])('%s', (_, client, hooks, headers) => {
    const plugins = hooks.map((onUpstream, at) => ({
      name: `p${at}`,
      ...(onUpstream === undefined ? {} : { onUpstream }),
    }))
    expect(additionalHeaders(call(plugins, client).given, log)).toEqual(headers)
  })

  it('is told to plugins before it is made', () => {
    const seen: UpstreamEvent[] = []
    const { given } = call([{ name: 'one', onUpstream: (event) => void seen.push(event) }])
    additionalHeaders(given, log)
    expect(seen).toEqual([{ requestId: 'req_1', upstream: 'up', model: 'real', attempt: 2, reason: 'fallback' }])
  })

  it('is made whatever a plugin throws, with what others add', () => {
    const { given, logger } = call(
      [
        { name: 'one', onUpstream: boom },
        { name: 'two', onUpstream: adds({ 'x-a': '1' }) },
      ],
      trace,
    )
    expect(additionalHeaders(given, log)).toEqual({ ...trace, 'x-a': '1' })
    expect(logger.error.mock.calls).toEqual([["modelgate: onUpstream of plugin 'one' failed", new Error('boom')]])
  })
})
