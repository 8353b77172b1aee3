import type { Cost, FinishEvent } from '@modelgate/core'
import type { Settlement, Sums } from '../meters/meter-store.ts'
import { billionthsOf } from '../prices/money.ts'
import { leastCostOf, mayHaveWorked, type Prices } from '../prices/prices.ts'
import type { Reserved } from './reserve.ts'
import { whole } from './whole.ts'

/** Calls that no model has answered are summed under this name: what they asked for may be any word of a client's. */
const unanswered = '(no answer)'
/** Names come from clients and may be as long as a request. */
const longestName = 200

export interface LetIn {
  readonly tokenId: string
  readonly meters: readonly Reserved[]
  /** When it was counted. */
  readonly at: number | undefined
  readonly prices: Prices | undefined
}

/** What a call really took of each of its counts, and what it adds to its token's sums. */
export function settlementOf(event: FinishEvent, { tokenId, meters, at, prices }: LetIn): Settlement {
  const { requestId, model, startedAt, usage, units, outcome, firstEventMs } = event
  const input = whole(usage?.input.total ?? 0)
  const output = whole(usage?.output.total ?? 0)
  const worked = mayHaveWorked(event)
  // It took something that nobody tells: what was reserved stands for it, since nothing would be free.
  const untold = worked && usage === undefined && units === undefined
  const money = costOf(event.cost, prices)
  const tokensOf = (told: number, reserved: number): number => (untold ? reserved : told)
  const actualOf = ({ of, meter }: Reserved): number => {
    switch (of) {
      case 'requests':
      case 'concurrent':
        return 1
      case 'inputTokens':
        return tokensOf(input, meter.amount)
      case 'outputTokens':
        return tokensOf(output, meter.amount)
      case 'tokens':
        return tokensOf(whole(input + output), meter.amount)
      case 'money':
        if (money !== undefined || !worked) return money ?? 0
        return Math.max(meter.amount, prices === undefined ? 0 : whole(leastCostOf(prices, event)))
    }
  }
  const add: Sums = {
    calls: 1,
    inputTokens: input,
    cachedTokens: whole(usage?.input.cacheRead ?? 0),
    outputTokens: output,
    cost: money ?? 0,
    unpriced: money === undefined && worked ? 1 : 0,
  }
  const answered = firstEventMs !== undefined || outcome === 'finished'
  return {
    callId: requestId,
    tokenId,
    at,
    meters: meters.map((one) => ({ ...one.meter, actual: actualOf(one) })),
    sums: { day: dayOf(startedAt), model: (answered && model.slice(0, longestName)) || unanswered, add },
  }
}

/** In billionths. A cost in another currency, or one that cannot be, is none that a budget could count: unknown. */
function costOf(cost: Cost | undefined, prices: Prices | undefined): number | undefined {
  if (cost === undefined || !(cost.amount >= 0) || cost.amount === Number.POSITIVE_INFINITY) return undefined
  return prices !== undefined && cost.currency !== prices.currency ? undefined : whole(billionthsOf(cost))
}

const dayMs = 86_400_000
let lastDay = Number.NaN
let lastText = ''
/** `2026-11-21`; mostly the same as before. */
function dayOf(time: number): string {
  const day = Math.floor(time / dayMs)
  if (day !== lastDay) {
    lastDay = day
    lastText = new Date(time).toISOString().slice(0, 10)
  }
  return lastText
}
