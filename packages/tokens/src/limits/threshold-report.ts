import type { Logger } from '@modelgate/core'
import { isThenable } from '../base/async.ts'
import { ownerIn, type ReachedAmount } from '../contract/meter-store.ts'
import type { Budget, Period } from '../contract/token.ts'
import { toUnits } from './allowance.ts'

/** A budget whose use has reached a threshold. */
export interface ReachedThreshold {
  /** The owner whose budget it is. Absent: the budget of a token. */
  readonly owner?: string
  /** Id of the token whose budget it is. */
  readonly token?: string
  readonly budget: Budget
  readonly period: Period
  /** The threshold as a part of the limit: 0.8. */
  readonly fraction: number
  /** Use of finished calls and reservations of running ones, in the unit of `limit`. */
  readonly used: number
  /** Money in the currency of the prices, or tokens. */
  readonly limit: number
  /** End of the period, in milliseconds since 1970. Absent for the period `total`. */
  readonly resetsAt?: number
}

/** Receives reached thresholds. Errors that it throws are logged. */
export type OnThreshold = (threshold: ReachedThreshold) => unknown

/** Returns the listener of a meter store that calls `onThreshold` after the call that reached the amount has been settled. */
export function createThresholdReport(onThreshold: OnThreshold, logger: Logger): (reached: ReachedAmount) => void {
  const onError = (error: unknown): void => logger.error('modelgate: onThreshold failed', error)
  return (reached) => {
    const threshold = thresholdOf(reached)
    if (threshold === undefined) return
    queueMicrotask(() => {
      try {
        const result = onThreshold(threshold)
        if (isThenable(result)) result.then(undefined, onError)
      } catch (error) {
        onError(error)
      }
    })
  }
}

function thresholdOf({ account, meter, index, used, resetsAt }: ReachedAmount): ReachedThreshold | undefined {
  const { notice, limit } = meter
  const fraction = notice?.fractions[index]
  if (notice === undefined || fraction === undefined) return undefined
  const { budget } = notice
  const of = budget.money === undefined ? 'tokens' : 'money'
  const owner = ownerIn(account)
  return {
    ...(owner === undefined ? { token: account } : { owner }),
    budget,
    period: budget.period,
    fraction,
    used: toUnits(of, used),
    limit: toUnits(of, limit),
    ...(resetsAt === undefined ? {} : { resetsAt }),
  }
}
