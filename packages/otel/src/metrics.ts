import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api'
import { isReportedByUpstream } from './call-attributes.ts'
import {
  attributeNames,
  callBuckets,
  metricNames,
  modelgateNames,
  operationConvention,
  schemaUrl,
  secondBuckets,
  tokenBuckets,
} from './conventions.ts'
import { type AttemptEnd, attemptEnd, errorTypeOf, type FinishEvent } from './events.ts'
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
    const shared = { ...extra(), [attributeNames.operation]: operationConvention(operation, format).name }
    const seconds = (ms: number): number => Math.max(0, ms) / 1000
    for (const [index, attempt] of attempts.entries()) {
      const end = attemptEnd(event, index)
      const labels: Attributes = {
        ...shared,
        [attributeNames.provider]: providerOf(attempt.upstream),
        [attributeNames.requestModel]: modelName(attempt.model, isSuccess(end, attempt.status)),
      }
      const failed = end.errorType === undefined ? labels : { ...labels, [attributeNames.errorType]: end.errorType }
      to.duration.record(seconds(end.durationMs), failed)
      to.attempts.add(1, {
        ...failed,
        [modelgateNames.upstream]: attempt.upstream,
        [modelgateNames.reason]: attempt.reason,
      })
      if (!end.answered) continue
      if (stream && attempt.latencyMs !== undefined) to.firstChunk.record(seconds(attempt.latencyMs), labels)
      if (usage === undefined || !isReportedByUpstream(event)) continue
      to.tokens.record(usage.input.total, { ...labels, [attributeNames.tokenType]: 'input' })
      to.tokens.record(usage.output.total, { ...labels, [attributeNames.tokenType]: 'output' })
    }
    const errorType = errorTypeOf(event)
    const call: Attributes = {
      ...shared,
      [attributeNames.requestModel]: modelName(event.model, outcome === 'finished'),
      [modelgateNames.clientFormat]: format,
    }
    to.callDuration.record(seconds(event.durationMs), {
      ...call,
      [modelgateNames.outcome]: outcome,
      [attributeNames.status]: event.status,
      ...(errorType === undefined ? {} : { [attributeNames.errorType]: errorType }),
    })
    if (stream && event.firstEventMs !== undefined) to.callFirstEvent.record(seconds(event.firstEventMs), call)
    for (const [labels, count] of countLosses(losses)) to.losses.add(count, { ...shared, ...formats(event), ...labels })
  }
}

const isSuccess = ({ answered, errorType }: AttemptEnd, status: number | undefined): boolean =>
  answered && errorType === undefined && (status ?? 200) < 400

const formats = ({ format, upstreamFormat }: FinishEvent): Attributes => ({
  [modelgateNames.clientFormat]: format,
  ...(upstreamFormat === undefined ? {} : { [modelgateNames.upstreamFormat]: upstreamFormat }),
})

/** Counts losses by kind, severity and side. Their paths are content of the client's request and stay out. */
function countLosses(losses: FinishEvent['losses']): Iterable<readonly [Attributes, number]> {
  const sorts = new Map<string, readonly [Attributes, number]>()
  for (const { kind, severity, side = 'request' } of losses) {
    const sort = `${kind} ${severity} ${side}`
    const [labels, count] = sorts.get(sort) ?? [
      { [modelgateNames.lossKind]: kind, [modelgateNames.lossSeverity]: severity, [modelgateNames.lossSide]: side },
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
    duration: histogram(metricNames.duration, 's', secondBuckets, 'Duration of one call to a provider.'),
    tokens: histogram(metricNames.tokens, '{token}', tokenBuckets, 'Number of input and output tokens used.'),
    firstChunk: histogram(
      metricNames.firstChunk,
      's',
      secondBuckets,
      "Time from a call to a provider to its stream's first event.",
    ),
    callDuration: histogram(
      metricNames.callDuration,
      's',
      callBuckets,
      "Duration of a client's call with all its attempts, to the last byte of its response.",
    ),
    callFirstEvent: histogram(
      metricNames.callFirstEvent,
      's',
      callBuckets,
      "Time from a client's call to the first event of its response.",
    ),
    attempts: meter.createCounter(metricNames.attempts, { unit: '{attempt}', description: 'Calls made to providers.' }),
    losses: meter.createCounter(metricNames.losses, {
      unit: '{loss}',
      description: 'Fields and blocks of requests and responses that a translation could not preserve.',
    }),
  }
}

/** Maximum number of distinct names kept for models without a response so far. */
const maxUnansweredNames = 100
/** Maximum number of distinct names in all. */
const maxNames = 2000
const other = '_OTHER'

/**
 * Creates a function that bounds the model names in a metric. With a `*` in a model route the client chooses the rest of the
 * name, and each name would be a time series of its own. Names that never had a response are bounded first, then all names.
 */
function createBoundedNames(): (name: string, answered: boolean) => string {
  const known = new Set<string>()
  let unproven = 0
  return (name, answered) => {
    if (known.has(name)) return name
    if (known.size >= maxNames || name.length > 128 || (!answered && unproven >= maxUnansweredNames)) return other
    if (!answered) unproven++
    known.add(name)
    return name
  }
}
