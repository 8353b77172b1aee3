import type { BillableUnits, FinishEvent, Loss, Usage } from '@modelgate/core'
import { fromBillionths, toBillionths } from '../prices/money.ts'
import type { LedgerRecord } from './record.ts'

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
