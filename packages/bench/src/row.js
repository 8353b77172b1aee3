// A row of the table: the measurements of each round, the bar, and whether the rounds allow a verdict.
import { median, percent, relativeSpread, spread } from './table.js'

/**
 * @typedef {object} Measured
 * @property {string} work
 * @property {string} ours figure of Modelgate, with its unit
 * @property {string} [beside] the compared side, with its figure
 * @property {readonly number[]} rounds values that are compared with the bar, one per round
 * @property {string} [unit] unit of the rounds; default: a factor
 * @property {number} [digits] decimals of the value; default 2
 * @property {{ least: number } | { most: number }} [bar]
 * @property {boolean} [absolute] true if the rounds are times, which a busy machine prolongs, unlike ratios
 * @property {boolean} [disturbed] true if a disturbance is known
 * @property {readonly number[]} [reference] values of the compared side per round: the variation of the machine itself
 * @property {string} [peer] figures of others for the same work
 * @property {{ [proxy: string]: number }} [rates] calls per second of all of them, for the chart
 * @property {object} [figures] further figures, for the JSON
 */
/** @typedef {'pass' | 'MISSED' | 'too noisy to tell' | ''} Verdict */
/** @typedef {Measured & { value: number, verdict: Verdict }} Row */

/** Allowed difference between rounds, as a share of the value, before they count as noise. */
const tolerance = 0.1

/** Allowed variation of the compared side between rounds, as a share of its median, in a row that is published. */
const steadyReference = 0.15

/** Returns how much the compared side varied, if that is too much for the row to mean anything. @param {Measured} measured */
const referenceMovement = ({ reference = [] }) => {
  const movement = reference.length > 1 ? relativeSpread(reference) : 0
  return movement > steadyReference ? movement : undefined
}

/** @param {Measured} measured @returns {Row} */
export const createRow = (measured) => ({
  ...measured,
  value: median(measured.rounds),
  verdict: verdictOf(measured),
})

/** Returns that measurement of a row whose compared side varied less, whatever the values. @param {Row} row @param {readonly Row[]} again */
export function steadier(row, again) {
  const other = again.find(({ work }) => work === row.work)
  const unsteadiness = (/** @type {Row} */ { reference = [], disturbed: isDisturbed }) =>
    (isDisturbed === true ? 1 : 0) + relativeSpread(reference)
  return other !== undefined && unsteadiness(other) < unsteadiness(row) ? other : row
}

/**
 * The median decides, unless the row was disturbed, the compared side varied too much, or the rounds contradict each other: they differ by more than the
 * tolerance (without the highest and the lowest), and the bar lies among them.
 * @param {Measured} measured @returns {Verdict}
 */
function verdictOf(measured) {
  const { rounds, bar, disturbed } = measured
  if (bar === undefined) return ''
  if (disturbed || referenceMovement(measured) !== undefined) return 'too noisy to tell'
  const at = 'least' in bar ? bar.least : bar.most
  const value = median(rounds)
  const [low, high] = spread(rounds)
  if (low < at && at < high && high - low > tolerance * Math.max(Math.abs(value), at)) return 'too noisy to tell'
  return ('least' in bar ? value >= at : value <= at) ? 'pass' : 'MISSED'
}

/** Returns the row furthest from its bar; certain misses come before unclear ones. @param {readonly Row[]} rows */
export function worstOf(rows) {
  const rank = (/** @type {Row} */ { verdict }) => ['MISSED', 'too noisy to tell', 'pass', ''].indexOf(verdict)
  const distance = (/** @type {Row} */ { value, bar }) => (bar !== undefined && 'least' in bar ? value : -value)
  return [...rows].sort((a, b) => rank(a) - rank(b) || distance(a) - distance(b))[0]
}

/** A time that is too long has no meaning on a busy machine. @param {Row} row @returns {Row} */
export const disturbed = (row) =>
  row.absolute === true && row.verdict === 'MISSED' ? { ...row, verdict: 'too noisy to tell' } : row

/** @param {Row} row */
export function cellsOf({ work, ours, beside = '', value, unit = '×', digits = 2, bar, verdict, peer = '' }) {
  const written = bar === undefined ? '' : 'least' in bar ? `≥ ${bar.least}` : `≤ ${bar.most}`
  return {
    work,
    Modelgate: ours,
    'compared with': beside,
    measured: `${value.toFixed(digits)} ${unit}`,
    bar: written && `${written} ${unit}`,
    verdict: verdict === 'pass' ? verdict : verdict && `**${verdict}**`,
    others: peer,
  }
}

/** Returns whether the documentation shows a row's figures. @param {Row} row */
export const isPublished = (row) => row.disturbed !== true && referenceMovement(row) === undefined

/** Returns the cells for the documentation: without the figures of a row that was disturbed, or whose compared side varied too much. @param {Row} row */
export function publishedCellsOf(row) {
  const movement = referenceMovement(row)
  const reason = movement !== undefined ? `varied by ${percent(movement)} between rounds` : 'other work used its CPU'
  if (isPublished(row)) return cellsOf(row)
  return {
    ...cellsOf(row),
    Modelgate: 'not published',
    'compared with': reason,
    measured: '',
    others: '',
  }
}
