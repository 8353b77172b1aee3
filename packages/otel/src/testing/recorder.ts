import { type TracerProvider as ApiTracerProvider, type HrTime, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { MeterProvider, type MetricData, MetricReader } from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'

/** A span as a test wants to read it. */
export interface SeenSpan {
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

export interface SeenPoint {
  readonly attributes: { readonly [name: string]: unknown }
  /** Counters: their value. Histograms: how many values, and their sum. */
  readonly value?: number
  readonly count?: number
  readonly sum?: number
  readonly boundaries?: readonly number[]
}

class ManualReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** An SDK that keeps in memory what it is given. */
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
    /** In the order in which they began; the call before its attempts. */
    spans: (): SeenSpan[] =>
      exporter
        .getFinishedSpans()
        .map(seen)
        .sort((a, b) => Number(b.parent === undefined) - Number(a.parent === undefined) || a.from - b.from),
    metrics,
    points: async (name: string): Promise<SeenPoint[]> => {
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
    /** Everything that would leave the process, as text. */
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

const seen = (raw: ReadableSpan): SeenSpan => ({
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
