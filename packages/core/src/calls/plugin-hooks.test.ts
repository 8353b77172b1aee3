import { describe, expect, it, vi } from 'vitest'
import type { Plugin, RequestEvent, UpstreamEvent } from '../config/plugin.ts'
import type { AttemptLog, TargetCall } from './call.ts'
import { additionalHeaders, notifyRequest } from './plugin-hooks.ts'

const log: AttemptLog = { upstream: 'up', model: 'real', reason: 'fallback', startedMs: 3 }
const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const other = '00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01'

function call(plugins: readonly Plugin[], headers: Record<string, string> = {}) {
  const logger = { warn: vi.fn(), error: vi.fn() }
  const targetCall: Parameters<typeof notifyRequest>[0] & Parameters<typeof additionalHeaders>[0] = {
    // Plugin hooks need only these two members of the shared context.
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
    request: {
      value: { model: 'm' },
      fields: { model: 'm' },
      text: '{"model":"m"}',
      bytes: new Uint8Array(),
      members: [],
    },
  }
  return { targetCall, logger }
}
const boom = (): never => {
  throw new Error('boom')
}

describe('the onRequest hook', () => {
  it('receives the request as the client sent it', () => {
    const seen: RequestEvent[] = []
    const { targetCall } = call([{ name: 'one', onRequest: (event) => void seen.push(event) }], { 'user-agent': 'x' })
    notifyRequest(targetCall)
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

  it('is called for every plugin, even if another one throws, and the error is logged', () => {
    const last = vi.fn()
    const { targetCall, logger } = call([
      { name: 'one', onRequest: boom },
      { name: 'two' },
      { name: 'three', onRequest: last },
    ])
    notifyRequest(targetCall)
    expect(last).toHaveBeenCalledOnce()
    expect(logger.error.mock.calls).toEqual([["modelgate: onRequest of plugin 'one' failed", new Error('boom')]])
  })

  it('is called as a method of the plugin, like onUpstream', () => {
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
    const { targetCall } = call([counter])
    notifyRequest(targetCall)
    additionalHeaders(targetCall, log)
    expect(counter.count).toBe(2)
  })
})

describe('an upstream call', () => {
  const adds =
    (headers: Readonly<Record<string, string>> | undefined): NonNullable<Plugin['onUpstream']> =>
    () =>
      headers
  const trace = { traceparent: parent, tracestate: 'a=1' }

  it.each<[string, Record<string, string>, Plugin['onUpstream'][], Record<string, string> | undefined]>([
    ['has no additional headers by default', {}, [], undefined],
    ['forwards the client’s trace', trace, [], trace],
    ['forwards a traceparent without a tracestate', { traceparent: parent }, [], { traceparent: parent }],
    ['drops a tracestate without a traceparent', { tracestate: 'a=1' }, [], undefined],
    ['forwards no other headers of the client', { baggage: 'x', authorization: 'y' }, [], undefined],
    ['keeps the client’s trace if plugins add nothing', trace, [undefined, adds(undefined), adds({})], trace],
    ['keeps the client’s trace if plugins add other headers', trace, [adds({ 'x-a': '1' })], { ...trace, 'x-a': '1' }],
    [
      'uses the traceparent of a plugin without the client’s tracestate',
      trace,
      [adds({ traceparent: other })],
      { traceparent: other },
    ],
    [
      'uses the traceparent and tracestate of a plugin',
      trace,
      [adds({ traceparent: other, tracestate: 'b=2' })],
      { traceparent: other, tracestate: 'b=2' },
    ],
    [
      'uses the traceparent of the last plugin',
      {},
      [adds({ traceparent: parent, tracestate: 'b=2', 'x-a': '1' }), adds({ traceparent: other })],
      { traceparent: other, 'x-a': '1' },
    ],
  ])('%s', (_, client, hooks, headers) => {
    const plugins = hooks.map((onUpstream, at) => ({
      name: `p${at}`,
      ...(onUpstream === undefined ? {} : { onUpstream }),
    }))
    expect(additionalHeaders(call(plugins, client).targetCall, log)).toEqual(headers)
  })

  it('is reported to onUpstream before it is sent', () => {
    const seen: UpstreamEvent[] = []
    const { targetCall } = call([{ name: 'one', onUpstream: (event) => void seen.push(event) }])
    additionalHeaders(targetCall, log)
    expect(seen).toEqual([{ requestId: 'req_1', upstream: 'up', model: 'real', attempt: 2, reason: 'fallback' }])
  })

  it('is sent with the headers of other plugins if one plugin throws', () => {
    const { targetCall, logger } = call(
      [
        { name: 'one', onUpstream: boom },
        { name: 'two', onUpstream: adds({ 'x-a': '1' }) },
      ],
      trace,
    )
    expect(additionalHeaders(targetCall, log)).toEqual({ ...trace, 'x-a': '1' })
    expect(logger.error.mock.calls).toEqual([["modelgate: onUpstream of plugin 'one' failed", new Error('boom')]])
  })
})
