// Writes what was measured into docs/performance.md, and the plot beside it.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { plot } from './plot.js'

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url))
const document = here('../../../docs/performance.md')
const image = here('../../../docs/images/performance-growth.svg')
const [open, close] = ['<!-- results -->\n', '<!-- /results -->']

/** @param {string} text what stands between the marks */
export function writeResults(text) {
  const old = readFileSync(document, 'utf8')
  const [from, to] = [old.indexOf(open), old.indexOf(close)]
  if (from < 0 || to < from) throw new Error(`docs/performance.md lacks the marks ${open.trim()} and ${close}`)
  writeFileSync(document, `${old.slice(0, from + open.length)}${text}\n${old.slice(to)}`)
}

/** @param {readonly import('./plot.js').Panel[]} panels */
export const writePlot = (panels) => writeFileSync(image, plot(panels))
