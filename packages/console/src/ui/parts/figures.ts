/** Formats whole numbers with separators. */
export const whole = new Intl.NumberFormat('en')
/** Formats a duration in milliseconds or seconds. */
export const inMs = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`

/** Formats an amount with three significant digits, because small amounts are the rule. */
export const inMoney = (amount: number, currency: string): string => {
  const digits = amount === 0 || amount >= 1 ? 2 : Math.min(9, 1 - Math.floor(Math.log10(amount)) + 1)
  try {
    return new Intl.NumberFormat('en', {
      style: 'currency',
      currency,
      minimumFractionDigits: 2,
      maximumFractionDigits: Math.max(2, digits),
    }).format(amount)
  } catch {
    return `${amount} ${currency}`
  }
}
