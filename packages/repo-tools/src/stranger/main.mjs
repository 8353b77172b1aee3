// Follows documentation pages like a new user: with npm only, in empty folders, with packed packages, until each of the four SDKs has
// its response.
//
//   npm run stranger                    all pages, and the quick start once per host
//   npm run stranger -- README.md …     some pages
//   npm run stranger -- Express …       some hosts of the quick start
//   npm run stranger -- --json FILE     writes a row per page
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { read } from '../documentation/pages.mjs'
import { startFakeProviders } from '../packed/fake-providers.mjs'
import { packedRegistry } from '../packed/registry.mjs'
import { follow, lacks, unanswered } from './follow.mjs'
import { followed } from './followed-pages.mjs'

const { values, positionals } = parseArgs({ options: { json: { type: 'string' } }, allowPositionals: true })
const named = positionals.flatMap((word) => {
  const known = followed.filter(({ page, host }) => word === page || word === host)
  return known.length > 0 ? known : [{ page: word }]
})
const queue = lacks.length > 0 ? [] : positionals.length > 0 ? named : [...followed]
if (lacks.length > 0) console.log(`no ${lacks.join(' and no ')} here: pages are not followed`)

const registry = await packedRegistry()
// Real keys only: calls of a demo, whose key is a placeholder, fail if they leave the demo's own fake provider.
const home = await startFakeProviders({ apiKey: (key) => key.startsWith('sk-') })

/** Follows a page, prints the result and returns the problem. @param {{ page: string, host?: string }} visit */
async function visit({ page, host }) {
  const title = titleOf(page, host)
  const began = performance.now()
  try {
    const { answers, steps } = await follow(page, read(page), { env: registry.env, home: home.port, host })
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(`${title}: ${steps} steps, ${answers.length} responses, ${seconds} s`)
    for (const { format, text } of answers) console.log(`  ${format}: ${text.slice(0, 100)}`)
    const silent = unanswered(answers)
    if (silent.length === 0) return undefined
    console.log(`${title}: FAILED: no response by ${silent.join(', ')}`)
    return `no response by ${silent.join(', ')}`
  } catch (error) {
    const problem = String(error instanceof Error ? error.message : error)
    console.log(`${title}: FAILED\n  ${problem.replaceAll('\n', '\n  ')}`)
    return problem
  }
}

/** @param {string} page @param {string | undefined} host */
const titleOf = (page, host) => (host === undefined ? page : `${page} (${host})`)

/** @type {{ page: string, held: number, short: number, error?: string }[]} */
const rows = []

async function walk() {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const error = await visit(next)
    const page = titleOf(next.page, next.host)
    rows.push(error === undefined ? { page, held: 1, short: 0 } : { page, held: 0, short: 1, error })
  }
}

await Promise.all([walk(), walk()])
await home.close()
await registry.close()
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`)
const failed = rows.filter(({ short }) => short > 0).length
console.log(`${rows.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
