import type { Cost } from '@modelgate/core'

/** Money is counted in whole billionths of the currency unit: sums of them are exact, sums of decimal numbers are not. */
const billionths = 1_000_000_000

/** An amount in whole billionths, from one in currency units. */
export const toBillionths = (amount: number): number => Math.round(amount * billionths)

/** An amount in currency units, from one in billionths. */
export const fromBillionths = (amount: number | bigint): number => Number(amount) / billionths

/** What a call cost, in whole billionths of the currency unit. */
export const billionthsOf = ({ amount }: Cost): number => toBillionths(amount)
