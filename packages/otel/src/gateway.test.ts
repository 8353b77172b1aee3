import { anthropic, createGateway, type GatewayConfig, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { describe, expect, it } from 'vitest'
import { otel } from './otel.ts'
import { createRecorder, type RecordedSpan } from './testing/recorder.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const parentId = 'b7ad6b7169203331'
const canary = 'canary-7f3a'

/** Sets up a gateway with two upstreams, one fake provider behind both, and an SDK that records. */
function setUp(over: Partial<GatewayConfig<'openai' | 'claude'>> = {}) {
  const provider = createFakeProvider()
  const recorder = createRecorder()
  const { tracerProvider, meterProvider } = recorder
  const gateway = createGateway({
    auth: (token) => (token === canary ? { id: 'someone' } : null),
    upstreams: {
      openai: openai({ apiKey: `${canary}-1`, baseURL: 'http://first.invalid/v1' }),
      claude: anthropic({ apiKey: `${canary}-2`, baseURL: 'http://second.invalid' }),
    },
    models: {
      smart: [
        { upstream: 'openai', model: 'gpt-5' },
        { upstream: 'claude', model: 'claude-opus-5' },
      ],
      'gpt-*': 'openai',
    },
    retry: { backoffMs: 1 },
    logger: false,
    fetch: provider.fetch,
    plugins: [otel({ tracerProvider, meterProvider })],
    ...over,
  })
  const ask = (body: object, { signal }: { signal?: AbortSignal } = {}) =>
    gateway.fetch(
      new Request('http://gateway.invalid/v1/chat/completions', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${canary}`,
          'content-type': 'application/json',
          traceparent: `00-${traceId}-${parentId}-01`,
          tracestate: 'vendor=1',
        },
        body: JSON.stringify({ model: 'smart', messages: [{ role: 'user', content: `Say ${canary}.` }], ...body }),
        ...(signal === undefined ? {} : { signal }),
      }),
    )
  const tree = (): { call: RecordedSpan; attempts: RecordedSpan[] } => {
    const [call, ...attempts] = recorder.spans()
    if (call === undefined) throw new Error('There is no span.')
    expect(call).toMatchObject({ traceId, parent: parentId, kind: 'SERVER' })
    for (const { parent, traceId: same } of attempts) expect([parent, same]).toEqual([call.spanId, traceId])
    return { call, attempts: attempts.sort((a, b) => number(a) - number(b)) }
  }
  const sentTraces = () => provider.requests.map(({ headers }) => headers.traceparent)
  return { provider, recorder, ask, tree, sentTraces, gateway }
}
const number = ({ attributes }: RecordedSpan): number => Number(attributes['modelgate.attempt.number'])
const reasons = (attempts: readonly RecordedSpan[]) =>
  attempts.map(({ attributes }) => [
    attributes['modelgate.attempt.reason'],
    attributes['gen_ai.provider.name'],
    attributes['error.type'],
  ])

describe('a gateway with the otel plugin', () => {
  it.each([false, true])('traces a successful call (stream: %j) from the client to the provider', async (stream) => {
    const { provider, recorder, ask, tree, sentTraces } = setUp()
    provider.reply({ text: 'Hello there', usage: { input: 100, cacheRead: 80, output: 20 }, paceMs: 5 })
    const body = stream ? { stream, stream_options: { include_usage: true } } : {}
    const response = await ask({ ...body, temperature: 1 })
    await response.text()
    const { call, attempts } = tree()
    expect(call).toMatchObject({ name: 'chat smart', status: 'UNSET' })
    expect(call.attributes).toMatchObject({
      'gen_ai.request.temperature': 1,
      'gen_ai.response.finish_reasons': ['stop'],
      'http.response.status_code': 200,
      'modelgate.outcome': 'finished',
      'modelgate.lane': 'wire',
      'modelgate.request.id': response.headers.get('modelgate-request-id'),
    })
    expect(attempts).toHaveLength(1)
    expect(attempts[0]).toMatchObject({ name: 'chat gpt-5', kind: 'CLIENT', status: 'UNSET' })
    expect(attempts[0]?.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.cache_read.input_tokens': 80,
      'gen_ai.usage.output_tokens': 20,
      'openai.api.type': 'chat_completions',
      'http.response.status_code': 200,
    })
    expect(Object.hasOwn(attempts[0]?.attributes ?? {}, 'gen_ai.response.time_to_first_chunk')).toBe(stream)
    // The upstream's parent span is the attempt's span, and the client's trace state is passed on.
    expect(sentTraces()).toEqual([`00-${traceId}-${attempts[0]?.spanId}-01`])
    expect(provider.requests[0]?.headers.tracestate).toBe('vendor=1')
    expect(call.from).toBeLessThanOrEqual(attempts[0]?.from ?? 0)
    expect(call.to).toBeGreaterThanOrEqual(attempts[0]?.to ?? Number.POSITIVE_INFINITY)
    expect(await recorder.points('gen_ai.client.operation.duration')).toMatchObject([{ count: 1 }])
    expect(await recorder.points('gen_ai.client.token.usage')).toMatchObject([{ sum: 100 }, { sum: 20 }])
  })

  it('traces a call that was retried', async () => {
    const { provider, ask, tree, sentTraces } = setUp()
    provider.reply({ status: 500 }, { text: 'Hello' })
    await (await ask({ model: 'gpt-5' })).text()
    const { call, attempts } = tree()
    expect(reasons(attempts)).toEqual([
      ['first', 'openai', 'upstream_error'],
      ['retry', 'openai', undefined],
    ])
    expect(attempts.map(({ status }) => status)).toEqual(['ERROR', 'UNSET'])
    expect(call.status).toBe('UNSET')
    expect(sentTraces()).toEqual(attempts.map(({ spanId }) => `00-${traceId}-${spanId}-01`))
  })

  it('traces a call that fell back to another target in another format', async () => {
    const { provider, recorder, ask, tree } = setUp()
    provider.on({ format: 'chat' }, { status: 503 })
    provider.on({ format: 'messages' }, { text: 'Hello' })
    await (await ask({ seed: 7 })).text()
    const { call, attempts } = tree()
    expect(reasons(attempts).at(-1)).toEqual(['fallback', 'anthropic', undefined])
    expect(reasons(attempts)[0]).toEqual(['first', 'openai', expect.any(String)])
    expect(call.attributes).toMatchObject({
      'gen_ai.provider.name': 'anthropic',
      'modelgate.upstream.name': 'claude',
      'modelgate.upstream.format': 'messages',
      'modelgate.lane': 'translate',
      'modelgate.loss.kinds': expect.arrayContaining(['unsupported']),
    })
    expect(await recorder.points('modelgate.losses')).not.toEqual([])
  })

  it('traces a hedged call as two concurrent spans, the slow one cancelled', async () => {
    const { provider, ask, tree, sentTraces } = setUp({
      models: { smart: { targets: ['openai', { upstream: 'claude', model: 'claude-opus-5' }], hedgeMs: 20 } },
    })
    provider.on({ format: 'chat' }, { text: 'Slow', fault: { type: 'delay', ms: 500 } })
    provider.on({ format: 'messages' }, { text: 'Quick' })
    await (await ask({})).text()
    const { call, attempts } = tree()
    expect(reasons(attempts)).toEqual([
      ['first', 'openai', 'cancelled'],
      ['hedge', 'anthropic', undefined],
    ])
    const [slow, quick] = attempts
    expect(slow?.status).toBe('UNSET')
    expect(quick?.from).toBeGreaterThanOrEqual((slow?.from ?? 0) + 15)
    expect(quick?.from).toBeLessThanOrEqual(slow?.to ?? 0)
    expect(new Set(sentTraces()).size).toBe(2)
    expect(call.attributes['modelgate.attempt.count']).toBe(2)
  })

  it('traces a call whose attempts all failed', async () => {
    const { provider, ask, tree } = setUp()
    provider.on({}, { status: 500 })
    const response = await ask({})
    await response.text()
    const { call, attempts } = tree()
    expect(response.status).toBeGreaterThanOrEqual(500)
    expect(call).toMatchObject({ status: 'ERROR', message: undefined })
    expect(call.attributes).toMatchObject({
      'error.type': 'upstream_error',
      'http.response.status_code': response.status,
    })
    expect(attempts.length).toBeGreaterThan(1)
    for (const { status } of attempts) expect(status).toBe('ERROR')
  })

  it('traces a call for an unknown model', async () => {
    const { ask, tree, recorder } = setUp()
    expect((await ask({ model: 'nothing' })).status).toBe(404)
    const { call, attempts } = tree()
    expect(attempts).toEqual([])
    expect(call.attributes).toMatchObject({ 'error.type': 'model_not_found', 'modelgate.outcome': 'failed' })
    expect(await recorder.points('modelgate.call.duration')).toHaveLength(1)
  })

  it('traces a stream that broke off', async () => {
    const { provider, ask, tree } = setUp()
    provider.reply({ text: 'one two three four', fault: { type: 'cut', after: 4 } })
    await (await ask({ stream: true })).text()
    const { call, attempts } = tree()
    expect([call.status, attempts.map(({ status }) => status)]).toEqual(['ERROR', ['ERROR']])
    expect(call.attributes['error.type']).toBe('upstream_truncated')
  })

  it('traces a call whose client disconnected', async () => {
    const { provider, ask, tree, recorder } = setUp()
    provider.reply({ text: 'one two three four', paceMs: 20 })
    const reader = (await ask({ stream: true })).body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await expect.poll(() => recorder.spans().length).toBe(2)
    const { call, attempts } = tree()
    expect([call.status, attempts.map(({ status }) => status)]).toEqual(['UNSET', ['UNSET']])
    expect(call.attributes).toMatchObject({ 'modelgate.outcome': 'aborted', 'error.type': 'cancelled' })
  })

  it('records no content, no credentials and no upstream addresses', async () => {
    const { provider, recorder, ask } = setUp()
    provider.reply({ status: 500, error: { message: `Broken: ${canary}` } }, { text: canary, thinking: canary })
    await (await ask({ user: canary, metadata: { [canary]: canary }, logit_bias: { '1': 1 } })).text()
    expect(recorder.spans().length).toBeGreaterThan(1)
    const everything = await recorder.everything()
    expect(everything).not.toContain(canary)
    expect(everything).not.toContain('.invalid')
  })
})
