import type { Sums } from './meters/meter-store.ts'
import { fromBillionths } from './prices/money.ts'

/** What calls took that are over. */
export interface UsageSums extends Omit<Sums, 'cost'> {
  /** In the currency of the prices; of the calls whose cost is known. */
  readonly cost: number
}

const nothing: Sums = { calls: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, cost: 0, unpriced: 0 }

/** Adds up rows, all together or by what `keyOf` says of each; in the order of the keys. Added as integers, told in units. */
export function sumBy<R extends Sums>(
  rows: readonly R[],
  keyOf: (row: R) => string,
): readonly (readonly [string, UsageSums])[] {
  const sums = new Map<string, Sums>()
  for (const row of rows) sums.set(keyOf(row), added(sums.get(keyOf(row)) ?? nothing, row))
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, sum]) => [key, inUnits(sum)])
}

export const total = (rows: readonly Sums[]): UsageSums => inUnits(rows.reduce(added, nothing))

const added = (one: Sums, other: Sums): Sums => ({
  calls: one.calls + other.calls,
  inputTokens: one.inputTokens + other.inputTokens,
  cachedTokens: one.cachedTokens + other.cachedTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  cost: one.cost + other.cost,
  unpriced: one.unpriced + other.unpriced,
})

const inUnits = (sums: Sums): UsageSums => ({ ...sums, cost: fromBillionths(sums.cost) })
