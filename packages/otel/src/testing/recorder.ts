import { type TracerProvider as ApiTracerProvider, type HrTime, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { MeterProvider, type MetricData, MetricReader } from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'

/** A span in the form that tests read. */
export interface RecordedSpan {
  readonly name: string
  readonly kind: string
  readonly traceId: string
  readonly spanId: string
  readonly parent: string | undefined
  /** Milliseconds since 1970. */
  readonly from: number
  readonly to: number
  readonly status: string
  readonly message: string | undefined
  readonly attributes: { readonly [name: string]: unknown }
  readonly raw: ReadableSpan
}

export interface RecordedPoint {
  readonly attributes: { readonly [name: string]: unknown }
  /** Counters: the value. Histograms: the count and the sum of values. */
  readonly value?: number
  readonly count?: number
  readonly sum?: number
  readonly boundaries?: readonly number[]
}

class ManualReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** Creates an SDK that records in memory. */
export function createRecorder({ sampler }: { sampler?: Sampler } = {}) {
  const exporter = new InMemorySpanExporter()
  const tracerProvider: ApiTracerProvider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    ...(sampler === undefined ? {} : { sampler }),
  })
  const reader = new ManualReader()
  const meterProvider = new MeterProvider({ readers: [reader] })
  const metrics = async (): Promise<MetricData[]> =>
    (await reader.collect()).resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
  return {
    tracerProvider,
    meterProvider,
    /** In order of start; the call before its attempts. */
    spans: (): RecordedSpan[] =>
      exporter
        .getFinishedSpans()
        .map(toRecordedSpan)
        .sort((a, b) => Number(b.parent === undefined) - Number(a.parent === undefined) || a.from - b.from),
    metrics,
    points: async (name: string): Promise<RecordedPoint[]> => {
      const found = (await metrics()).find(({ descriptor }) => descriptor.name === name)
      return (found?.dataPoints ?? []).map(({ attributes, value }) =>
        typeof value === 'number'
          ? { attributes, value }
          : {
              attributes,
              count: value.count,
              ...(value.sum === undefined ? {} : { sum: value.sum }),
              ...('buckets' in value && 'boundaries' in value.buckets ? { boundaries: value.buckets.boundaries } : {}),
            },
      )
    },
    /** Returns all exported telemetry as text. */
    async everything(): Promise<string> {
      const spans = exporter.getFinishedSpans().map(({ name, attributes, events, status, links }) => ({
        name,
        attributes,
        events,
        status,
        links,
      }))
      return JSON.stringify([spans, await metrics()])
    },
  }
}

const ms = ([seconds, nanos]: HrTime): number => seconds * 1000 + nanos / 1e6

const toRecordedSpan = (raw: ReadableSpan): RecordedSpan => ({
  name: raw.name,
  kind: SpanKind[raw.kind],
  traceId: raw.spanContext().traceId,
  spanId: raw.spanContext().spanId,
  parent: raw.parentSpanContext?.spanId,
  from: ms(raw.startTime),
  to: ms(raw.endTime),
  status: SpanStatusCode[raw.status.code],
  message: raw.status.message,
  attributes: raw.attributes,
  raw,
})
