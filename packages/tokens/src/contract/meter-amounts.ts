import type { Meter, Sums } from './meter-store.ts'

/**
 * Returns a meter with the amounts of a call. Written out field by field: copying a meter by a spread takes ten times as long, and
 * objects of one shape keep the code of the stores fast.
 */
export function meterOfCall(meter: Meter, amount: number, least: number | undefined): Meter {
  const { name, account, limit, notice } = meter
  switch (meter.kind) {
    case 'window':
      return { kind: 'window', name, account, limit, amount, least, notice, windowMs: meter.windowMs }
    case 'period':
      return { kind: 'period', name, account, limit, amount, least, notice, period: meter.period }
    case 'concurrent':
      return { kind: 'concurrent', name, account, limit, amount, least, notice }
  }
}

/** Returns a meter of a call with its actual use. Written out, as in `meterOfCall`. */
export function settledMeter(meter: Meter, actual: number): Meter & { readonly actual: number } {
  const { name, account, limit, amount, least, notice } = meter
  switch (meter.kind) {
    case 'window':
      return { kind: 'window', name, account, limit, amount, least, notice, actual, windowMs: meter.windowMs }
    case 'period':
      return { kind: 'period', name, account, limit, amount, least, notice, actual, period: meter.period }
    case 'concurrent':
      return { kind: 'concurrent', name, account, limit, amount, least, notice, actual }
  }
}

/** Adds the sums of calls. */
export const addSums = (one: Sums, other: Sums): Sums => ({
  calls: one.calls + other.calls,
  inputTokens: one.inputTokens + other.inputTokens,
  cachedTokens: one.cachedTokens + other.cachedTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  cost: one.cost + other.cost,
  unpriced: one.unpriced + other.unpriced,
})
