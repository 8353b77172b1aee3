// A row of the table: what was measured in each round, what the bar is, and whether that can be told from these rounds.
import { median, spread } from './table.js'

/**
 * @typedef {object} Measured
 * @property {string} work
 * @property {string} ours what Modelgate does, with its unit
 * @property {string} [beside] what it is measured against, with its figure
 * @property {readonly number[]} rounds what is compared with the bar, once for each round
 * @property {string} [unit] of the rounds; default: times
 * @property {number} [digits] how many decimals of them are told; default 2
 * @property {{ least: number } | { most: number }} [bar]
 * @property {boolean} [absolute] whether the rounds are times, which a busy machine makes longer; ratios bear with it
 * @property {boolean} [disturbed] whether something is known to have come between
 * @property {readonly number[]} [reference] what the other side did in each round: how much the machine itself varied
 * @property {string} [peer] what others do with the same work
 * @property {object} [figures] everything else, for the JSON
 */
/** @typedef {'pass' | 'MISSED' | 'too noisy to tell' | ''} Verdict */
/** @typedef {Measured & { value: number, verdict: Verdict }} Row */

/** What rounds may differ by, as a share of what is compared, before they are noise. */
const tolerance = 0.1

/** @param {Measured} measured @returns {Row} */
export const createRow = (measured) => ({
  ...measured,
  value: median(measured.rounds),
  verdict: verdictOf(measured),
})

/**
 * The median decides, unless something came between, or the rounds contradict each other: they differ by more than the
 * tolerance (the highest and the lowest left aside), and the bar lies among them.
 * @param {Measured} measured @returns {Verdict}
 */
function verdictOf({ rounds, bar, disturbed }) {
  if (bar === undefined) return ''
  if (disturbed) return 'too noisy to tell'
  const at = 'least' in bar ? bar.least : bar.most
  const value = median(rounds)
  const [low, high] = spread(rounds)
  if (low < at && at < high && high - low > tolerance * Math.max(Math.abs(value), at)) return 'too noisy to tell'
  return ('least' in bar ? value >= at : value <= at) ? 'pass' : 'MISSED'
}

/** The row that is furthest from its bar, one that certainly misses it before any that may. @param {readonly Row[]} rows */
export function worstOf(rows) {
  const rank = (/** @type {Row} */ { verdict }) => ['MISSED', 'too noisy to tell', 'pass', ''].indexOf(verdict)
  const distance = (/** @type {Row} */ { value, bar }) => (bar !== undefined && 'least' in bar ? value : -value)
  return [...rows].sort((a, b) => rank(a) - rank(b) || distance(a) - distance(b))[0]
}

/** While the machine was busy with something else, a time that is too long tells nothing. @param {Row} row @returns {Row} */
export const disturbed = (row) =>
  row.absolute === true && row.verdict === 'MISSED' ? { ...row, verdict: 'too noisy to tell' } : row

/** @param {Row} row */
export function cellsOf({ work, ours, beside = '', value, unit = '×', digits = 2, bar, verdict, peer = '' }) {
  const written = bar === undefined ? '' : 'least' in bar ? `≥ ${bar.least}` : `≤ ${bar.most}`
  return {
    work,
    Modelgate: ours,
    'beside it': beside,
    measured: `${value.toFixed(digits)} ${unit}`,
    bar: written && `${written} ${unit}`,
    verdict: verdict === 'pass' ? verdict : verdict && `**${verdict}**`,
    others: peer,
  }
}
