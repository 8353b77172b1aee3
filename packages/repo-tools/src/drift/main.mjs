// Compares the names in the newest SDKs' types with the checked-in lists, and tests the new ones. `npm run drift`:
//   (no option)    prints new names, sends them through all pairs of formats, and fails if there are any
//   --update       writes the lists, with the outcome of each name
//   --sdks FOLDER  reads SDKs that are already installed in a folder
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { formats, packages } from './formats.mjs'
import { namesFile, parseNames, printNames } from './names.mjs'
import { readNames } from './read-names.mjs'

const { values: options } = parseArgs({ options: { update: { type: 'boolean' }, sdks: { type: 'string' } } })
const root = fileURLToPath(new URL('../../../..', import.meta.url))
const work = mkdtempSync(join(tmpdir(), 'modelgate-drift-'))

/**
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} settings
 */
function run(command, args, settings = {}) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', ...settings })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed with the exit code ${status}.`)
}

/** Installs the newest SDKs. Their scripts do not run: only the types are read. */
function install() {
  writeFileSync(join(work, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  run('npm', ['install', ...flags, ...Object.values(packages)], { cwd: work })
  return work
}

/** @typedef {{ format: string, side: string, name: string, place: string }} Name */

/**
 * Sends names through all pairs of formats with the gateway's test setting.
 *
 * @param {readonly Name[]} names
 * @returns {(Name & { outcome: string })[]} the names with their outcomes
 */
function probe(names) {
  const [namesFile, outcomesFile] = [join(work, 'names.json'), join(work, 'outcomes.json')]
  writeFileSync(namesFile, JSON.stringify(names))
  const project = [
    '--config',
    'vitest.workspace.ts',
    '--project',
    'conformance',
    'packages/conformance/src/openapi/drift',
  ]
  const { status } = spawnSync('npx', ['vitest', 'run', ...project], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, DRIFT_NAMES: namesFile, DRIFT_OUTCOMES: outcomesFile },
  })
  // A name that is rejected or changed in its own format, or causes an exception, fails the test above.
  if (status !== 0) process.exitCode = 1
  return JSON.parse(readFileSync(outcomesFile, 'utf8'))
}

try {
  const folder = options.sdks === undefined ? install() : resolve(options.sdks)
  const found = Object.entries(formats).flatMap(([format, { declarations, ...roots }]) =>
    readNames(folder, roots, declarations).map((name) => ({ format, ...name })),
  )
  /** @type {Name[]} */
  const fresh = []
  /** @type {{ format: string }[]} */
  const gone = []
  for (const format of Object.keys(formats)) {
    const known = parseNames(readFileSync(namesFile(format), { encoding: 'utf8', flag: 'a+' }))
    const now = new Map(
      found.filter((name) => name.format === format).map((name) => [`${name.side}\t${name.name}`, name]),
    )
    for (const [key, name] of now) if (!known.has(key)) fresh.push(name)
    for (const key of known.keys()) if (!now.has(key)) gone.push({ format })
  }
  if (options.update) {
    const outcomes = probe(found)
    for (const format of Object.keys(formats))
      writeFileSync(namesFile(format), printNames(outcomes.filter((name) => name.format === format)))
  }
  const tried = options.update || fresh.length === 0 ? [] : probe(fresh)
  for (const format of Object.keys(formats)) {
    const count = fresh.filter((name) => name.format === format).length
    console.log(
      `${format}: ${count} unknown names, ${gone.filter((name) => name.format === format).length} that are gone`,
    )
  }
  if (tried.length > 0) {
    console.log('\n| format | side | name | outcome | place |\n| --- | --- | --- | --- | --- |')
    for (const { format, side, name, outcome, place } of tried)
      console.log(`| ${format} | ${side} | \`${name}\` | ${outcome} | \`${place}\` |`)
    console.log('\nBring these names into the tables of the formats, then run `npm run drift -- --update`.')
    process.exitCode = 1
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
