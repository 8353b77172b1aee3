// Reads the results of a step of `.ci/run`: prints `<passed> <failed>`, and appends to the file of notes a line for everything that
// failed, was skipped, passed only on the second run, or was too late to count.
//   node ci-counts.mjs <file of results> <step> <file of notes>
import { appendFileSync, readFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'

/** @typedef {{ row: number, title: string, verdict: string, figure?: string, skipped?: string, late?: boolean }} TortureRow */
/** @typedef {{ name: string, held?: number, total?: number }} RuntimeCheck */
/**
 * A row of `npm run stranger`, `torture` or `runtimes`: the numbers of things that hold and that fail.
 * @typedef {{ held: number, short: number, page?: string, error?: string, target?: string, rows?: TortureRow[], title?: string,
 *   absent?: string, checks?: RuntimeCheck[] }} ResultRow
 */
/** @typedef {{ passed: number, failed: number, skipped: number, failures: string[], flaky: string[] }} TestCounts */

/**
 * @param {string} step
 * @param {TestCounts | ResultRow[]} results of tests (`count-reporter.mjs`), or rows
 * @returns {{ passed: number, failed: number, notes: string[] }}
 */
export function readResults(step, results) {
  if (!Array.isArray(results)) {
    const { passed, failed, skipped, failures, flaky } = results
    const notes = [
      ...failures.map((name) => `failed: ${name}`),
      ...flaky.map((name) => `passed only on the second run: ${name}`),
      ...(skipped > 0 ? [`skipped: ${step}, ${skipped} tests`] : []),
    ]
    return { passed, failed, notes }
  }
  const sum = (/** @type {'held' | 'short'} */ key) => results.reduce((all, row) => all + row[key], 0)
  const notes = results.length === 0 ? [`skipped: ${step}`] : results.flatMap((row) => notesOf(step, row))
  return { passed: sum('held'), failed: sum('short'), notes }
}

/** @param {string} step @param {ResultRow} result */
function notesOf(step, { page, error, target, rows = [], title, absent, checks = [] }) {
  return [
    ...(error === undefined ? [] : [`failed: ${step}, ${page}: ${error.split('\n')[0]}`]),
    ...(absent === undefined ? [] : [`skipped: ${step}, ${title}: ${absent}`]),
    ...rows.flatMap(({ row, title, verdict, figure, skipped, late }) => {
      const name = `${step}, ${target}, row ${row} (${title})`
      if (verdict === 'skipped') return [`skipped: ${name}: ${skipped}`]
      if (verdict !== 'FAILED') return []
      return [`${late === true ? 'too late, not counted' : 'failed'}: ${name}: ${figure}`]
    }),
    ...checks.flatMap(({ name, held = 0, total = 0 }) =>
      held < total ? [`failed: ${step}, ${title}, ${name}: ${held} of ${total}`] : [],
    ),
  ]
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const [, , file = '', step = '', notesFile = ''] = argv
  const { passed, failed, notes } = readResults(step, JSON.parse(readFileSync(file, 'utf8')))
  appendFileSync(notesFile, notes.map((note) => `${note}\n`).join(''))
  process.stdout.write(`${passed} ${failed}\n`)
}
