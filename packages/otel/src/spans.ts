import {
  type Attributes,
  type Context,
  context as contexts,
  isSpanContextValid,
  ProxyTracerProvider,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { attemptAttributes, callEndAttributes, callStartAttributes } from './call-attributes.ts'
import { attributeNames, modelgateNames, operationConvention, schemaUrl } from './conventions.ts'
import {
  attemptEnd,
  type CallInfo,
  errorTypeOf,
  type FinishEvent,
  type RequestEvent,
  type UpstreamEvent,
} from './events.ts'
import { providerRequestAttributes, requestAttributes, truncate } from './request-attributes.ts'
import { readTraceHeaders, writeTraceHeaders } from './trace-headers.ts'
import { version } from './version.ts'

export interface SpanOptions {
  /** Undefined: the provider registered globally at the time of the call. */
  readonly provider: TracerProvider | undefined
  readonly contextFrom: (event: RequestEvent) => Context | undefined
  /** Returns the user's attributes for the spans of a call. */
  readonly extra: (call: CallInfo) => Attributes
  readonly providerOf: (upstream: string) => string
}

/** Records a span for each call, with a child span for each attempt. */
export interface CallSpans {
  begin(event: RequestEvent): void
  /** Returns the trace headers of the attempt's span. */
  beginAttempt(event: UpstreamEvent): Readonly<Record<string, string>> | undefined
  finish(event: FinishEvent): void
}

/** A call whose span is open. */
interface OpenCall {
  readonly tracer: Tracer
  readonly span: Span
  readonly context: Context
  /** Attributes on every span of the call. */
  readonly shared: Attributes
  readonly body: RequestEvent['body']
  readonly stream: boolean
  readonly clock: Clock
  /** Ordered by attempt number, from 1. */
  readonly attempts: OpenAttempt[]
}
interface OpenAttempt {
  readonly span: Span
  readonly startedAt: number
}

/** Limit of open calls. More are never in flight at once, and a call that never ends must not be kept for ever. */
const maxOpenCalls = 100_000

export function createSpans({ provider, contextFrom, extra, providerOf }: SpanOptions): CallSpans {
  const open = new Map<string, OpenCall>()
  let tracer: Tracer | undefined
  let madeBy: TracerProvider | undefined

  const currentTracer = (): Tracer | undefined => {
    const now = provider ?? trace.getTracerProvider()
    if (!isTracing(now)) return undefined
    if (tracer === undefined || now !== madeBy) tracer = now.getTracer('@modelgate/otel', version, { schemaUrl })
    madeBy = now
    return tracer
  }

  /** Returns undefined if tracing is off: then nothing is kept, and the client's own headers pass unchanged. */
  function beginCall(
    event: CallInfo,
    parentOf: () => Context,
    startedAt: number,
    body: RequestEvent['body'] = {},
  ): OpenCall | undefined {
    const tracer = currentTracer()
    if (tracer === undefined) return undefined
    const parent = parentOf()
    const { stream } = event
    const shared = {
      ...extra(event),
      [attributeNames.operation]: operationConvention(event.operation, event.format).name,
    }
    const span = tracer.startSpan(
      spanName(shared, event.model),
      {
        // The host's own span already stands for the server.
        kind: isLocal(parent) ? SpanKind.INTERNAL : SpanKind.SERVER,
        startTime: startedAt,
        attributes: { ...shared, ...callStartAttributes(event) },
      },
      parent,
    )
    // A no-op tracer returns the parent's span context or an invalid one.
    const spanContext = span.spanContext()
    if (!isSpanContextValid(spanContext) || spanContext.spanId === trace.getSpanContext(parent)?.spanId)
      return undefined
    const attributes = span.isRecording() ? requestAttributes({ ...event, body }) : {}
    span.setAttributes(attributes)
    return {
      tracer,
      span,
      context: trace.setSpan(parent, span),
      shared: { ...shared, ...attributes, ...(stream ? { [attributeNames.stream]: true } : {}) },
      body,
      stream,
      clock: startClock(startedAt),
      attempts: [],
    }
  }

  function attemptSpan(
    { tracer, shared, body, context, attempts }: OpenCall,
    { upstream, model, reason }: Pick<UpstreamEvent, 'upstream' | 'model' | 'reason'>,
    number: number,
    startedAt: number,
  ): OpenAttempt {
    const name = providerOf(upstream)
    const span = tracer.startSpan(
      spanName(shared, model),
      {
        kind: SpanKind.CLIENT,
        startTime: startedAt,
        attributes: {
          ...shared,
          [attributeNames.provider]: name,
          [attributeNames.requestModel]: truncate(model),
          ...providerRequestAttributes(name, body),
          [modelgateNames.upstream]: upstream,
          [modelgateNames.attempt]: number,
          [modelgateNames.reason]: reason,
        },
      },
      context,
    )
    const attempt = { span, startedAt }
    attempts[number - 1] = attempt
    return attempt
  }

  return {
    begin(event) {
      const call = beginCall(event, () => contextFrom(event) ?? parentOf(event), event.startedAt, event.body)
      if (call === undefined) return
      open.set(event.requestId, call)
      if (open.size <= maxOpenCalls) return
      for (const [id, oldest] of open) {
        oldest.span.end()
        open.delete(id)
        return
      }
    },
    beginAttempt(event) {
      const call = open.get(event.requestId)
      if (call === undefined) return undefined
      const { span } = attemptSpan(call, event, event.attempt, call.clock())
      return writeTraceHeaders(trace.setSpan(call.context, span))
    },
    finish(event) {
      const known = open.get(event.requestId)
      open.delete(event.requestId)
      // Calls rejected before they were read, and requests without a body, are recorded afterwards.
      const call = known ?? beginCall(event, () => contexts.active(), event.startedAt)
      if (call === undefined) return
      const endedAt = call.clock()
      for (const [index, attempt] of event.attempts.entries()) {
        const { span, startedAt } =
          call.attempts[index] ?? attemptSpan(call, attempt, index + 1, event.startedAt + attempt.startedMs)
        const end = attemptEnd(event, index)
        span.setAttributes(attemptAttributes(event, attempt, end, providerOf(attempt.upstream)))
        if (end.errorType !== undefined && end.errorType !== 'cancelled') span.setStatus({ code: SpanStatusCode.ERROR })
        span.end(end.answered ? endedAt : Math.min(startedAt + end.durationMs, endedAt))
      }
      const errorType = errorTypeOf(event)
      call.span.setAttributes(callEndAttributes(event, errorType, providerOf))
      if (isServerFailure(event)) call.span.setStatus({ code: SpanStatusCode.ERROR })
      call.span.end(endedAt)
    },
  }
}

const spanName = (shared: Attributes, model: string): string =>
  model === '' ? `${shared[attributeNames.operation]}` : `${shared[attributeNames.operation]} ${truncate(model)}`

/** Returns the context of the host's span if there is one, else that of the client's trace headers. */
function parentOf(event: RequestEvent): Context {
  const active = contexts.active()
  const span = trace.getSpanContext(active)
  if (span !== undefined && isSpanContextValid(span)) return active
  return readTraceHeaders(active, (name) => event.header(name))
}

function isLocal(context: Context): boolean {
  const span = trace.getSpanContext(context)
  return span !== undefined && isSpanContextValid(span) && span.isRemote !== true
}

/**
 * A server's 4xx is the client's error, not the server's. A response that broke off under a 2xx status is the server's failure.
 */
const isServerFailure = ({ outcome, status }: FinishEvent): boolean =>
  outcome === 'failed' && (status >= 500 || status < 400)

/** The API's placeholder until a provider is registered. */
const noopProvider = new ProxyTracerProvider().getDelegate()

/** Returns false until an SDK is registered, so that a call costs nothing until then. */
const isTracing = (provider: TracerProvider): boolean =>
  !(provider instanceof ProxyTracerProvider) || provider.getDelegate() !== noopProvider

/** Milliseconds since 1970. */
export type Clock = () => number

/**
 * Starts a clock that never goes back: within one call a later event has a later time, even if the machine's clock is set back.
 *
 * @param notBefore in milliseconds since 1970
 */
function startClock(notBefore: number): Clock {
  const offset = Math.max(Date.now(), notBefore) - performance.now()
  return () => offset + performance.now()
}
