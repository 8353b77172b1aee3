// Writes the results into docs/internals/performance.md, and the plot and the chart next to it.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { drawRates } from './rates-chart.js'

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url))
const document = here('../../../docs/internals/performance.md')
const image = here('../../../docs/images/performance-growth.svg')
const chart = here('../../../docs/images/performance-rates.svg')
const [open, close] = ['<!-- results -->\n', '<!-- /results -->']

/** @param {string} text the text between the markers */
export function writeResults(text) {
  const old = readFileSync(document, 'utf8')
  const [from, to] = [old.indexOf(open), old.indexOf(close)]
  if (from < 0 || to < from)
    throw new Error(`docs/internals/performance.md lacks the markers ${open.trim()} and ${close}`)
  writeFileSync(document, `${old.slice(0, from + open.length)}${text}\n${old.slice(to)}`)
}

/** @param {readonly import('./document.js').Panel[]} panels */
export const writePlot = (panels) => writeFileSync(image, plot(panels))

/** @param {readonly import('./rates-chart.js').Group[]} groups */
export const writeRates = (groups) => writeFileSync(chart, drawRates(groups))

// Curves as SVG on logarithmic axes. The dashed line shows linear growth.

/** @typedef {{ name: string, points: readonly (readonly [x: number, y: number])[] }} Series */
/** @typedef {{ title: string, x: string, y: string, series: readonly Series[] }} Panel */

const width = 320
const height = 260
const margin = { left: 58, right: 14, top: 34, bottom: 44 }
const colours = ['#0b63ce', '#c2410c', '#15803d', '#7e22ce']

/** @param {number} value */
const short = (value) => {
  if (value >= 1_000_000) return `${value / 1_000_000}M`
  if (value >= 1000) return `${value / 1000}k`
  return String(value)
}

/** @param {readonly number[]} values @param {number} from @param {number} to pixels */
function axis(values, from, to) {
  const low = Math.floor(Math.log10(Math.min(...values)))
  // Leaves some room above the largest value.
  const high = Math.max(low + 1, Math.log10(Math.max(...values) * 1.3))
  const at = (/** @type {number} */ value) =>
    Number((from + ((Math.log10(value) - low) / (high - low)) * (to - from)).toFixed(1))
  return { at, ticks: Array.from({ length: Math.floor(high) - low + 1 }, (_, i) => 10 ** (low + i)), least: 10 ** low }
}

/** @param {Panel} panel @param {number} left */
function drawPanel({ title, x, y, series }, left) {
  const points = series.flatMap((one) => one.points)
  const right = left + width - margin.right
  const bottom = height - margin.bottom
  const across = axis(
    points.map(([value]) => value),
    left + margin.left,
    right,
  )
  const up = axis(
    points.map(([, value]) => value),
    bottom,
    margin.top,
  )
  const lines = series.flatMap(({ name, points }, i) => {
    const colour = colours[i % colours.length]
    const path = points.map(([px, py]) => `${across.at(px)},${up.at(py)}`).join(' ')
    const [lastX, lastY] = points.at(-1) ?? [1, 1]
    // Ends at the edge of the panel on either axis.
    const share = Math.max(across.least / lastX, up.least / lastY)
    return [
      `<line x1="${across.at(lastX * share)}" y1="${up.at(lastY * share)}" x2="${across.at(lastX)}" y2="${up.at(lastY)}" stroke="${colour}" stroke-dasharray="2 4" opacity="0.6"/>`,
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...points.map(([px, py]) => `<circle cx="${across.at(px)}" cy="${up.at(py)}" r="2.5" fill="${colour}"/>`),
      `<text x="${left + margin.left + 8}" y="${margin.top + 12 + i * 14}" fill="${colour}">${name}</text>`,
    ]
  })
  const middle = (left + margin.left + right) / 2
  return [
    `<text x="${middle}" y="18" text-anchor="middle" font-weight="bold">${title}</text>`,
    ...across.ticks.flatMap((tick) => [
      `<line x1="${across.at(tick)}" y1="${margin.top}" x2="${across.at(tick)}" y2="${bottom}" stroke="#ddd"/>`,
      `<text x="${across.at(tick)}" y="${bottom + 15}" text-anchor="middle">${short(tick)}</text>`,
    ]),
    ...up.ticks.flatMap((tick) => [
      `<line x1="${left + margin.left}" y1="${up.at(tick)}" x2="${right}" y2="${up.at(tick)}" stroke="#ddd"/>`,
      `<text x="${left + margin.left - 6}" y="${up.at(tick) + 4}" text-anchor="end">${short(tick)}</text>`,
    ]),
    `<text x="${middle}" y="${height - 10}" text-anchor="middle">${x}</text>`,
    `<text transform="translate(${left + 14} ${(margin.top + bottom) / 2}) rotate(-90)" text-anchor="middle">${y}</text>`,
    ...lines,
  ]
}

/** @param {readonly Panel[]} panels drawn side by side @returns {string} */
function plot(panels) {
  const all = panels.length * width
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${all} ${height}" width="${all}" height="${height}" font-family="sans-serif" font-size="11" fill="#222">`,
    '<title>Time of a call over the size of its request</title>',
    `<rect width="${all}" height="${height}" fill="#fff"/>`,
    ...panels.flatMap((panel, i) => drawPanel(panel, i * width)),
    '</svg>\n',
  ].join('\n')
}
