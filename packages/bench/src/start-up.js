// Measures start-up: the time in which a fresh process imports core and creates a gateway, and the size of core for
// downloads.
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { setting } from './placement.js'
import { createRow } from './row.js'
import { median } from './table.js'

/** @typedef {import('./row.js').Row} Row */

const processes = setting('BENCH_STARTS', 21)
const mostMilliseconds = 60
/** As in the check of the repository (`size.test.ts`): everything that the entry exports. */
const mostKilobytes = 75.5

export const startUpName = 'import and createGateway'
export const sizeName = 'size of core'

const child = fileURLToPath(new URL('./start-up-child.js', import.meta.url))

/** @param {string} what @returns {Promise<{ ready: number, firstCall: number }>} */
const timesOf = async (what) => JSON.parse((await promisify(execFile)(process.execPath, [child, what])).stdout)

/** @returns {Promise<Row[]>} */
export async function benchStartUp() {
  // The first run of each reads files from disk, later ones from memory.
  for (const name of ['@modelgate/core', 'undici']) await timesOf(name)
  const core = []
  const other = []
  for (let i = 0; i < processes; i++) {
    core.push(await timesOf('@modelgate/core'))
    other.push((await timesOf('undici')).ready)
  }
  const ready = core.map((times) => times.ready)
  const firstCall = median(core.map((times) => times.firstCall))
  return [
    createRow({
      work: startUpName,
      ours: `${median(ready).toFixed(0)} ms; a translated call at once ${firstCall.toFixed(0)} ms`,
      beside: `import of undici: ${median(other).toFixed(0)} ms`,
      rounds: ready,
      reference: other,
      unit: 'ms',
      absolute: true,
      digits: 0,
      bar: { most: mostMilliseconds },
      figures: { core, other },
    }),
  ]
}

/** @typedef {import('esbuild').Metafile['outputs']} Outputs */

/** Returns the outputs that are loaded together with the entry. @param {Outputs} outputs @param {string} entry */
function staticGraph(outputs, entry) {
  const found = new Set([entry])
  for (const file of found)
    for (const { path, kind, external } of outputs[file]?.imports ?? [])
      if (kind === 'import-statement' && external !== true) found.add(path)
  return found
}

/**
 * Returns kilobytes, minified and gzipped, without dependencies: of initially loaded code, and of everything.
 * @param {boolean} annotated omits modules without side effects, like bundlers; Node loads them all
 */
async function sizes(annotated) {
  const { outputFiles, metafile } = await build({
    entryPoints: { core: fileURLToPath(import.meta.resolve('@modelgate/core')) },
    bundle: true,
    minify: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    packages: 'external',
    ignoreAnnotations: !annotated,
    outdir: 'out',
    write: false,
    metafile: true,
    logLevel: 'error',
  })
  const names = Object.keys(metafile.outputs)
  const contents = new Map(outputFiles.map(({ path, contents }) => [path, contents]))
  const files = new Map(names.map((name) => [name, gzipSync(contents.get(resolve(name)) ?? '').length]))
  const entry = names.find((name) => metafile.outputs[name]?.entryPoint?.endsWith('/index.js')) ?? ''
  const sum = (/** @type {Iterable<string>} */ some) =>
    [...some].reduce((total, file) => total + (files.get(file) ?? 0), 0) / 1000
  return { atOnce: sum(staticGraph(metafile.outputs, entry)), all: sum(names), files: Object.fromEntries(files) }
}

/** Measures like tools that report package sizes. @returns {Promise<Row[]>} */
export async function benchSize() {
  const bundled = await sizes(true)
  const loaded = await sizes(false)
  return [
    createRow({
      work: `${sizeName}, ESM, minified and gzipped`,
      ours: `${bundled.atOnce.toFixed(1)} kB`,
      beside: `without tree shaking: ${loaded.atOnce.toFixed(1)} kB; with lazily loaded modules: ${bundled.all.toFixed(1)} kB`,
      rounds: [bundled.atOnce],
      unit: 'kB',
      digits: 1,
      bar: { most: mostKilobytes },
      figures: { bundled, loaded },
    }),
  ]
}
