import type { Attempt, BillableUnits, FinishEvent, Loss, Usage } from '@modelgate/core'
import { fromBillionths, toBillionths } from '../prices/money.ts'

/** What is written down of a call: once for each authenticated call to a model, after its last byte. Never any content. */
export interface LedgerRecord {
  /** The call's id, as the client was told it. */
  readonly id: string
  /** When it arrived: ISO 8601, UTC. */
  readonly time: string
  /** The token's id; null: the gateway asks for none. */
  readonly token: string | null
  readonly owner?: string
  readonly operation: string
  readonly format: string
  /** As the client named it. */
  readonly model: string
  readonly upstream?: string
  readonly upstreamModel?: string
  readonly attempts: readonly Attempt[]
  readonly status: number
  readonly outcome: 'finished' | 'failed' | 'aborted'
  /** The kind of error it ended with (`rate_limited`). */
  readonly error?: string
  /**
   * Where the counts come from: the upstream's own; the gateway's estimate, because the upstream told none; or what the
   * upstream had told, completed by an estimate, because the answer was cut short. Absent: no model was at work.
   */
  readonly basis?: 'reported' | 'estimated' | 'partial'
  readonly usage?: {
    readonly input: number
    readonly cacheRead?: number
    readonly cacheWrite?: number
    readonly output: number
    readonly reasoning?: number
  }
  /** No answer came, but an upstream had the request: it may have worked, and may bill it. */
  readonly abandoned?: true
  readonly units?: {
    readonly images?: number
    readonly seconds?: number
    readonly characters?: number
    readonly searches?: number
  }
  /** In the currency of the prices, as a decimal number with nine places at most. Absent: unknown. */
  readonly cost?: number
  readonly currency?: string
  /** Paths and kinds of what could not be carried; no content. */
  readonly losses: readonly Pick<Loss, 'path' | 'kind' | 'severity'>[]
  readonly durationMs: number
  readonly firstEventMs?: number
  readonly stream: boolean
}

/** Where records go. Called for each call; a sink collects what comes faster than it can write. */
export interface LedgerSink {
  /** A rejection is logged; the call is long over. */
  append(record: LedgerRecord): void | Promise<void>
  /** Resolves when all that was appended is written. */
  flush?(): Promise<void>
  close?(): Promise<void>
}

/** Names come from clients and may be as long as a request; so may the list of what was lost of it. */
const longestName = 512
const mostLosses = 100

/** What the ledger says of a call. Nothing of what was asked or answered is in it. */
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
    ...(units === undefined ? {} : { units: unitsOf(units) }),
    ...(cost === undefined || !Number.isFinite(cost.amount)
      ? {}
      : { cost: fromBillionths(toBillionths(cost.amount)), currency: cost.currency }),
    losses: event.losses.slice(0, mostLosses).map(placeOf),
    durationMs: event.durationMs,
    ...(event.firstEventMs === undefined ? {} : { firstEventMs: event.firstEventMs }),
    stream: event.stream,
  }
}

const short = (name: string): string => (name.length > longestName ? `${name.slice(0, longestName)}…` : name)

/** Without the detail, which may quote the request. */
const placeOf = ({ path, kind, severity }: Loss): LedgerRecord['losses'][number] => ({
  path: short(path),
  kind,
  severity,
})

/** By its shape: an application may hold the class twice, as ES module and as CommonJS. */
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

const unitsOf = ({ images, seconds, characters, searches }: BillableUnits): NonNullable<LedgerRecord['units']> => ({
  ...(images === undefined ? {} : { images }),
  ...(seconds === undefined ? {} : { seconds }),
  ...(characters === undefined ? {} : { characters }),
  ...(searches === undefined ? {} : { searches }),
})

/** A ledger that keeps its records in the memory of this process, all of them: for tests. */
export function memoryLedger(): LedgerSink & { readonly records: readonly LedgerRecord[] } {
  const records: LedgerRecord[] = []
  return { records, append: (record) => void records.push(record) }
}
