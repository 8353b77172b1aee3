import { anthropic, createGateway, type GatewayConfig, openai } from '@modelgate/core'
import { createFakeProvider } from '@modelgate/testing'
import { Counter, register as globalRegister, Registry } from 'prom-client'
import { afterEach, describe, expect, it } from 'vitest'
import { callBuckets, secondBuckets, tokenBuckets } from './conventions.ts'
import { otel } from './otel.ts'
import { type PrometheusOptions, prometheusMetrics } from './prometheus.ts'
import { createRecorder } from './testing/recorder.ts'

afterEach(() => globalRegister.clear())

const clientToken = 'client-7f3a'

/** A gateway that is measured for OpenTelemetry and for Prometheus. */
function setUp(options: PrometheusOptions = {}, over: Partial<GatewayConfig<'openai' | 'claude'>> = {}) {
  const provider = createFakeProvider()
  const recorder = createRecorder()
  const register = options.register ?? new Registry()
  const plugins = [
    otel({ meterProvider: recorder.meterProvider, tracerProvider: false }),
    prometheusMetrics({ register, ...options }),
  ]
  const config = {
    auth: (token) => (token === clientToken ? { id: 'caller-7f3a' } : null),
    upstreams: {
      openai: openai({ apiKey: 'key-7f3a', baseURL: 'http://first.invalid/v1' }),
      claude: anthropic({ apiKey: 'key-7f3a', baseURL: 'http://second.invalid' }),
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
    plugins,
    ...over,
  } satisfies GatewayConfig<'openai' | 'claude'>
  const gateway = createGateway(config)
  const ask = async (body: object, path = '/v1/chat/completions'): Promise<number> => {
    const response = await gateway.fetch(`http://gateway.invalid${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'smart', messages: [{ role: 'user', content: 'Say prompt-7f3a.' }], ...body }),
    })
    await response.text()
    return response.status
  }
  const scrape = async (path = '/metrics', headers: Record<string, string> = {}) => {
    const response = await gateway.fetch(`http://gateway.invalid${path}`, { headers })
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
  }
  return { provider, recorder, register, gateway, config, ask, scrape }
}

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Parses the text format of Prometheus. Throws for lines that it does not know. */
function parse(text: string): { types: Map<string, string>; samples: readonly Sample[] } {
  const types = new Map<string, string>()
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue
    const [, typed = '', type = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (typed !== '') {
      types.set(typed, type)
      continue
    }
    const [, name, labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined) throw new Error(`unknown line: ${line}`)
    samples.push({
      name,
      labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, text]) => [label, text])),
      value: value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value),
    })
  }
  return { types, samples }
}

const prometheusNames = {
  'gen_ai.client.operation.duration': 'gen_ai_client_operation_duration_seconds',
  'gen_ai.client.operation.time_to_first_chunk': 'gen_ai_client_operation_time_to_first_chunk_seconds',
  'gen_ai.client.token.usage': 'gen_ai_client_token_usage',
  'modelgate.call.duration': 'modelgate_call_duration_seconds',
  'modelgate.call.time_to_first_event': 'modelgate_call_time_to_first_event_seconds',
  'modelgate.attempts': 'modelgate_attempts_total',
  'modelgate.losses': 'modelgate_losses_total',
} as const

/** The samples of Prometheus that follow from the metrics of an OpenTelemetry SDK. */
async function expectedSamples({ metrics }: ReturnType<typeof createRecorder>): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const { descriptor, dataPoints } of await metrics()) {
    const name = prometheusNames[descriptor.name as keyof typeof prometheusNames]
    for (const { attributes, value } of dataPoints) {
      const labels = Object.fromEntries(
        Object.entries(attributes).map(([key, text]) => [key.replaceAll('.', '_'), String(text)]),
      )
      if (typeof value === 'number') {
        samples.push({ name, labels, value })
        continue
      }
      if (!('buckets' in value) || !('boundaries' in value.buckets)) throw new Error(`${name} is no histogram`)
      const { boundaries, counts } = value.buckets
      let count = 0
      for (const [index, le] of [...boundaries, '+Inf'].entries()) {
        count += counts[index] ?? 0
        samples.push({ name: `${name}_bucket`, labels: { ...labels, le: String(le) }, value: count })
      }
      samples.push(
        { name: `${name}_sum`, labels, value: value.sum ?? 0 },
        { name: `${name}_count`, labels, value: count },
      )
    }
  }
  return samples
}

const keyOf = ({ name, labels }: Sample): string => `${name} ${JSON.stringify(Object.entries(labels).sort())}`
const byKey = (samples: readonly Sample[]) =>
  Object.fromEntries(samples.map((sample) => [keyOf(sample), expect.closeTo(sample.value, 9) as number]))
const valuesByKey = (samples: readonly Sample[]) =>
  Object.fromEntries(samples.map((sample) => [keyOf(sample), sample.value]))

describe('a scrape', () => {
  it('has the metrics of OpenTelemetry for the same calls: JSON, streamed, failed, with a fallback and with losses', async () => {
    const { provider, recorder, ask, scrape } = setUp()
    provider.reply(
      { text: 'Hello', usage: { input: 100, output: 20 } },
      { text: 'Hello there', usage: { input: 7, output: 3 } },
    )
    expect(await ask({})).toBe(200)
    expect(await ask({ stream: true, stream_options: { include_usage: true } })).toBe(200)
    provider.on({ format: 'chat' }, { status: 503 })
    provider.on({ format: 'messages' }, { text: 'From the other one', usage: { input: 9, output: 4 } })
    expect(await ask({ seed: 1 })).toBe(200)
    expect(await ask({ model: 'gpt-5' })).toBe(503)

    const { status, type, text } = await scrape()
    expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    const { types, samples } = parse(text)
    const expected = await expectedSamples(recorder)
    expect(Object.keys(prometheusNames).sort()).toEqual(
      (await recorder.metrics()).map(({ descriptor }) => descriptor.name).sort(),
    )
    expect(valuesByKey(samples)).toEqual(byKey(expected))
    expect(Object.fromEntries(types)).toEqual({
      gen_ai_client_operation_duration_seconds: 'histogram',
      gen_ai_client_operation_time_to_first_chunk_seconds: 'histogram',
      gen_ai_client_token_usage: 'histogram',
      modelgate_call_duration_seconds: 'histogram',
      modelgate_call_time_to_first_event_seconds: 'histogram',
      modelgate_attempts_total: 'counter',
      modelgate_losses_total: 'counter',
    })
    // Literal values, independent of the other exporter.
    const sampleValue = (name: string, wanted: Record<string, string>): number | undefined =>
      samples.find(
        ({ name: found, labels }) =>
          found === name && Object.entries(wanted).every(([key, text]) => labels[key] === text),
      )?.value
    expect(sampleValue('modelgate_attempts_total', { modelgate_attempt_reason: 'fallback' })).toBe(1)
    expect(
      sampleValue('modelgate_attempts_total', { gen_ai_provider_name: 'openai', error_type: 'overloaded' }),
    ).toBeGreaterThan(0)
    expect(
      sampleValue('gen_ai_client_token_usage_sum', { gen_ai_provider_name: 'anthropic', gen_ai_token_type: 'output' }),
    ).toBe(4)
    expect(
      sampleValue('modelgate_call_duration_seconds_count', {
        gen_ai_request_model: 'gpt-5',
        modelgate_outcome: 'failed',
        http_response_status_code: '503',
      }),
    ).toBe(1)
    expect(sampleValue('modelgate_losses_total', { modelgate_loss_kind: 'unsupported' })).toBeGreaterThan(0)
  })

  it('has the buckets of OpenTelemetry', async () => {
    const { ask, scrape } = setUp()
    await ask({ stream: true, stream_options: { include_usage: true } })
    const { samples } = parse((await scrape()).text)
    const bucketsOf = (name: string): number[] => {
      const [first] = samples.filter(({ name: found }) => found === `${name}_bucket`)
      const { le: _, ...labels } = first?.labels ?? {}
      return samples
        .filter(
          (sample) =>
            sample.name === `${name}_bucket` &&
            keyOf({ ...sample, labels: { ...sample.labels, le: '' } }) ===
              keyOf({ name: `${name}_bucket`, labels: { ...labels, le: '' }, value: 0 }),
        )
        .map(({ labels: { le } }) => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)))
    }
    const inf = Number.POSITIVE_INFINITY
    expect(bucketsOf('gen_ai_client_operation_duration_seconds')).toEqual([...secondBuckets, inf])
    expect(bucketsOf('modelgate_call_duration_seconds')).toEqual([...callBuckets, inf])
    expect(bucketsOf('gen_ai_client_token_usage')).toEqual([...tokenBuckets, inf])
  })

  it('contains no credential, caller, request id or content', async () => {
    const { provider, ask, scrape } = setUp()
    provider.reply({ status: 500, error: { message: 'Broken: key-7f3a' } }, { text: 'reply-7f3a' })
    await ask({})
    const { text } = await scrape()
    expect(text).toContain('modelgate_attempts_total{')
    expect(text).not.toMatch(/7f3a|req_/)
  })

  it('bounds the series of model names that clients invent, also across new configurations of the gateway', async () => {
    const { provider, ask, scrape, gateway, config, register } = setUp()
    provider.on({}, { status: 404 })
    const guess = async (from: number): Promise<void> => {
      for (let n = from; n < from + 120; n++) await ask({ model: `gpt-guess-${n}` })
    }
    await guess(0)
    const modelsOf = async (): Promise<Set<string>> =>
      new Set(parse((await scrape()).text).samples.map(({ labels }) => labels.gen_ai_request_model ?? ''))
    const models = await modelsOf()
    expect(models.size).toBe(101)
    expect(models).toContain('_OTHER')
    gateway.reconfigure({ ...config, plugins: [prometheusMetrics({ register })] })
    await guess(1000)
    expect(await modelsOf()).toEqual(models)
    const attempts = parse((await scrape()).text).samples.filter(({ name }) => name === 'modelgate_attempts_total')
    expect(attempts.reduce((sum, { value }) => sum + value, 0)).toBe(240)
  })
})

describe('prometheusMetrics', () => {
  it('uses the global registry of prom-client, with the metrics of the host', async () => {
    new Counter({ name: 'host_total', help: 'x' }).inc(3)
    const { ask, scrape } = setUp({ register: globalRegister })
    await ask({})
    const { text } = await scrape()
    expect(text).toContain('\nhost_total 3\n')
    expect(text).toContain('modelgate_attempts_total{')
    expect(await globalRegister.metrics()).toBe(text)
    const gateway = createGateway({
      auth: 'none',
      upstreams: { openai: openai({ apiKey: 'k' }) },
      models: { 'gpt-*': 'openai' },
      plugins: [prometheusMetrics()],
    })
    expect(await (await gateway.fetch('http://gateway.invalid/metrics')).text()).toBe(text)
  })

  it('serves the path of its options, and providers by its names', async () => {
    const { ask, scrape } = setUp({ path: '/internal/metrics', providers: { openai: 'azure.ai.openai' } })
    await ask({})
    expect((await scrape()).status).toBe(404)
    const { status, text } = await scrape('/internal/metrics')
    expect(status).toBe(200)
    expect(text).toContain('gen_ai_provider_name="azure.ai.openai"')
  })

  it.each<[string, PrometheusOptions['authorize'], string, number]>([
    ['the right token', ({ header }) => header('Authorization') === 'Bearer scraper', 'Bearer scraper', 200],
    ['another token', async ({ header }) => header('Authorization') === 'Bearer scraper', 'Bearer x', 403],
    ['a truthy result', (() => 'yes') as unknown as PrometheusOptions['authorize'], '', 403],
    ['an exception', () => Promise.reject(new Error('no session store')), '', 500],
  ])('authorizes a scrape with %s', async (_, authorize, authorization, expected) => {
    const { scrape } = setUp(authorize === undefined ? {} : { authorize })
    const { status, text } = await scrape('/metrics', { authorization })
    expect(status).toBe(expected)
    expect(text.includes('# TYPE')).toBe(expected === 200)
  })

  it('serves the metrics during and after a graceful shutdown', async () => {
    const { gateway, ask, scrape } = setUp()
    await ask({})
    await gateway.close()
    expect((await scrape()).text).toContain('modelgate_attempts_total{')
  })

  it.each(['metrics', '/', '/metrics/', '/{name}'])('rejects the path %s', (path) => {
    expect(() => prometheusMetrics({ register: new Registry(), path })).toThrow('path is')
  })
})
