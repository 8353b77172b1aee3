import type { Cost } from '@modelgate/core'

/** Money is counted in whole billionths of the currency unit: their sums are exact, sums of decimal fractions are not. */
const billionths = 1_000_000_000

/** Converts an amount in currency units to whole billionths. */
export const toBillionths = (amount: number): number => Math.round(amount * billionths)

/** Converts billionths to currency units. */
export const fromBillionths = (amount: number | bigint): number => Number(amount) / billionths

/** Returns the cost of a call in whole billionths of the currency unit. */
export const billionthsOf = ({ amount }: Cost): number => toBillionths(amount)

/** Formats an amount with at most six decimal places, without an exponent and without trailing zeros. */
export const formatDecimal = (amount: number): string => amount.toFixed(6).replace(/\.?0+$/, '')
