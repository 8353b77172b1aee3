// Measures how steady the machine is: the same small work before, between and after all rows, and the variation of
// the other side of each comparison.
import os from 'node:os'
import { median, percent, relativeSpread } from './table.js'

const data = JSON.stringify(Array.from({ length: 2000 }, (_, i) => ({ id: i, text: `word ${i}`, list: [i, i * 2] })))
let sink = 0

/** @returns {number} milliseconds of a constant amount of work */
function once() {
  const started = performance.now()
  for (let i = 0; i < 20; i++) sink += JSON.stringify(JSON.parse(data)).length
  return performance.now() - started
}

export function createNoiseMeter() {
  for (let i = 0; i < 5; i++) once()
  /** Load before the first row; 0 if the system does not report it. */
  const [load = 0] = os.loadavg()
  /** @type {number[]} */
  const samples = []
  return {
    sample() {
      samples.push(median(Array.from({ length: 5 }, once)))
    },

    /** True if the machine is slower now than before. */
    get busy() {
      return (samples.at(-1) ?? 0) > 1.25 * Math.min(...samples)
    },

    /** @param {readonly import('./row.js').Row[]} rows */
    report(rows) {
      const references = rows.flatMap(({ reference = [] }) => (reference.length > 1 ? [relativeSpread(reference)] : []))
      const calibration = relativeSpread(samples)
      const unclear = rows.filter(({ verdict }) => verdict === 'too noisy to tell').map(({ work }) => work)
      const others = load / os.availableParallelism()
      const noisy = others > 0.3 || calibration > 0.15 || (references.length > 0 && median(references) > 0.15)
      const text = [
        `Noise: before the first row the load was ${load.toFixed(1)}; a constant loop took ${median(samples).toFixed(1)} ms and varied by ${percent(calibration)} from row to row;`,
        references.length > 0
          ? `the compared sides varied by ${percent(median(references))} from round to round, at worst by ${percent(Math.max(...references))}.`
          : 'no row has several rounds.',
        noisy ? 'The machine is noisy: trust ratios, not figures.' : 'The machine is quiet.',
        unclear.length === 0 ? '' : `Too noisy to tell: ${unclear.join('; ')}.`,
      ]
      if (sink === 0) throw new Error('nothing was measured')
      return { text: text.filter(Boolean).join(' '), noisy, load, samples, calibration, references, unclear }
    },
  }
}
