import type { Plugin } from '@modelgate/core'
import type { Attributes, Context, MeterProvider, TracerProvider } from '@opentelemetry/api'
import { createProviderLookup } from './conventions.ts'
import type { CallInfo, RequestEvent } from './events.ts'
import { createMetrics } from './metrics.ts'
import { callHost, runSafely } from './run-safely.ts'
import { createSpans } from './spans.ts'

/** Options of `otel`. */
export interface OtelOptions {
  /**
   * Provider of the spans. Default: the globally registered one, even if it is registered later. `false`: no spans, and no trace
   * headers of our own.
   */
  tracerProvider?: TracerProvider | false
  /** Provider of the metrics. Default: as for `tracerProvider`. `false`: no metrics. */
  meterProvider?: MeterProvider | false
  /**
   * Provider (`gen_ai.provider.name`) of each upstream, by the upstream's name: `{ fast: 'groq' }`. Default: the upstream's
   * own name, in the conventions' spelling if they know it (`gemini` → `gcp.gemini`).
   */
  providers?: Readonly<Record<string, string>>
  /**
   * Returns the parent context of a call's span. Undefined selects the default: the active span (from the host's HTTP
   * instrumentation), else the client's trace headers. `() => ROOT_CONTEXT` trusts no client.
   */
  contextFrom?: (event: RequestEvent) => Context | undefined
  /**
   * Returns attributes to add to the call's spans and metrics, such as a team or a plan. Each combination of values is a time
   * series of its own, so keep them few. Nothing else about the identity is recorded.
   */
  attributes?: (call: CallInfo) => Attributes | undefined
  /** Prompts and responses are never recorded, and no option changes that. */
  captureContent?: never
}

const isPlain = (value: unknown): boolean => typeof value === 'object' && !Array.isArray(value)

const isContext = (value: Partial<Context>): boolean =>
  typeof value.getValue === 'function' && typeof value.setValue === 'function'

/**
 * Creates a plugin that emits OpenTelemetry spans and metrics by the semantic conventions for generative AI (docs/operate/observability.md).
 * Without a registered SDK it costs almost nothing. It never throws and never fails a call: failures are reported to OpenTelemetry's
 * `diag`.
 */
export function otel(options: OtelOptions = {}): Plugin {
  const { tracerProvider, meterProvider, providers, contextFrom, attributes } = options
  const providerOf = createProviderLookup(providers)
  const extra = (call: CallInfo): Attributes => callHost('`attributes`', () => attributes?.(call), isPlain) ?? {}
  const spans =
    tracerProvider === false
      ? undefined
      : createSpans({
          provider: tracerProvider,
          contextFrom: (event) => callHost('`contextFrom`', () => contextFrom?.(event), isContext),
          extra,
          providerOf,
        })
  const measure = meterProvider === false ? undefined : createMetrics(meterProvider, providerOf)
  return {
    name: 'otel',
    onRequest(event) {
      runSafely('beginning a span', () => spans?.begin(event))
    },
    onUpstream: (event) => runSafely("beginning an attempt's span", () => spans?.beginAttempt(event)),
    onFinish(event) {
      runSafely('ending the spans', () => spans?.finish(event))
      runSafely('measuring', () => measure?.(event, () => extra(event)))
    },
  }
}
