import {
  type Context,
  createTraceState,
  isSpanContextValid,
  propagation,
  type TextMapGetter,
  type TextMapSetter,
  TraceFlags,
  trace,
} from '@opentelemetry/api'

/** Reads a header by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined

const getter: TextMapGetter<HeaderReader> = {
  get: (header, name) => header(name.toLowerCase()),
  keys: () => propagation.fields(),
}
const setter: TextMapSetter<Record<string, string>> = {
  set(headers, name, value) {
    headers[name.toLowerCase()] = value
  },
}

/** Without a registered propagator the API reads and writes nothing: W3C trace context is used then. */
const hasPropagator = (): boolean => propagation.fields().length > 0

/** Returns the context that a client's trace headers describe, or `base` without them. */
export const readTraceHeaders = (base: Context, header: HeaderReader): Context =>
  hasPropagator() ? propagation.extract(base, header, getter) : readW3C(base, header)

/** Returns the trace headers of the context's span, by lower-case name, or undefined without a span. */
export function writeTraceHeaders(context: Context): Readonly<Record<string, string>> | undefined {
  if (!hasPropagator()) return writeW3C(context)
  const headers: Record<string, string> = {}
  // Baggage belongs to the application, and a model provider is another company.
  propagation.inject(propagation.deleteBaggage(context), headers, setter)
  return Object.keys(headers).length === 0 ? undefined : headers
}

/** Version, trace, parent span, flags. Versions after 00 may have more fields (W3C Trace Context 2, 4.3). */
const traceparent = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

function readW3C(base: Context, header: HeaderReader): Context {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    traceparent.exec(header('traceparent')?.trim() ?? '') ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return base
  const state = header('tracestate')
  const spanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(state === undefined ? {} : { traceState: createTraceState(state) }),
  }
  return isSpanContextValid(spanContext) ? trace.setSpanContext(base, spanContext) : base
}

function writeW3C(context: Context): Record<string, string> | undefined {
  const span = trace.getSpanContext(context)
  if (span === undefined || !isSpanContextValid(span)) return undefined
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0')
  const state = span.traceState?.serialize()
  return {
    traceparent: `00-${span.traceId}-${span.spanId}-${flags}`,
    ...(state === undefined || state === '' ? {} : { tracestate: state }),
  }
}
