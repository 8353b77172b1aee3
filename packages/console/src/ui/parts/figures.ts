/** Formats whole numbers with separators. */
export const whole = new Intl.NumberFormat('en')
/** Formats a duration in milliseconds or seconds. */
export const inMs = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`

const units = ['kB', 'MB', 'GB'] as const

/** Formats a size: `812 bytes`, `64 kB`, `1.2 MB`. A kB has 1024 bytes. */
export function inBytes(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  let size = bytes / 1024
  let unit = 0
  // Rounded first: 1023.6 kB is 1 MB.
  for (; Math.round(size) >= 1024 && unit < units.length - 1; unit++) size /= 1024
  return `${size < 10 ? Number(size.toFixed(1)) : Math.round(size)} ${units[unit]}`
}

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
