// Guards against regressions by the bytes that a call allocates. Unlike time, they are the same on every machine, and
// more allocation means a slower call sooner or later. The reference figures are in allocations.json, one set per
// major version of Node.
//   node packages/bench/src/allocations.js          lists calls that exceed their figures
//   UPDATE_ALLOCATIONS=1 node …/allocations.js      writes the figures of this version of Node
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** @typedef {{ [exchange: string]: number }} Figures bytes of one call */

const file = fileURLToPath(new URL('./allocations.json', import.meta.url))
const child = fileURLToPath(new URL('./allocations-child.js', import.meta.url))
/** Allowed deviation, as a share of the figure. */
const tolerance = 0.1

/**
 * Optimized code allocates less, depending on when it was optimized. Without optimizers, every call of the same code
 * allocates the same.
 */
const nodeArgs = ['--no-opt', '--no-maglev', '--expose-gc', '--min-semi-space-size=128', '--max-semi-space-size=128']

/** Bytes of a completed call that minor garbage collections may leave behind. A call that an old object refers to leaves 40 kB or more. */
export const maxRetainedBytes = 10_000

/** @returns {Promise<{ allocated: Figures, retained: Figures }>} `retained`: what minor garbage collections leave behind */
export async function measureAllocations() {
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeArgs, child], {
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  return JSON.parse(stdout)
}

const major = process.versions.node.split('.')[0] ?? ''

/** @returns {{ [major: string]: Figures }} */
const readAll = () => JSON.parse(readFileSync(file, 'utf8'))

/** Returns the stored figures of this version of Node. @returns {Figures | undefined} */
export const keptAllocations = () => readAll()[major]

/** @param {Figures} figures */
export const keepAllocations = (figures) =>
  writeFileSync(file, `${JSON.stringify({ ...readAll(), [major]: figures }, null, 2)}\n`)

/**
 * Describes deviations beyond the tolerance.
 * @param {Figures} kept @param {Figures} measured @returns {{ more: string[], less: string[] }}
 */
export function compareAllocations(kept, measured) {
  const update = 'UPDATE_ALLOCATIONS=1 node packages/bench/src/allocations.js'
  /** @type {string[]} */
  const more = []
  /** @type {string[]} */
  const less = []
  for (const name of new Set([...Object.keys(kept), ...Object.keys(measured)])) {
    const [was, is] = [kept[name], measured[name]]
    if (was === undefined || is === undefined) {
      more.push(`${name}: ${was === undefined ? 'no stored figure' : 'not measured any more'}; ${update}`)
      continue
    }
    const says = `${name}: a call allocates ${is} bytes, the stored figure is ${was} (${is < was ? '' : '+'}${((is / was - 1) * 100).toFixed(1)} %)`
    if (is > was * (1 + tolerance)) more.push(`${says}; to accept this: ${update}`)
    if (is < was * (1 - tolerance)) less.push(`${says}; to keep the improvement: ${update}`)
  }
  return { more, less }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const { allocated, retained } = await measureAllocations()
  if (process.env.UPDATE_ALLOCATIONS !== undefined) keepAllocations(allocated)
  console.log({ allocated, retained })
  const { more, less } = compareAllocations(keptAllocations() ?? {}, allocated)
  for (const line of [...more, ...less]) console.log(line)
  if (more.length > 0 || Object.values(retained).some((bytes) => bytes > maxRetainedBytes)) process.exitCode = 1
}
