// `npm run structure`: the shape of each package, and the files of core that calls enter. See calls.mjs for how calls are measured.
// `--files` lists the entered files with their entered functions.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { workspaceDirs } from '../base/workspace.mjs'
import { cyclesIn, describeEdge, entriesOf, layersOf, readGraph, upwardImports } from './imports.mjs'

const print = (/** @type {string} */ text) => process.stdout.write(`${text}\n`)
const column = (/** @type {string | number} */ value, width = 9) => String(value).padStart(width)

print(`${'package'.padEnd(14)}${['files', 'entries', 'cycles', 'upward'].map((name) => column(name)).join('')}`)
/** @type {string[]} */
const details = []
for (const dir of workspaceDirs(['packages'])) {
  const name = dir.slice('packages/'.length)
  const graph = readGraph(name)
  const cycles = cyclesIn(graph)
  const upward = upwardImports(graph, layersOf[name] ?? [])
  const numbers = [graph.files.length, entriesOf(graph).length, cycles.length, upward.length]
  print(`${name.padEnd(14)}${numbers.map((number) => column(number)).join('')}`)
  for (const cycle of cycles) details.push(`${name}: cycle of ${cycle.length} files: ${cycle.slice(0, 8).join(' ')}`)
  for (const edge of upward.slice(0, 20)) details.push(`${name}: upward import: ${describeEdge(edge)}`)
}
for (const detail of details) print(detail)

const output = execFileSync(process.execPath, [fileURLToPath(new URL('calls.mjs', import.meta.url))], {
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'inherit'],
})
/** @type {Record<string, { files: string[], functions: Record<string, string[]>, moves: number, back: number }>} */
const calls = JSON.parse(output)
print(`\n${'call through core'.padEnd(20)}${['files', 'moves', 'back'].map((name) => column(name)).join('')}`)
for (const [kind, { files, functions, moves, back }] of Object.entries(calls)) {
  print(`${kind.padEnd(20)}${[files.length, moves, back].map((number) => column(number)).join('')}`)
  if (process.argv.includes('--files')) for (const file of files) print(`  ${file}: ${functions[file]?.join(' ')}`)
}
