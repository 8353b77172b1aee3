import type { Cost, FinishEvent } from '@modelgate/core'
import { settledMeter } from '../contract/meter-amounts.ts'
import type { Home, Settlement, Sums } from '../contract/meter-store.ts'
import { billionthsOf } from '../prices/money.ts'
import { leastCostOf, mayHaveWorked, type Prices } from '../prices/prices.ts'
import { countsCalls, type ReservedMeter } from './reserve.ts'
import { toWholeCount } from './token-meters.ts'

/** Model name in the sums of calls without a response: the requested name may be any text of a client. */
const unansweredModel = '(no response)'
/** Maximum characters of a model name in the sums: names come from clients. */
const maxNameLength = 200

/** A call whose reservation was accepted. */
export interface AdmittedCall {
  /** Account of the call, as in `Reservation`. */
  readonly tokenId: string
  readonly home?: Home | undefined
  /** Accounts whose sums count the call. Default: `tokenId`. */
  readonly accounts?: readonly string[] | undefined
  readonly meters: readonly ReservedMeter[]
  /** Time of the reservation, as the store reported it. */
  readonly at: number | undefined
  readonly prices: Prices | undefined
}

/** Returns the actual use of a call on a meter. */
function createActualUse(
  event: FinishEvent,
  prices: Prices | undefined,
  money: number | undefined,
  worked: boolean,
): (reserved: ReservedMeter) => number {
  const { usage, units, outcome, unreportedResponses = 0 } = event
  const input = toWholeCount(usage?.input.total ?? 0)
  const output = toWholeCount(usage?.output.total ?? 0)
  // A model may have worked, and no usage is known: the reservation is kept, because a call must not become free this way.
  const isUseUnknown = worked && usage === undefined && units === undefined
  // The reservation of a session is for one response. It also stands for each one whose usage was not reported.
  const unreported = Math.max(unreportedResponses, isUseUnknown ? 1 : 0)
  // For a call without a cost: at least one reservation.
  const unpriced = Math.max(unreportedResponses, 1)
  const tokensOf = (reported: number, reserved: number): number => (isUseUnknown ? 0 : reported) + unreported * reserved
  return ({ of, meter }) => {
    switch (of) {
      case 'requests':
        // The requests of a batch that was not created count as one.
        return outcome === 'finished' ? meter.amount : 1
      case 'concurrent':
        return 1
      case 'inputTokens':
        return tokensOf(input, meter.amount)
      case 'outputTokens':
        return tokensOf(output, meter.amount)
      case 'tokens':
        return tokensOf(toWholeCount(input + output), meter.amount)
      case 'money':
        if (money !== undefined || !worked) return (money ?? 0) + unreportedResponses * meter.amount
        return Math.max(unpriced * meter.amount, leastCost(event, prices))
    }
  }
}

const leastCost = (event: FinishEvent, prices: Prices | undefined): number =>
  prices === undefined ? 0 : toWholeCount(leastCostOf(prices, event))

/**
 * Returns the settlement of a finished call: its actual use on each meter, and its contribution to the sums.
 *
 * @param charged what `progressOf` has charged on each meter. Default: nothing
 * @param expected the meters with what the call was expected to use, if that became more than was reserved. Default: the reserved ones
 */
export function settlementOf(
  event: FinishEvent,
  admitted: AdmittedCall,
  charged: readonly number[] = [],
  expected: readonly ReservedMeter[] = admitted.meters,
): Settlement {
  const { tokenId, home, accounts, meters, at, prices } = admitted
  const { requestId, model, startedAt, usage, outcome, firstEventMs } = event
  const worked = mayHaveWorked(event)
  const money = costOf(event.cost, prices)
  const actualOf = createActualUse(event, prices, money, worked)
  const add: Sums = {
    calls: 1,
    inputTokens: toWholeCount(usage?.input.total ?? 0),
    cachedTokens: toWholeCount(usage?.input.cacheRead ?? 0),
    outputTokens: toWholeCount(usage?.output.total ?? 0),
    cost: money ?? 0,
    unpriced: money === undefined && worked ? 1 : 0,
  }
  const hasResponse = firstEventMs !== undefined || outcome === 'finished'
  return {
    callId: requestId,
    tokenId,
    home,
    at,
    meters: meters.map((reserved, index) =>
      settledMeter(reserved.meter, Math.max(0, actualOf(expected[index] ?? reserved) - (charged[index] ?? 0))),
    ),
    sums: {
      day: dayOf(startedAt),
      model: (hasResponse && model.slice(0, maxNameLength)) || unansweredModel,
      add,
      accounts,
    },
  }
}

/** A charge for a part of a call that continues. */
export interface Progress {
  readonly settlement: Settlement
  /** What has been charged so far on each meter of the call. */
  readonly charged: readonly number[]
}

/**
 * Returns the charge for what a running call has used since the last charge. The reservation stays as it is, for what the call uses next.
 *
 * @param event the call as if it ended now
 * @param charged what was charged before on each meter
 * @param callId an id of its own: stores count each id once
 */
export function progressOf(
  event: FinishEvent,
  { tokenId, home, meters, prices }: AdmittedCall,
  charged: readonly number[],
  callId: string,
): Progress {
  const money = costOf(event.cost, prices) ?? leastCost(event, prices)
  const actualOf = createActualUse(event, prices, money, true)
  const now = meters.map((reserved, index) => {
    const before = charged[index] ?? 0
    return countsCalls(reserved.of) ? before : Math.max(before, actualOf(reserved))
  })
  const steps = meters.flatMap(({ of, meter }, index) =>
    countsCalls(of)
      ? []
      : [{ ...settledMeter(meter, (now[index] ?? 0) - (charged[index] ?? 0)), amount: 0, least: undefined }],
  )
  return { settlement: { callId, tokenId, home, at: undefined, meters: steps }, charged: now }
}

/** Returns the settlement of a call whose batch or background response goes on: its reservation counts as used until that has ended. */
export const deferredSettlement = (callId: string, { tokenId, home, meters, at }: AdmittedCall): Settlement => ({
  callId,
  tokenId,
  home,
  at,
  meters: meters.map(({ meter }) => settledMeter(meter, meter.amount)),
})

/**
 * Returns the settlement of a batch or background response that has ended, under an id of its own: it corrects what `deferredSettlement`
 * has counted.
 */
export function correctionOf(event: FinishEvent, call: AdmittedCall): Settlement {
  const { callId, meters, ...rest } = settlementOf(event, call)
  const corrected = meters.map((meter) => ({ ...meter, amount: 0, actual: meter.actual - meter.amount }))
  return { ...rest, callId: `${callId}:end`, meters: corrected }
}

/** Returns a cost in billionths; undefined for an invalid cost, and for one in another currency, which no budget can count. */
function costOf(cost: Cost | undefined, prices: Prices | undefined): number | undefined {
  if (cost === undefined || !(cost.amount >= 0) || cost.amount === Number.POSITIVE_INFINITY) return undefined
  return prices !== undefined && cost.currency !== prices.currency ? undefined : toWholeCount(billionthsOf(cost))
}

const dayMs = 86_400_000
let cachedDay = Number.NaN
let cachedText = ''
/** Returns the UTC day of a time: `2026-11-21`. The last result is cached, because most calls are of the same day. */
function dayOf(time: number): string {
  const day = Math.floor(time / dayMs)
  if (day !== cachedDay) {
    cachedDay = day
    cachedText = new Date(time).toISOString().slice(0, 10)
  }
  return cachedText
}
