import type { Attributes } from '@opentelemetry/api'
import { isReportedByUpstream } from './call-attributes.ts'
import {
  attributeNames,
  callBuckets,
  metricNames,
  modelgateNames,
  operationConvention,
  secondBuckets,
  tokenBuckets,
} from './conventions.ts'
import { type AttemptEnd, attemptEnd, errorTypeOf, type FinishEvent } from './events.ts'

/** A metric of OpenTelemetry and Prometheus. */
export interface MetricDefinition {
  readonly name: string
  /** Unit in the notation of OpenTelemetry: `s`, or a word in braces, which is only a comment. */
  readonly unit: string
  readonly description: string
  /** Bucket boundaries of a histogram. Absent: a counter. */
  readonly buckets?: readonly number[]
  /** Attributes that it can have, without those that users add. Prometheus needs to know them in advance. */
  readonly attributes: readonly string[]
}

const ofAttempt = [attributeNames.operation, attributeNames.provider, attributeNames.requestModel] as const
const ofCall = [attributeNames.operation, attributeNames.requestModel, modelgateNames.clientFormat] as const

export const metricDefinitions = {
  duration: {
    name: metricNames.duration,
    unit: 's',
    buckets: secondBuckets,
    description: 'Duration of one call to a provider.',
    attributes: [...ofAttempt, attributeNames.errorType],
  },
  tokens: {
    name: metricNames.tokens,
    unit: '{token}',
    buckets: tokenBuckets,
    description: 'Number of input and output tokens used.',
    attributes: [...ofAttempt, attributeNames.tokenType],
  },
  firstChunk: {
    name: metricNames.firstChunk,
    unit: 's',
    buckets: secondBuckets,
    description: "Time from a call to a provider to its stream's first event.",
    attributes: ofAttempt,
  },
  callDuration: {
    name: metricNames.callDuration,
    unit: 's',
    buckets: callBuckets,
    description: "Duration of a client's call with all its attempts, to the last byte of its response.",
    attributes: [...ofCall, modelgateNames.outcome, attributeNames.status, attributeNames.errorType],
  },
  callFirstEvent: {
    name: metricNames.callFirstEvent,
    unit: 's',
    buckets: callBuckets,
    description: "Time from a client's call to the first event of its response.",
    attributes: ofCall,
  },
  attempts: {
    name: metricNames.attempts,
    unit: '{attempt}',
    description: 'Calls made to providers.',
    attributes: [...ofAttempt, modelgateNames.upstream, modelgateNames.reason, attributeNames.errorType],
  },
  losses: {
    name: metricNames.losses,
    unit: '{loss}',
    description: 'Fields and blocks of requests and responses that a translation could not preserve.',
    attributes: [
      attributeNames.operation,
      modelgateNames.clientFormat,
      modelgateNames.upstreamFormat,
      modelgateNames.lossKind,
      modelgateNames.lossSeverity,
      modelgateNames.lossSide,
    ],
  },
} as const satisfies { readonly [metric: string]: MetricDefinition }

/** Records a value in a histogram, or adds it to a counter. */
export type Instrument = (value: number, attributes: Attributes) => void

export type Instruments = { readonly [Metric in keyof typeof metricDefinitions]: Instrument }

/** Creates the instrument of each metric. */
export const instrumentsBy = (create: (definition: MetricDefinition) => Instrument): Instruments =>
  Object.fromEntries(
    Object.entries(metricDefinitions).map(([metric, definition]) => [metric, create(definition)]),
  ) as unknown as Instruments

/**
 * Creates the function that measures one finished call.
 *
 * @returns a function that records to `to`; `extra` is added to the attributes of all metrics
 */
export function createCallRecorder(
  providerOf: (upstream: string) => string,
  modelName = createBoundedNames(),
): (to: Instruments, event: FinishEvent, extra?: Attributes) => void {
  return (to, event, extra) => {
    const { operation, format, attempts, losses, stream, outcome, usage } = event
    const shared = { ...extra, [attributeNames.operation]: operationConvention(operation, format).name }
    const seconds = (ms: number): number => Math.max(0, ms) / 1000
    for (const [index, attempt] of attempts.entries()) {
      const end = attemptEnd(event, index)
      const labels: Attributes = {
        ...shared,
        [attributeNames.provider]: providerOf(attempt.upstream),
        [attributeNames.requestModel]: modelName(attempt.model, isSuccess(end, attempt.status)),
      }
      const failed = end.errorType === undefined ? labels : { ...labels, [attributeNames.errorType]: end.errorType }
      to.duration(seconds(end.durationMs), failed)
      to.attempts(1, {
        ...failed,
        [modelgateNames.upstream]: attempt.upstream,
        [modelgateNames.reason]: attempt.reason,
      })
      if (!end.answered) continue
      if (stream && attempt.latencyMs !== undefined) to.firstChunk(seconds(attempt.latencyMs), labels)
      if (usage === undefined || !isReportedByUpstream(event)) continue
      to.tokens(usage.input.total, { ...labels, [attributeNames.tokenType]: 'input' })
      to.tokens(usage.output.total, { ...labels, [attributeNames.tokenType]: 'output' })
    }
    const errorType = errorTypeOf(event)
    const call: Attributes = {
      ...shared,
      [attributeNames.requestModel]: modelName(event.model, outcome === 'finished'),
      [modelgateNames.clientFormat]: format,
    }
    to.callDuration(seconds(event.durationMs), {
      ...call,
      [modelgateNames.outcome]: outcome,
      [attributeNames.status]: event.status,
      ...(errorType === undefined ? {} : { [attributeNames.errorType]: errorType }),
    })
    if (stream && event.firstEventMs !== undefined) to.callFirstEvent(seconds(event.firstEventMs), call)
    for (const [labels, count] of countLosses(losses)) to.losses(count, { ...shared, ...formats(event), ...labels })
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

/** Maximum number of distinct names kept for models without a response so far. */
const maxUnansweredNames = 100
/** Maximum number of distinct names in all. */
const maxNames = 2000
const other = '_OTHER'

/**
 * Creates a function that bounds the model names in a metric. With a `*` in a model route the client chooses the rest of the
 * name, and each name would be a time series of its own. Names that never had a response are bounded first, then all names.
 */
export function createBoundedNames(): (name: string, answered: boolean) => string {
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
