// Does what a stranger does: with npm alone, in empty folders, from packed packages, follows pages word for word until each of the four
// SDKs has its answer.
//
//   npm run stranger                    all of them
//   npm run stranger -- README.md …     some
import { read } from './docs/blocks.mjs'
import { follow, formats } from './docs/follow.mjs'
import { followed } from './docs/followed.mjs'
import { providersAtHome } from './packed/at-home.mjs'
import { packedRegistry } from './packed/registry.mjs'

const chosen = process.argv.slice(2)
const queue = [...(chosen.length > 0 ? chosen : followed)]
const total = queue.length

const registry = await packedRegistry()
const home = await providersAtHome()
const surroundings = { env: registry.env, home: home.port }
let failed = 0

/** @param {string} page */
async function visit(page) {
  const began = performance.now()
  const { answers, steps } = await follow(page, read(page), surroundings)
  const silent = formats.filter(
    (format) => !answers.some((one) => one.format === format && /\w/.test(one.text) && one.text !== 'undefined'),
  )
  if (silent.length > 0) throw new Error(`${page}: no answer by ${silent.join(', ')}`)
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`${page}: ${steps} steps, ${answers.length} answers, ${seconds} s`)
  for (const { format, text } of answers) console.log(`  ${format}: ${text.slice(0, 100)}`)
}

async function walk() {
  for (let page = queue.shift(); page !== undefined; page = queue.shift()) {
    try {
      await visit(page)
    } catch (error) {
      failed++
      console.log(
        `${page}: FAILED\n  ${String(error instanceof Error ? error.message : error).replaceAll('\n', '\n  ')}`,
      )
    }
  }
}

await Promise.all([walk(), walk()])
await home.close()
await registry.close()
console.log(`${total - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
