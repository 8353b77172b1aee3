/** @param {readonly { [column: string]: string | number }[]} rows @returns {string} a table in Markdown */
export function table(rows) {
  const columns = Object.keys(rows[0] ?? {})
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => String(row[column]).length)))
  /** @param {(string | number | undefined)[]} cells */
  const line = (cells) => `| ${cells.map((cell, i) => String(cell ?? '').padEnd(widths[i] ?? 0)).join(' | ')} |`
  return [
    line(columns),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map((row) => line(columns.map((column) => row[column]))),
  ].join('\n')
}

/** @param {readonly number[]} numbers */
const sorted = (numbers) => [...numbers].sort((a, b) => a - b)

/** @param {readonly number[]} numbers */
export const median = (numbers) => sorted(numbers)[Math.floor(numbers.length / 2)] ?? Number.NaN

/** @param {readonly number[]} numbers */
export function percentiles(numbers) {
  const list = sorted(numbers)
  const at = (/** @type {number} */ share) => list[Math.floor(list.length * share)] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

/**
 * Returns the lowest and the highest value; with five or more values without the outermost ones. @param {readonly
 * number[]} numbers @returns {[number, number]}
 */
export function spread(numbers) {
  const trim = numbers.length >= 5 ? 1 : 0
  const list = sorted(numbers)
  return [list[trim] ?? Number.NaN, list[list.length - 1 - trim] ?? Number.NaN]
}

/** Returns the difference of the outermost values of `spread`, as a share of the median. @param {readonly number[]} numbers */
export function relativeSpread(numbers) {
  const [low, high] = spread(numbers)
  return (high - low) / median(numbers)
}

/** @param {readonly number[]} numbers */
export const mean = (numbers) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length

/** Returns half of the 95 % interval of the mean. @param {readonly number[]} numbers */
export function confidence95(numbers) {
  const center = mean(numbers)
  const squares = numbers.reduce((sum, number) => sum + (number - center) ** 2, 0)
  return 1.96 * Math.sqrt(squares / (numbers.length - 1) / numbers.length)
}

/** Formats a number for readers: `12,345`. @param {number} number */
export const grouped = (number) => Math.round(number).toLocaleString('en-US')

/** @param {number} number a share of at most 1 @param {number} [digits] */
export const percent = (number, digits = 0) => `${(number * 100).toFixed(digits)} %`
