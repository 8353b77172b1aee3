import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api'
import { isCounted } from '../attributes/usage.ts'
import { type Ended, endOf } from '../base/attempt-end.ts'
import { errorTypeOf } from '../base/error-type.ts'
import type { FinishEvent } from '../base/events.ts'
import { version } from '../base/version.ts'
import { attr, callBuckets, metric, own, schemaUrl, secondBuckets, tokenBuckets } from '../conventions/names.ts'
import { operationOf } from '../conventions/operations.ts'
import { createBoundedNames } from './bounded-names.ts'

/** Counts and measures one finished call. */
export type Measure = (event: FinishEvent, extra: () => Attributes) => void

/**
 * Creates the function that records the metrics of a call.
 *
 * @param provider default: the one that is registered globally at the time of the call
 */
export function createMeasure(provider: MeterProvider | undefined, providerOf: (upstream: string) => string): Measure {
  const modelName = createBoundedNames()
  let instruments: Instruments | undefined
  let madeBy: MeterProvider | undefined

  const current = (): Instruments | undefined => {
    // Meters made before the registration stay without effect after it; tracers do not.
    const now = provider ?? metrics.getMeterProvider()
    if (now === madeBy) return instruments
    const meter = now.getMeter('@modelgate/otel', version, { schemaUrl })
    instruments = meter === createNoopMeter() ? undefined : instrumentsOf(meter)
    madeBy = now
    return instruments
  }

  return (event, extra) => {
    const to = current()
    if (to === undefined) return
    const { operation, format, attempts, losses, stream, outcome, usage } = event
    const shared = { ...extra(), [attr.operation]: operationOf(operation, format).name }
    const seconds = (ms: number): number => Math.max(0, ms) / 1000
    for (const [index, attempt] of attempts.entries()) {
      const end = endOf(event, index)
      const labels: Attributes = {
        ...shared,
        [attr.provider]: providerOf(attempt.upstream),
        [attr.requestModel]: modelName(attempt.model, isGood(end, attempt.status)),
      }
      const failed = end.errorType === undefined ? labels : { ...labels, [attr.errorType]: end.errorType }
      to.duration.record(seconds(end.durationMs), failed)
      to.attempts.add(1, { ...failed, [own.upstream]: attempt.upstream, [own.reason]: attempt.reason })
      if (!end.answered) continue
      if (stream && attempt.latencyMs !== undefined) to.firstChunk.record(seconds(attempt.latencyMs), labels)
      if (usage === undefined || !isCounted(event)) continue
      to.tokens.record(usage.input.total, { ...labels, [attr.tokenType]: 'input' })
      to.tokens.record(usage.output.total, { ...labels, [attr.tokenType]: 'output' })
    }
    const errorType = errorTypeOf(event)
    const call: Attributes = {
      ...shared,
      [attr.requestModel]: modelName(event.model, outcome === 'finished'),
      [own.clientFormat]: format,
    }
    to.callDuration.record(seconds(event.durationMs), {
      ...call,
      [own.outcome]: outcome,
      [attr.status]: event.status,
      ...(errorType === undefined ? {} : { [attr.errorType]: errorType }),
    })
    if (stream && event.firstEventMs !== undefined) to.callFirstEvent.record(seconds(event.firstEventMs), call)
    for (const [labels, count] of tally(losses)) to.losses.add(count, { ...shared, ...formats(event), ...labels })
  }
}

const isGood = ({ answered, errorType }: Ended, status: number | undefined): boolean =>
  answered && errorType === undefined && (status ?? 200) < 400

const formats = ({ format, upstreamFormat }: FinishEvent): Attributes => ({
  [own.clientFormat]: format,
  ...(upstreamFormat === undefined ? {} : { [own.upstreamFormat]: upstreamFormat }),
})

/** Counts losses by kind, severity and side. Their paths are content of the client's request and stay out. */
function tally(losses: FinishEvent['losses']): Iterable<readonly [Attributes, number]> {
  const sorts = new Map<string, readonly [Attributes, number]>()
  for (const { kind, severity, side = 'request' } of losses) {
    const sort = `${kind} ${severity} ${side}`
    const [labels, count] = sorts.get(sort) ?? [
      { [own.lossKind]: kind, [own.lossSeverity]: severity, [own.lossSide]: side },
      0,
    ]
    sorts.set(sort, [labels, count + 1])
  }
  return sorts.values()
}

interface Instruments {
  readonly duration: Histogram
  readonly tokens: Histogram
  readonly firstChunk: Histogram
  readonly callDuration: Histogram
  readonly callFirstEvent: Histogram
  readonly attempts: Counter
  readonly losses: Counter
}

const instrumentsOf = (meter: Meter): Instruments => {
  const histogram = (name: string, unit: string, explicitBucketBoundaries: number[], description: string): Histogram =>
    meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries } })
  return {
    duration: histogram(metric.duration, 's', secondBuckets, 'Duration of one call to a provider.'),
    tokens: histogram(metric.tokens, '{token}', tokenBuckets, 'Number of input and output tokens used.'),
    firstChunk: histogram(
      metric.firstChunk,
      's',
      secondBuckets,
      "Time from a call to a provider to its stream's first event.",
    ),
    callDuration: histogram(
      metric.callDuration,
      's',
      callBuckets,
      "Duration of a client's call, with all that was tried for it, to the last byte of its answer.",
    ),
    callFirstEvent: histogram(
      metric.callFirstEvent,
      's',
      callBuckets,
      "Time from a client's call to the first event of its answer.",
    ),
    attempts: meter.createCounter(metric.attempts, { unit: '{attempt}', description: 'Calls made to providers.' }),
    losses: meter.createCounter(metric.losses, {
      unit: '{loss}',
      description: 'Fields and blocks of requests and answers that could not be carried whole.',
    }),
  }
}
