import type { Plugin } from '@modelgate/core'
import type { Attributes, Context, MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { CallInfo, RequestEvent } from './events.ts'
import { createMeasure } from './metrics.ts'
import { providerNames } from './providers.ts'
import { hostValue, quietly } from './quietly.ts'
import { createSpans } from './spans.ts'

/** What `otel` takes. */
export interface OtelOptions {
  /** Makes the spans. Default: the one that is registered globally, also when that happens later. `false`: no spans, and no trace headers of our own. */
  tracerProvider?: TracerProvider | false
  /** Makes the metrics. Default: as for `tracerProvider`. `false`: no metrics. */
  meterProvider?: MeterProvider | false
  /**
   * Which provider an upstream is (`gen_ai.provider.name`), by the upstream's name: `{ fast: 'groq' }`. Default: the upstream's
   * own name, in the conventions' spelling where it is one that they know (`gemini` → `gcp.gemini`).
   */
  providers?: Readonly<Record<string, string>>
  /**
   * The context that a call's span continues; undefined: the default, which is the active span (that of the host's HTTP
   * instrumentation), else what the client's trace headers name. `() => ROOT_CONTEXT` trusts no client.
   */
  contextFrom?: (event: RequestEvent) => Context | undefined
  /**
   * Added to the call's spans and metrics: a team, a plan. Each combination of values is a time series of its own, so these
   * should be few. Nothing of the identity is recorded otherwise.
   */
  attributes?: (call: CallInfo) => Attributes | undefined
  /** Prompts and answers are never recorded, and there is no way to have them recorded. */
  captureContent?: never
}

const isPlain = (value: unknown): boolean => typeof value === 'object' && !Array.isArray(value)

const isContext = (value: Partial<Context>): boolean =>
  typeof value.getValue === 'function' && typeof value.setValue === 'function'

/**
 * A plugin that emits OpenTelemetry spans and metrics by the semantic conventions for generative AI (docs/observability.md).
 * Without a registered SDK it does next to nothing. It never throws, and never fails a call: what goes wrong is told to
 * OpenTelemetry's `diag`.
 */
export function otel(options: OtelOptions = {}): Plugin {
  const { tracerProvider, meterProvider, providers, contextFrom, attributes } = options
  const providerOf = providerNames(providers)
  const extra = (call: CallInfo): Attributes => hostValue('`attributes`', () => attributes?.(call), isPlain) ?? {}
  const spans =
    tracerProvider === false
      ? undefined
      : createSpans({
          provider: tracerProvider,
          contextFrom: (event) => hostValue('`contextFrom`', () => contextFrom?.(event), isContext),
          extra,
          providerOf,
        })
  const measure = meterProvider === false ? undefined : createMeasure(meterProvider, providerOf)
  return {
    name: 'otel',
    onRequest(event) {
      quietly('beginning a span', () => spans?.begin(event))
    },
    onUpstream: (event) => quietly("beginning an attempt's span", () => spans?.beginAttempt(event)),
    onFinish(event) {
      quietly('ending the spans', () => spans?.finish(event))
      quietly('measuring', () => measure?.(event, () => extra(event)))
    },
  }
}
