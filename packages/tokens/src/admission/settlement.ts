import type { FinishEvent } from '@modelgate/core'
import type { Settlement, Sums } from '../meters/meter-store.ts'
import { billionthsOf } from '../prices/money.ts'
import type { Reserved } from './reserve.ts'

/** Calls that no model has answered are summed under this name: what they asked for may be any word of a client's. */
export const unanswered = '(no answer)'

/** What a call really took of each of its counts, and what it adds to its token's sums. */
export function settlementOf(
  { requestId, model, startedAt, usage, cost, basis, units, outcome }: FinishEvent,
  tokenId: string,
  meters: readonly Reserved[],
  at: number | undefined,
): Settlement {
  const input = usage?.input.total ?? 0
  const output = usage?.output.total ?? 0
  const worked = basis !== undefined || units !== undefined || outcome === 'finished'
  const money = cost === undefined ? undefined : billionthsOf(cost)
  const actualOf = ({ of, meter }: Reserved): number => {
    switch (of) {
      case 'requests':
      case 'concurrent':
        return 1
      case 'inputTokens':
        return input
      case 'outputTokens':
        return output
      case 'tokens':
        return input + output
      case 'money':
        // Something was used, and nobody knows what it cost: the estimate stands for it, since nothing would be free.
        return money ?? (worked ? meter.amount : 0)
    }
  }
  const add: Sums = {
    calls: 1,
    inputTokens: input,
    cachedTokens: usage?.input.cacheRead ?? 0,
    outputTokens: output,
    cost: money ?? 0,
    unpriced: money === undefined && worked ? 1 : 0,
  }
  return {
    callId: requestId,
    tokenId,
    at,
    meters: meters.map((one) => ({ ...one.meter, actual: actualOf(one) })),
    sums: { day: dayOf(startedAt), model: worked ? model : unanswered, add },
  }
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
