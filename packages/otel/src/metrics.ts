import { type Attributes, createNoopMeter, type Meter, type MeterProvider, metrics } from '@opentelemetry/api'
import {
  createCallRecorder,
  type Instrument,
  type Instruments,
  instrumentsBy,
  type MetricDefinition,
} from './call-metrics.ts'
import { schemaUrl } from './conventions.ts'
import type { FinishEvent } from './events.ts'
import { version } from './version.ts'

/** Counts and measures one finished call. */
export type RecordMetrics = (event: FinishEvent, extra: () => Attributes) => void

/**
 * Creates the function that records the metrics of a call.
 *
 * @param provider default: the one that is registered globally at the time of the call
 */
export function createMetrics(
  provider: MeterProvider | undefined,
  providerOf: (upstream: string) => string,
): RecordMetrics {
  const record = createCallRecorder(providerOf)
  let instruments: Instruments | undefined
  let madeBy: MeterProvider | undefined

  const current = (): Instruments | undefined => {
    // Meters made before the registration stay without effect after it; tracers do not.
    const now = provider ?? metrics.getMeterProvider()
    if (now === madeBy) return instruments
    const meter = now.getMeter('@modelgate/otel', version, { schemaUrl })
    instruments =
      meter === createNoopMeter() ? undefined : instrumentsBy((definition) => instrumentOf(meter, definition))
    madeBy = now
    return instruments
  }

  return (event, extra) => {
    const to = current()
    if (to !== undefined) record(to, event, extra())
  }
}

function instrumentOf(meter: Meter, { name, unit, description, buckets }: MetricDefinition): Instrument {
  if (buckets === undefined) {
    const counter = meter.createCounter(name, { unit, description })
    return (value, attributes) => counter.add(value, attributes)
  }
  const histogram = meter.createHistogram(name, {
    unit,
    description,
    advice: { explicitBucketBoundaries: [...buckets] },
  })
  return (value, attributes) => histogram.record(value, attributes)
}
