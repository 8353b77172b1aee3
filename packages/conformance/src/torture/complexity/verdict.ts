/** Cost of a call of one size. */
export interface Point {
  readonly bytes: number
  /** JSON values in the body, if it is JSON. */
  readonly values?: number
  /** CPU milliseconds, or counted steps. */
  readonly cost: number
}

/** Limits: growth beyond nearly linear, or a budget per megabyte. */
export interface Bounds {
  readonly exponent: number
  readonly msPerMb: number
  /** Costs below this are dominated by noise of the machine. */
  readonly leastMs: number
}

/**
 * Twice the bytes may take 2.5 times as long, because memory and garbage collection grow a little faster. The budget is
 * several times the cost of the most expensive honest body, one of many small values, on a slow machine.
 */
export const bounds: Bounds = { exponent: 1.3, msPerMb: 1000, leastMs: 25 }

/** Returns the slope in logarithms: 1 for linear, 2 for quadratic growth. */
export function exponentOf(points: readonly Point[]): number {
  const logs = points.map(({ bytes, cost }) => [Math.log(bytes), Math.log(Math.max(cost, 1e-3))] as const)
  const mean = (at: 0 | 1): number => logs.reduce((sum, log) => sum + log[at], 0) / logs.length
  const [x, y] = [mean(0), mean(1)]
  const above = logs.reduce((sum, [logX, logY]) => sum + (logX - x) * (logY - y), 0)
  return above / logs.reduce((sum, [logX]) => sum + (logX - x) ** 2, 0)
}

const megabyte = 1_000_000
/** Minimum bytes per value: a megabyte of `{}` has 333,000 objects, which are parsed and encoded one by one. */
const bytesOfValue = 20
/** Smaller sizes count as this one, because of fixed costs. */
const leastBytes = 10_000

/** Returns the CPU milliseconds per megabyte of the largest point. */
export function msPerMb(points: readonly Point[]): number {
  const { bytes = 1, values = 0, cost = 0 } = points.at(-1) ?? {}
  return (cost / Math.max(bytes, values * bytesOfValue, leastBytes)) * megabyte
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const lineEnd = 0x0a
const openings: ReadonlyMap<number, number> = new Map([
  [0x5b, 0x5d],
  [0x7b, 0x7d],
])

/** Counts members and elements in JSON, or in events of JSON. */
export function countValues(body: string | Uint8Array): number {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  let values = 0
  let inText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (inText) {
      if (byte === backslash) at++
      else if (byte === quote || byte === lineEnd) inText = false
    } else if (byte === quote) inText = true
    else if (byte === comma) values++
    else {
      const closing = openings.get(byte)
      if (closing !== undefined && bytes[at + 1] !== closing) values++
    }
  }
  return values
}

/** Returns the complaint about these costs, or undefined. */
export function complaintOf(
  points: readonly Point[],
  { exponent, msPerMb: budget, leastMs }: Bounds = bounds,
): string | undefined {
  const { bytes = 0, cost = 0 } = points.at(-1) ?? {}
  if (cost < leastMs) return undefined
  const slope = exponentOf(points)
  const perMb = msPerMb(points)
  // Sizes that hardly differ, because a limit ends the growth, have no meaningful exponent.
  const grows = bytes > 1.5 * (points[0]?.bytes ?? 0)
  if (grows && slope > exponent) return `exponent ${slope.toFixed(2)}`
  return perMb > budget ? `${Math.round(perMb)} ms of CPU per MB` : undefined
}
