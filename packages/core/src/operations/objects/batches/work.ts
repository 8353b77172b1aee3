import { type CallEnding, type CallRecord, createCallRecord, settle } from '../../../accounting/call-record.ts'
import { observe } from '../../../base/callbacks.ts'
import { errorKinds } from '../../../base/error-kinds.ts'
import { GatewayError } from '../../../base/errors.ts'
import type { Json, JsonObject } from '../../../base/json/json.ts'
import { admitCall } from '../../../calls/admission.ts'
import type { Admission } from '../../../config/admission.ts'
import type { FinishEvent } from '../../../config/finish-event.ts'
import type { Usage } from '../../../formats/ir.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import { type DeferredReservation, deferAdmission, resumeAdmission } from '../../deferred-admissions.ts'
import type { RoutedCall } from '../../route.ts'
import type { BatchPart, NewBatch } from './batch-dialect.ts'

// The work of a batch is admitted when the batch is created, and settled when it has ended, hours later and perhaps in another process:
//
//   admitWork ──> a call record for each model, with the admissions of the plugins
//      │ creation failed:   failWork ends the records
//      │ creation succeeded: deferWork ──> JSON, with what `Admission.defer` returned. It is stored until the batch has ended
//      │                        │ storing failed: abandonWork ends the records, with admissions from `Plugin.resume`
//      └────────────────────────┴─────────> settleWork: the records again, with admissions from `Plugin.resume`, and the usage

interface DeferredPart {
  readonly requestId: string
  readonly model: string
  readonly upstream: string
  readonly upstreamModel: string
  readonly requests: number
  readonly startedAt: number
  readonly reservations: readonly DeferredReservation[]
}

/** What is stored about a batch until it is settled. */
export interface DeferredWork {
  readonly parts: readonly DeferredPart[]
  /** The index of the part of each request, by the client's id of the request. Empty: there is one part. */
  readonly partOf: Readonly<Record<string, number>>
}

/** The admitted requests of one model. */
interface AdmittedPart {
  readonly part: BatchPart
  readonly record: CallRecord
}

function recordOf({ record }: RoutedCall, requestId: string, part: DeferredTarget): CallRecord {
  const own = createCallRecord(requestId, 'batch', record.format)
  own.identity = record.identity
  own.model = part.model
  own.upstream = part.upstream
  own.upstreamModel = part.upstreamModel
  own.lane = 'wire'
  own.tokenCounting = {}
  return own
}

type DeferredTarget = Pick<DeferredPart, 'model' | 'upstream' | 'upstreamModel'>

const targetOf = ({ model, target }: BatchPart): DeferredTarget => ({
  model,
  upstream: target.upstreamName,
  upstreamModel: target.model,
})

/** Admits the requests of each model, or throws the error of the plugin that rejects one. */
export async function admitWork(
  call: RoutedCall,
  request: RequestBody,
  parts: readonly BatchPart[],
): Promise<readonly AdmittedPart[]> {
  const { shared, inbound, signal, record } = call
  const admitted: AdmittedPart[] = []
  try {
    for (const [index, part] of parts.entries()) {
      const own = recordOf(
        call,
        index === 0 ? `${record.requestId}-batch` : `${record.requestId}-batch-${index}`,
        targetOf(part),
      )
      admitted.push({ part, record: own })
      const { requests, input, output, largestInput } = part
      const batch = { requests, largestInput }
      await admitCall({ shared, inbound, record: own, request, signal }, [part.target], { batch, input, output })
    }
  } catch (error) {
    failWork(call, admitted, error)
    throw error
  }
  return admitted
}

/** Ends the work of a batch whose creation failed. If the upstream may have created it, the input of its requests is charged. */
export function failWork({ shared }: RoutedCall, admitted: readonly AdmittedPart[], error: unknown): void {
  for (const { part, record } of admitted) {
    const { error: kind } = record.attempts[0] ?? {}
    if (kind !== undefined && errorKinds[kind].mayBeBilled === true) record.usage = inputOf(part)
    settle(record, failure(error), shared.plugins, shared.logger)
  }
}

/**
 * Ends the deferred work of a batch that cannot be stored. Unless the batch was cancelled, its upstream processes it, and the input of its
 * requests is charged.
 */
export function abandonWork(
  { shared }: RoutedCall,
  admitted: readonly AdmittedPart[],
  { parts }: DeferredWork,
  error: unknown,
  isCancelled: boolean,
): void {
  const { plugins, logger } = shared
  for (const [index, { part, record }] of admitted.entries()) {
    record.admissions = parts[index]?.reservations.flatMap((one) => resumeAdmission(plugins, logger, one))
    if (!isCancelled) record.usage = inputOf(part)
    settle(record, failure(error), plugins, logger)
  }
}

const inputOf = ({ input }: BatchPart): Usage => ({
  input: { total: input },
  output: { total: 0 },
  billed: { tier: 'batch' },
})

const failure = (error: unknown): CallEnding => ({
  status: error instanceof GatewayError ? (error.info.status ?? 500) : 500,
  outcome: 'failed',
  error,
})

/** Returns what must be stored about the work of a new batch. Admissions without `defer` are settled here, without usage. */
export function deferWork({ shared }: RoutedCall, admitted: readonly AdmittedPart[], batch: NewBatch): DeferredWork {
  const parts = admitted.map(({ part, record }): DeferredPart => {
    const reservations = (record.admissions ?? []).flatMap((admission) => deferred(shared, record, admission))
    return {
      requestId: record.requestId,
      ...targetOf(part),
      requests: part.requests,
      startedAt: record.arrivedAt,
      reservations,
    }
  })
  return { parts, partOf: Object.fromEntries(batch.partOf ?? []) }
}

function deferred(
  shared: RoutedCall['shared'],
  record: CallRecord,
  admission: Admission,
): readonly DeferredReservation[] {
  const { logger } = shared
  if (admission.defer === undefined) {
    const { requestId, identity, operation, format, model, upstream, upstreamModel, arrivedAt: startedAt } = record
    const event: FinishEvent = {
      ...{ requestId, identity, operation, format, model, startedAt, stream: false, status: 200, outcome: 'finished' },
      ...(upstream === undefined || upstreamModel === undefined ? {} : { upstream, upstreamModel }),
      losses: [],
      attempts: [],
      durationMs: performance.now() - record.startedAt,
    }
    observe(logger, 'settling a call', () => admission.settle?.(event))
    return []
  }
  return deferAdmission(logger, admission)
}

/** Settles the work of a batch: one event for each of its models. */
export function settleWork(call: RoutedCall, { parts }: DeferredWork, usages: readonly Usage[]): void {
  const { plugins, logger } = call.shared
  for (const [index, part] of parts.entries()) {
    const usage = usages[index]
    const elapsedMs = Math.max(0, Date.now() - part.startedAt)
    const record: CallRecord = {
      ...recordOf(call, part.requestId, part),
      arrivedAt: part.startedAt,
      startedAt: performance.now() - elapsedMs,
      upstreamFormat: undefined,
      usage,
      admissions: part.reservations.flatMap((one) => resumeAdmission(plugins, logger, one)),
    }
    settle(record, { status: 200, outcome: 'finished' }, plugins, logger)
  }
}

/** Parses what `deferWork` returned. Stores are shared and repaired by hand, so the text may be damaged. */
export function parseWork(text: string): DeferredWork {
  const value = JSON.parse(text) as JsonObject & { parts?: Json }
  if (!Array.isArray(value.parts)) throw new SyntaxError('The record of a batch is damaged.')
  return value as unknown as DeferredWork
}
