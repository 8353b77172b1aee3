// Follows documentation pages like a new user: with npm only, in empty folders, with packed packages, until each of the four SDKs has
// its response.
//
//   npm run stranger                    all pages
//   npm run stranger -- README.md …     some pages
//   npm run stranger -- --json FILE     writes a row per page
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { read } from './docs/blocks.mjs'
import { follow, lacks, unanswered } from './docs/follow.mjs'
import { followed } from './docs/followed.mjs'
import { providersAtHome } from './packed/at-home.mjs'
import { packedRegistry } from './packed/registry.mjs'

const { values, positionals } = parseArgs({ options: { json: { type: 'string' } }, allowPositionals: true })
const pages = positionals.length > 0 ? positionals : followed
const queue = lacks.length > 0 ? [] : [...pages]
if (lacks.length > 0) console.log(`no ${lacks.join(' and no ')} here: pages are not followed`)

const registry = await packedRegistry()
const home = await providersAtHome()

/** Follows a page, prints the result and returns the problem. @param {string} page */
async function visit(page) {
  const began = performance.now()
  try {
    const { answers, steps } = await follow(page, read(page), { env: registry.env, home: home.port })
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(`${page}: ${steps} steps, ${answers.length} answers, ${seconds} s`)
    for (const { format, text } of answers) console.log(`  ${format}: ${text.slice(0, 100)}`)
    const silent = unanswered(answers)
    if (silent.length === 0) return undefined
    console.log(`${page}: FAILED: no answer by ${silent.join(', ')}`)
    return `no answer by ${silent.join(', ')}`
  } catch (error) {
    const told = String(error instanceof Error ? error.message : error)
    console.log(`${page}: FAILED\n  ${told.replaceAll('\n', '\n  ')}`)
    return told
  }
}

/** @type {{ page: string, held: number, short: number, told?: string }[]} */
const rows = []

async function walk() {
  for (let page = queue.shift(); page !== undefined; page = queue.shift()) {
    const told = await visit(page)
    rows.push(told === undefined ? { page, held: 1, short: 0 } : { page, held: 0, short: 1, told })
  }
}

await Promise.all([walk(), walk()])
await home.close()
await registry.close()
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`)
const failed = rows.filter(({ short }) => short > 0).length
console.log(`${rows.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
