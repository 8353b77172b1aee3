// `@modelgate/otel/prometheus`: the metrics of this package for Prometheus. It needs `prom-client`, and no OpenTelemetry SDK.
import { type AuthRequest, GatewayError, type Inbound, type Plugin } from '@modelgate/core'
import type { Attributes } from '@opentelemetry/api'
import { Counter, register as globalRegister, Histogram, type Registry } from 'prom-client'
import {
  createBoundedNames,
  createCallRecorder,
  type Instrument,
  instrumentsBy,
  type MetricDefinition,
} from './call-metrics.ts'
import { createProviderLookup } from './conventions.ts'

/** Options of `prometheusMetrics`. */
export interface PrometheusOptions {
  /**
   * Registry that the metrics are added to, and whose metrics the endpoint returns. Default: the global one of prom-client, which also
   * contains your own metrics and those of `collectDefaultMetrics()`.
   */
  register?: Registry
  /** Path of the endpoint below the gateway's base path. Default: `/metrics`. */
  path?: string
  /**
   * Returns whether a request may read the metrics; anything but `true` rejects it with 403. Default: everybody who reaches the gateway may.
   * The metrics contain names of models and upstreams, and numbers of calls and tokens.
   */
  authorize?(request: AuthRequest): boolean | Promise<boolean>
  /** Provider (`gen_ai_provider_name`) of each upstream, by the upstream's name, as in `otel()`. */
  providers?: Readonly<Record<string, string>>
}

/**
 * Creates a plugin that measures calls and serves the metrics to Prometheus. Their names are those of `otel()`, by the rules of
 * OpenTelemetry for Prometheus: `gen_ai.client.operation.duration` becomes `gen_ai_client_operation_duration_seconds`. Names of models are
 * bounded, so that clients cannot create time series.
 *
 * @throws TypeError for invalid options
 *
 * @example
 * createGateway({ …, plugins: [prometheusMetrics({ authorize: ({ header }) => header('authorization') === `Bearer ${token}` })] })
 */
export function prometheusMetrics(options: PrometheusOptions = {}): Plugin {
  const { register = globalRegister, path = '/metrics', authorize, providers } = options
  if (!/^(\/[\w.~-]+)+$/.test(path))
    throw new TypeError(
      `prometheusMetrics: path is '${path}': it must start with '/', not end with one, and have no parameters`,
    )
  if (authorize !== undefined && typeof authorize !== 'function')
    throw new TypeError('prometheusMetrics: authorize must be a function that returns true or false: ({ header }) => …')
  const record = createCallRecorder(createProviderLookup(providers), modelNamesOf(register))
  const instruments = instrumentsBy((definition) => instrumentOf(register, definition))
  let scrape: Promise<string> | undefined

  const mayRead = async (inbound: Inbound): Promise<boolean> => {
    if (authorize === undefined) return true
    const { method, path } = inbound
    return (await authorize({ method, path, header: (name) => inbound.header(name.toLowerCase()) })) === true
  }
  /** Requests at the same time share one text: to write it takes time for each series. */
  const read = (): Promise<string> => {
    scrape ??= register.metrics().finally(() => {
      scrape = undefined
    })
    return scrape
  }

  return {
    name: 'prometheus',
    onFinish: (event) => record(instruments, event),
    routes: [
      {
        method: 'GET',
        path,
        whileDraining: true,
        async handle(inbound) {
          if (!(await mayRead(inbound)))
            throw new GatewayError('permission', 'You may not read the metrics of this gateway.')
          return {
            status: 200,
            headers: { 'content-type': register.contentType, 'cache-control': 'no-store' },
            body: await read(),
          }
        },
      },
    ],
  }
}

/** Model names by registry: a new configuration of the gateway continues the time series of the previous one, and its bound. */
const modelNames = new WeakMap<Registry, ReturnType<typeof createBoundedNames>>()

function modelNamesOf(register: Registry): ReturnType<typeof createBoundedNames> {
  const names = modelNames.get(register) ?? createBoundedNames()
  modelNames.set(register, names)
  return names
}

/** Creates a metric in the registry, or returns the one that an earlier configuration of the gateway created there. */
function instrumentOf(register: Registry, definition: MetricDefinition): Instrument {
  const { buckets, attributes } = definition
  const settings = {
    name: prometheusName(definition),
    help: definition.description,
    labelNames: attributes.map(labelName),
    registers: [register],
  }
  const existing = register.getSingleMetric(settings.name)
  if (buckets === undefined) {
    const counter = (existing as Counter | undefined) ?? new Counter(settings)
    return (value, labels) => counter.inc(labelsOf(labels), value)
  }
  const histogram = (existing as Histogram | undefined) ?? new Histogram({ ...settings, buckets: [...buckets] })
  return (value, labels) => histogram.observe(labelsOf(labels), value)
}

/** Units that are part of a metric's name. Words in braces are comments. */
const unitSuffixes: Readonly<Record<string, string>> = { s: '_seconds' }

const prometheusName = ({ name, unit, buckets }: MetricDefinition): string =>
  labelName(name) + (unitSuffixes[unit] ?? '') + (buckets === undefined ? '_total' : '')

const labelName = (name: string): string => name.replace(/\W/g, '_')

/** Label names by attribute name, of which there are few. */
const labelNames = new Map<string, string>()

function labelsOf(attributes: Attributes): Record<string, string> {
  const labels: Record<string, string> = {}
  for (const name in attributes) {
    let label = labelNames.get(name)
    if (label === undefined) {
      label = labelName(name)
      labelNames.set(name, label)
    }
    labels[label] = String(attributes[name])
  }
  return labels
}
