import { observe, observedValue } from '../base/callbacks.ts'
import { put } from '../base/json/object.ts'
import { isThenable } from '../base/thenable.ts'
import type { Logger } from '../config/config.ts'
import type { Cost, FinishEvent, Plugin } from '../config/plugin.ts'
import type { CallRecord, Ending } from './call-record.ts'
import { finalUsage, isAbandoned, unitsOf } from './final-usage.ts'

/** Tells every plugin, once for a call: first those that let it in, then all. An exception is logged, never thrown. */
export function settle(record: CallRecord, ending: Ending, plugins: readonly Plugin[], logger: Logger): void {
  if (record.settled === true) return
  record.settled = true
  // Field by field: a rest pattern and spreads cost as much here as validating the request.
  const event: { -readonly [K in keyof FinishEvent]: FinishEvent[K] } = {
    requestId: record.requestId,
    identity: record.identity,
    operation: record.operation,
    format: record.format,
    model: record.model,
    stream: record.stream,
    status: ending.status,
    outcome: ending.outcome,
    losses: record.losses,
    attempts: record.attempts,
    startedAt: record.arrivedAt,
    durationMs: performance.now() - record.startedAt,
  }
  put(event, 'upstream', record.upstream)
  put(event, 'upstreamModel', record.upstreamModel)
  put(event, 'upstreamFormat', record.upstreamFormat)
  put(event, 'lane', record.lane)
  put(event, 'skipped', record.skipped)
  put(event, 'finish', record.finish)
  const taken = finalUsage(record, ending.outcome)
  put(event, 'usage', taken?.usage)
  put(event, 'basis', taken?.basis)
  put(event, 'units', unitsOf(record))
  put(event, 'estimate', record.estimate)
  if (isAbandoned(record)) event.abandoned = true
  put(event, 'error', ending.error)
  if (record.firstEventAt !== undefined) event.firstEventMs = record.firstEventAt - record.startedAt
  for (const plugin of plugins) {
    if (plugin.costOf === undefined) continue
    const cost = observedValue(logger, 'costOf', () => checkedCost(plugin.costOf?.(event)), plugin)
    if (cost === undefined) continue
    event.cost = cost
    break
  }
  if (record.admissions !== undefined)
    for (const admission of record.admissions)
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
