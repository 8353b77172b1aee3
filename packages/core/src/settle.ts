import { observe, observedValue } from './callbacks.ts'
import type { Identity, Logger } from './config.ts'
import type { EstimatedBy } from './estimate.ts'
import type { OutputBound, Says } from './formats/codec.ts'
import type { Format, JsonObject, Loss, UpstreamFormat, Usage } from './formats/ir.ts'
import { put } from './formats/shared/strict.ts'
import type { Admission, Attempt, Cost, ExpectedUse, FinishEvent, Plugin, SkippedTarget, Units } from './plugin.ts'
import { isAbandoned, takenBy, unitsOf } from './taken.ts'
import { isThenable } from './thenable.ts'

/** How an operation is counted in tokens. */
export interface Counted {
  /** It has text written. Absent: input alone. */
  readonly output?: OutputBound
  /** Where its answers say something, if not where those of the client's format do. */
  readonly says?: Says
}

/** What is known of a call while it runs; `settle` turns it into the one FinishEvent. */
export interface Ledger {
  readonly requestId: string
  operation: string
  readonly format: Format
  /** By the clock that never goes back. */
  readonly startedAt: number
  /** When the call arrived, in milliseconds since 1970. */
  readonly arrivedAt: number
  identity: Identity | null
  model: string
  stream: boolean
  upstream?: string | undefined
  upstreamModel?: string | undefined
  upstreamFormat?: UpstreamFormat | undefined
  lane?: 'wire' | 'translate' | undefined
  losses: readonly Loss[]
  usage?: Usage | undefined
  units?: Units | undefined
  estimate?: EstimatedBy | undefined
  firstEventAt?: number | undefined
  readonly attempts: Attempt[]
  /** Targets that could not be given the request. */
  skipped?: SkippedTarget[] | undefined
  finish?: string | undefined
  /** How it is counted in tokens, where it is. */
  counted?: Counted | undefined
  /** Use that the request makes known beforehand, for operations beside chat. */
  expected?: ExpectedUse | undefined
  /** The request, for an estimate of what it took. */
  body?: JsonObject | undefined
  /** About how many tokens the request is, where its body is not here. */
  tokens?: number | undefined
  /** About how many tokens the answer has said. */
  said?: (() => number) | undefined
  /** By whom the call was let in: each is told of its end. */
  admissions?: Admission[] | undefined
  /** The upstream goes on with it when the response to this call is over. */
  background?: true | undefined
  /** The books are closed. */
  settled?: boolean | undefined
  /** Plugins have heard of it: they must hear of its end. */
  announced?: boolean | undefined
  /** The gateway has done what it may: whoever tries again only adds to the upstream's load. */
  spent?: boolean | undefined
}

/** The books of a call that has just come. All that may be written in them stands there from the beginning: one shape for all calls. */
export const openBooks = (requestId: string, operation: string, format: Format): Ledger => ({
  requestId,
  operation,
  format,
  startedAt: performance.now(),
  arrivedAt: Date.now(),
  identity: null,
  model: '',
  stream: false,
  upstream: undefined,
  upstreamModel: undefined,
  upstreamFormat: undefined,
  lane: undefined,
  losses: [],
  usage: undefined,
  units: undefined,
  estimate: undefined,
  firstEventAt: undefined,
  attempts: [],
  skipped: undefined,
  finish: undefined,
  counted: undefined,
  expected: undefined,
  body: undefined,
  tokens: undefined,
  said: undefined,
  admissions: undefined,
  background: undefined,
  settled: undefined,
  announced: undefined,
  spent: undefined,
})

export interface Ending {
  readonly status: number
  readonly outcome: FinishEvent['outcome']
  readonly error?: unknown
}

/** Tells every plugin, once for a call: first those that let it in, then all. An exception is logged, never thrown. */
export function settle(ledger: Ledger, ending: Ending, plugins: readonly Plugin[], logger: Logger): void {
  if (ledger.settled === true) return
  ledger.settled = true
  // Field by field: a rest pattern and spreads cost as much here as validating the request.
  const event: { -readonly [K in keyof FinishEvent]: FinishEvent[K] } = {
    requestId: ledger.requestId,
    identity: ledger.identity,
    operation: ledger.operation,
    format: ledger.format,
    model: ledger.model,
    stream: ledger.stream,
    status: ending.status,
    outcome: ending.outcome,
    losses: ledger.losses,
    attempts: ledger.attempts,
    startedAt: ledger.arrivedAt,
    durationMs: performance.now() - ledger.startedAt,
  }
  put(event, 'upstream', ledger.upstream)
  put(event, 'upstreamModel', ledger.upstreamModel)
  put(event, 'upstreamFormat', ledger.upstreamFormat)
  put(event, 'lane', ledger.lane)
  put(event, 'skipped', ledger.skipped)
  put(event, 'finish', ledger.finish)
  const taken = takenBy(ledger, ending.outcome)
  put(event, 'usage', taken?.usage)
  put(event, 'basis', taken?.basis)
  put(event, 'units', unitsOf(ledger))
  put(event, 'estimate', ledger.estimate)
  if (isAbandoned(ledger)) event.abandoned = true
  put(event, 'error', ending.error)
  if (ledger.firstEventAt !== undefined) event.firstEventMs = ledger.firstEventAt - ledger.startedAt
  for (const plugin of plugins) {
    if (plugin.costOf === undefined) continue
    const cost = observedValue(logger, 'costOf', () => checkedCost(plugin.costOf?.(event)), plugin)
    if (cost === undefined) continue
    event.cost = cost
    break
  }
  if (ledger.admissions !== undefined)
    for (const admission of ledger.admissions)
      if (admission.settle !== undefined) observe(logger, 'settling a call', () => admission.settle?.(event))
  for (const plugin of plugins)
    if (plugin.onFinish !== undefined) observe(logger, 'onFinish', () => plugin.onFinish?.(event), plugin)
}

/** Budgets are counted by it. Throws a TypeError for what is no amount of money. */
function checkedCost(cost: Cost | undefined | null): Cost | undefined {
  // A promise is for `observedValue` to see.
  if (cost === undefined || cost === null || isThenable(cost)) return cost ?? undefined
  const { amount, currency } = cost
  if (
    typeof amount !== 'number' ||
    !(amount >= 0) ||
    amount === Number.POSITIVE_INFINITY ||
    typeof currency !== 'string'
  )
    throw new TypeError(
      "it returned no cost: return { amount: 0.25, currency: 'USD' }, or undefined where it is unknown",
    )
  return cost
}
