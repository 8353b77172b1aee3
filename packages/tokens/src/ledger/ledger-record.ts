import type { Attempt, BillableUnits, FinishEvent, Loss, Usage } from '@modelgate/core'
import { fromBillionths, toBillionths } from '../prices/money.ts'

/** The record of a call: one for each authenticated call to a model, after its last byte. It contains no content. */
export interface LedgerRecord {
  /** The call's id, as the client received it. */
  readonly id: string
  /** Time of arrival: ISO 8601, UTC. */
  readonly time: string
  /** The token's id; null if the gateway requires none. */
  readonly token: string | null
  readonly owner?: string
  readonly operation: string
  readonly format: string
  /** The model name that the client sent. */
  readonly model: string
  readonly upstream?: string
  readonly upstreamModel?: string
  readonly attempts: readonly Attempt[]
  readonly status: number
  readonly outcome: 'finished' | 'failed' | 'aborted'
  /** Kind of the error that ended the call (`rate_limited`). */
  readonly error?: string
  /**
   * Source of the counts: the upstream's report; an estimate of the gateway, because the upstream reported none; or the upstream's
   * report, completed by an estimate, because the response was cut off. Absent: no model worked on the call.
   */
  readonly basis?: 'reported' | 'estimated' | 'partial'
  readonly usage?: {
    readonly input: number
    readonly cacheRead?: number
    readonly cacheWrite?: number
    readonly output: number
    readonly reasoning?: number
  }
  /** No response arrived, but an upstream had received the request: it may have worked, and may bill it. */
  readonly abandoned?: true
  /** The caller received access to a session that bypasses the gateway. The provider bills it, and no record contains its usage. */
  readonly uncounted?: true
  /** The call has begun a background response. A later record with the same `id` has its usage and cost. Sums leave this one out. */
  readonly deferred?: true
  /**
   * Number of responses, transcriptions or turns of a realtime session that the upstream probably bills, and whose usage it did not report
   * before the session ended.
   */
  readonly unreportedResponses?: number
  readonly units?: {
    readonly images?: number
    readonly seconds?: number
    readonly characters?: number
    readonly searches?: number
    readonly fetches?: number
    readonly executions?: number
  }
  /** In the currency of the prices, with at most nine decimal places. Absent: unknown. */
  readonly cost?: number
  readonly currency?: string
  /** Paths and kinds of the losses of translation, without content. */
  readonly losses: readonly Pick<Loss, 'path' | 'kind' | 'severity'>[]
  readonly durationMs: number
  readonly firstEventMs?: number
  readonly stream: boolean
}

/** Destination of records. A sink buffers records that arrive faster than it can write. */
export interface LedgerSink {
  /** Called once for each call, after its end. A rejection is logged. */
  append(record: LedgerRecord): void | Promise<void>
  /** Resolves when all appended records are written. */
  flush?(): Promise<void>
  close?(): Promise<void>
  /**
   * Returns the records of the days `from` to `to` (UTC, included), in any order. `tokens.report` then reads the ledger. Default: it reads the
   * counters of the storage.
   */
  read?(days: { readonly from: string; readonly to: string }): AsyncIterable<LedgerRecord> | Iterable<LedgerRecord>
}

/** Bounds of a record: names and the list of losses depend on the client's request, and may be as long as it. */
const maxNameLength = 512
const maxLosses = 100

/** Returns the record of a finished call. It contains nothing of the request's or the response's content. */
export function recordOf(event: FinishEvent): LedgerRecord {
  const { identity, error, usage, units, cost } = event
  const owner = identity?.owner
  return {
    id: event.requestId,
    time: new Date(event.startedAt).toISOString(),
    token: identity?.id ?? null,
    ...(typeof owner === 'string' ? { owner } : {}),
    operation: event.operation,
    format: event.format,
    model: short(event.model),
    ...(event.upstream === undefined ? {} : { upstream: event.upstream }),
    ...(event.upstreamModel === undefined ? {} : { upstreamModel: short(event.upstreamModel) }),
    attempts: event.attempts.map((attempt) => ({ ...attempt, model: short(attempt.model) })),
    status: event.status,
    outcome: event.outcome,
    ...(error === undefined ? {} : { error: kindOf(error) }),
    ...(event.basis === undefined ? {} : { basis: event.basis }),
    ...(usage === undefined ? {} : { usage: countsOf(usage) }),
    ...(event.abandoned === true ? { abandoned: true } : {}),
    ...(event.uncounted === true ? { uncounted: true } : {}),
    ...(event.deferred === true ? { deferred: true } : {}),
    ...(event.unreportedResponses === undefined ? {} : { unreportedResponses: event.unreportedResponses }),
    ...(units === undefined ? {} : { units: unitsOf(units) }),
    ...(cost === undefined || !Number.isFinite(cost.amount)
      ? {}
      : { cost: fromBillionths(toBillionths(cost.amount)), currency: cost.currency }),
    losses: event.losses.slice(0, maxLosses).map(lossOf),
    durationMs: event.durationMs,
    ...(event.firstEventMs === undefined ? {} : { firstEventMs: event.firstEventMs }),
    stream: event.stream,
  }
}

const short = (name: string): string => (name.length > maxNameLength ? `${name.slice(0, maxNameLength)}…` : name)

/** Omits the loss's detail, which may quote the request. */
const lossOf = ({ path, kind, severity }: Loss): LedgerRecord['losses'][number] => ({
  path: short(path),
  kind,
  severity,
})

/** Reads the kind by the error's shape, because an application may load core's ESM and CommonJS builds, each with its own class. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error) || error.name !== 'GatewayError' || !('info' in error)) return 'internal'
  const { info } = error
  const kind = typeof info === 'object' && info !== null && 'kind' in info ? info.kind : undefined
  return typeof kind === 'string' ? kind : 'internal'
}

const countsOf = ({ input, output }: Usage): NonNullable<LedgerRecord['usage']> => ({
  input: input.total,
  ...(input.cacheRead === undefined ? {} : { cacheRead: input.cacheRead }),
  ...(input.cacheWrite === undefined ? {} : { cacheWrite: input.cacheWrite }),
  output: output.total,
  ...(output.reasoning === undefined ? {} : { reasoning: output.reasoning }),
})

const unitsOf = ({
  images,
  seconds,
  characters,
  searches,
  fetches,
  executions,
}: BillableUnits): NonNullable<LedgerRecord['units']> => ({
  ...(images === undefined ? {} : { images }),
  ...(seconds === undefined ? {} : { seconds }),
  ...(characters === undefined ? {} : { characters }),
  ...(searches === undefined ? {} : { searches }),
  ...(fetches === undefined ? {} : { fetches }),
  ...(executions === undefined ? {} : { executions }),
})

/** Creates a ledger that keeps all records in memory. For tests. */
export function memoryLedger(): LedgerSink & { readonly records: readonly LedgerRecord[] } {
  const records: LedgerRecord[] = []
  return {
    records,
    append: (record) => void records.push(record),
    read: ({ from, to }) => records.filter(({ time }) => time.slice(0, 10) >= from && time.slice(0, 10) <= to),
  }
}
