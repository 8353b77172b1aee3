import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startRedis, withoutRedisToKill } from '@modelgate/tokens/test-support'
import { inParallel } from '../torture/measurements.ts'
import { responses } from './checks/responses.ts'
import { tests } from './checks/tests.ts'
import { checks } from './checks.ts'
import { type Installed, install, ownNode } from './install.ts'
import { checkRuntime, hasFailures, type MatrixOptions } from './matrix.ts'
import { pins } from './pins.ts'
import { makeProject } from './project.ts'
import { asJson, formatRow, table, writeDocument } from './report.ts'

const help = `Starts the gateway in every supported runtime, from the packages as they would be published, and checks it from outside:
one row per runtime, one column per promise.

  npm run runtimes                          all runtimes: ${pins.map(({ name }) => name).join(', ')}
  npm run runtimes -- --only bun,deno       only these runtimes
  npm run runtimes -- --checks bytes,live   only these columns
  npm run runtimes -- --full                includes slow checks
  npm run runtimes -- --tests               also runs this repository's server tests on each Node (some minutes each)
  npm run runtimes -- --docs                writes the table into docs/operate/runtimes.md if everything holds
  npm run runtimes -- --list                prints the checks
  npm run runtimes -- --json FILE           writes the whole table as JSON
  npm run runtimes -- --project FOLDER      uses the packages installed there, such as published ones

Runtimes are installed from npm, pinned, into a cache folder. A runtime that is unavailable on this machine is reported.
Exits with 1 if a promise does not hold.`

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    checks: { type: 'string' },
    json: { type: 'string' },
    project: { type: 'string' },
    docs: { type: 'boolean' },
    full: { type: 'boolean' },
    tests: { type: 'boolean' },
    list: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})

const fail = (message: string): never => {
  console.error(`runtimes: ${message}`)
  process.exit(2)
}

/** Returns the items with these names, in their own order. */
function named<T extends { readonly name: string }>(
  all: readonly T[],
  names: string | undefined,
  option: string,
): readonly T[] {
  if (names === undefined) return all
  const wanted = names.split(',')
  for (const name of wanted)
    if (!all.some((one) => one.name === name))
      fail(`Invalid value '${name}' of ${option}. Expected one of ${all.map((one) => one.name).join(', ')}`)
  return all.filter(({ name }) => wanted.includes(name))
}

async function main(): Promise<number> {
  if (values.help === true) {
    console.log(help)
    return 0
  }
  const columns = [...named(checks, values.checks, '--checks'), ...(values.tests === true ? [tests] : [])]
  if (values.list === true) {
    for (const { name, promise } of columns) console.log(`${name.padEnd(12)}${promise}`)
    return 0
  }
  const wanted = named(pins, values.only, '--only')
  if (values.docs === true && (wanted.length < pins.length || columns.length !== checks.length))
    fail('--docs needs the complete matrix: omit --only, --checks and --tests')
  // Passed by the entry file, because this file runs from a bundle.
  const home = resolve(process.env.MODELGATE_CONFORMANCE ?? '.')
  const root = join(home, '../..')
  const folder = join(home, 'node_modules/.cache/installed-runtimes')
  const standing = values.project === undefined ? undefined : resolve(values.project)
  const [installed, project] = await Promise.all([
    inParallel(wanted, 2, (pin) => install(pin, folder)),
    makeProject(home, root, standing),
  ])
  const redis = withoutRedisToKill === undefined ? await startRedis() : undefined
  if (redis === undefined) console.log(`=== skipped: tokens in Redis: ${withoutRedisToKill}`)
  try {
    const asking: MatrixOptions = {
      root,
      project,
      redis: redis?.url,
      checks: columns,
      reference: new Map(),
      full: values.full === true,
    }
    // Node runs first: its responses are the reference.
    const [node] = pins
    if (node !== undefined && columns.includes(responses))
      await checkRuntime(node, ownNode, { ...asking, checks: [responses] })
    const rows = await inParallel(wanted, 2, async (pin, at) => {
      const row = await checkRuntime(pin, installed[at] as Installed, asking)
      console.log(formatRow(row))
      return row
    })
    console.log(`\n${table(rows)}`)
    if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(asJson(rows), null, 2)}\n`)
    const short = rows.some(({ outcome }) => 'cells' in outcome && outcome.cells.some(hasFailures))
    // The documentation shows a complete matrix without failures.
    if (values.docs === true && !short && rows.every(({ outcome }) => 'cells' in outcome))
      writeDocument(join(root, 'docs/operate/runtimes.md'), rows, columns)
    return short ? 1 : 0
  } finally {
    await redis?.close()
    project.remove()
  }
}

process.exitCode = await main()
