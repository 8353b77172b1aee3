import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startRedis, withoutRedisToKill } from '@modelgate/tokens/test-support'
import { inParallel } from '../torture/measurements.ts'
import { answers } from './checks/answers.ts'
import { tests } from './checks/tests.ts'
import { checks } from './checks.ts'
import { type Installed, install, ownNode } from './install.ts'
import { type Asking, ask, fellShort } from './matrix.ts'
import { pins } from './pins.ts'
import { makeProject } from './project.ts'
import { account, asJson, document, table } from './report.ts'

const help = `Starts the gateway in every runtime that it is promised for, from the packages as they would be published, and asks it from
outside: a row for each runtime, a column for each promise.

  npm run runtimes                          all of them: ${pins.map(({ name }) => name).join(', ')}
  npm run runtimes -- --only bun,deno       these alone
  npm run runtimes -- --checks answers,live these columns alone
  npm run runtimes -- --full                what takes long is asked, too
  npm run runtimes -- --tests               on Nodes this repository's tests of servers, too (some minutes each)
  npm run runtimes -- --docs                writes the table into docs/runtimes.md, if all of it holds
  npm run runtimes -- --list                what is asked
  npm run runtimes -- --json FILE           the whole table, for machines
  npm run runtimes -- --project FOLDER      with the packages that are installed there, such as those that were published

Runtimes come from npm, pinned, into a cache folder. One that this machine cannot have is a line that says so.
Ends with 1 if something that must hold does not.`

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

/** The things with these names, in their own order. */
function named<T extends { readonly name: string }>(
  all: readonly T[],
  names: string | undefined,
  option: string,
): readonly T[] {
  if (names === undefined) return all
  const wanted = names.split(',')
  for (const name of wanted)
    if (!all.some((one) => one.name === name))
      fail(`${option}: '${name}' is none of ${all.map((one) => one.name).join(', ')}`)
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
    fail('--docs shows all of it: leave out --only, --checks and --tests')
  // As the entry says it: this file runs from a bundle.
  const home = resolve(process.env.MODELGATE_CONFORMANCE ?? '.')
  const root = join(home, '../..')
  const folder = join(home, 'node_modules/.cache/installed-runtimes')
  const standing = values.project === undefined ? undefined : resolve(values.project)
  const [installed, project] = await Promise.all([
    inParallel(wanted, 2, (pin) => install(pin, folder)),
    makeProject(home, root, standing),
  ])
  const redis = withoutRedisToKill === undefined ? await startRedis() : undefined
  if (redis === undefined) console.log(`=== tokens in Redis are left out: ${withoutRedisToKill}`)
  try {
    const asking: Asking = {
      root,
      project,
      redis: redis?.url,
      checks: columns,
      reference: new Map(),
      full: values.full === true,
    }
    // Before all others: what this process's own Node answers.
    const [node] = pins
    if (node !== undefined && columns.includes(answers)) await ask(node, ownNode, { ...asking, checks: [answers] })
    const rows = await inParallel(wanted, 2, async (pin, at) => {
      const row = await ask(pin, installed[at] as Installed, asking)
      console.log(account(row))
      return row
    })
    console.log(`\n${table(rows)}`)
    if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(asJson(rows), null, 2)}\n`)
    const short = rows.some(({ outcome }) => 'cells' in outcome && outcome.cells.some(fellShort))
    // The documentation shows a complete matrix without failures.
    if (values.docs === true && !short && rows.every(({ outcome }) => 'cells' in outcome))
      document(join(root, 'docs/runtimes.md'), rows, columns)
    return short ? 1 : 0
  } finally {
    await redis?.close()
    project.remove()
  }
}

process.exitCode = await main()
