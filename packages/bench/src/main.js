// Entry point of `pnpm bench`. Compares the gateway with bare proxies and with other gateways from npm, in one run.
// Prints a table with a verdict on the machine's noise, and writes all figures as JSON. With --check, a missed bar
// fails the run.
//   <text> or BENCH_ONLY  part of a row's name: `JSON`, `express`, `codecs`, `codecs: chat → gemini`, `tokens`, `growth`, `first event`,
//               `concurrent`, `import`, `npx modelgate`, `size`
//   BENCH_ROUNDS (15)  BENCH_SECONDS (0.5)  BENCH_CONNECTIONS (32)  for rows with sockets
//   BENCH_STREAMS (3000)  BENCH_STREAM_ROUNDS (5)  BENCH_STREAM_SECONDS (3)  for concurrent streams
//   BENCH_CODEC_ROUNDS (15)  BENCH_CODEC_SLICE (5, milliseconds)  for codecs and tokens
//   BENCH_GROWTH_ROUNDS (5)  BENCH_GROWTH_SLICE (30, milliseconds)  BENCH_STARTS (21 processes)  BENCH_COMMAND_STARTS (9)
//   BENCH_PEERS=0  without nginx, Portkey and llm-bridge
//   --json <file> or BENCH_JSON  JSON output; default: packages/bench/results.json
//   --profile  writes CPU profiles of both sides to packages/bench/profiles, and prints where their difference comes from
//   UPDATE_PERFORMANCE=1  writes table, plot and chart into docs/internals/performance.md
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writePlot, writeRates, writeResults } from './document.js'
import { kinds } from './kinds.js'
import { createNoiseMeter } from './noise.js'
import { machine, placement } from './placement.js'
import { groupsOf } from './rates-chart.js'
import { cellsOf, disturbed, isPublished, publishedCellsOf, steadier } from './row.js'
import { table } from './table.js'

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { check: { type: 'boolean' }, profile: { type: 'boolean' }, json: { type: 'string' } },
})
const json = flags.json ?? process.env.BENCH_JSON ?? fileURLToPath(new URL('../results.json', import.meta.url))
const only = positionals.join(' ') || process.env.BENCH_ONLY || ''

const chosen = kinds.flatMap(({ names, run }) => {
  const some = names.filter((name) => name.includes(only))
  return some.length === 0 ? [] : [{ names: some, run }]
})
if (chosen.length === 0) throw new Error(`no row has a name with '${only}'`)

/** Times that a row is measured again for the documentation, if its compared side varied too much. */
const repetitions = process.env.UPDATE_PERFORMANCE === undefined ? 0 : 2

const noise = createNoiseMeter()
/** @type {import('./row.js').Row[]} */
const rows = []
/** @type {import('./document.js').Panel[]} */
const panels = []
/** @type {string[]} */
const failures = []
const keepPanels = (/** @type {typeof panels} */ some) => panels.push(...some)
console.log(machine)
noise.sample()
for (const { names, run } of chosen) {
  const first = rows.length
  const busyBefore = noise.busy
  try {
    const options = { profile: flags.profile === true, between: noise.sample, onPanels: keepPanels }
    rows.push(...(await measure(names, run, options)))
  } catch (error) {
    failures.push(`Not measured: ${names.join(', ')}: ${error instanceof Error ? error.message : error}`)
    console.log(failures.at(-1))
  }
  noise.sample()
  if (busyBefore || noise.busy) rows.push(...rows.splice(first).map(disturbed))
}

/** @param {readonly string[]} names @param {import('./kinds.js').Kind['run']} run @param {import('./kinds.js').Options} options */
async function measure(names, run, options) {
  let measured = await run(names, options)
  for (let time = 0; time < repetitions; time++) {
    const unsteady = names.filter((name) => measured.some((row) => row.work === name && !isPublished(row)))
    if (unsteady.length === 0) break
    const again = await run(unsteady, options)
    measured = measured.map((row) => steadier(row, again))
  }
  return measured
}

const steadiness = noise.report(rows)
/** @param {(row: import('./row.js').Row) => { [column: string]: string }} cells */
const textOf = (cells) =>
  [
    rows.length === 0 ? 'No rows.' : table(rows.map(cells)),
    '',
    `${machine}, ${placement}. ${steadiness.text}`,
    ...failures,
  ].join('\n')
console.log(`\n${textOf(cellsOf)}`)
const at = new Date().toISOString()
writeFileSync(json, `${JSON.stringify({ at, machine, placement, noise: steadiness, failures, rows }, null, 2)}\n`)
console.log(`All figures: ${json}`)
if (process.env.UPDATE_PERFORMANCE !== undefined) {
  if (only !== '' || failures.length > 0) throw new Error('UPDATE_PERFORMANCE needs a run of all rows')
  writeResults(`\n${textOf(publishedCellsOf)}\n`)
  writePlot(panels)
  writeRates(groupsOf(rows.filter(isPublished)))
}
const missed = rows.filter(({ verdict }) => verdict === 'MISSED')
if (flags.check && missed.length + failures.length > 0) process.exitCode = 1
