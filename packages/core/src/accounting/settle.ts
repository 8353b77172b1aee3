import { observe, observedValue } from '../base/callbacks.ts'
import { put } from '../base/json/object.ts'
import { isThenable } from '../base/thenable.ts'
import type { Logger } from '../config/config.ts'
import type { Cost, FinishEvent, Plugin } from '../config/plugin.ts'
import type { Ending, Ledger } from './call-record.ts'
import { isAbandoned, takenBy, unitsOf } from './final-usage.ts'

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
