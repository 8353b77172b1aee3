// Node 20 runs no TypeScript, so that a kit is bundled before it runs; the packages it asks are taken as they were built.
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/**
 * The tests of this workspace use internals of its packages, which only the sources have.
 * @type {import('esbuild').Plugin}
 */
const testSupport = {
  name: 'test-support',
  setup({ onResolve }) {
    onResolve({ filter: /^@modelgate\/[a-z]+\/test-support$/ }, ({ path }) => ({
      path: fileURLToPath(new URL(`../${path.split('/')[1]}/test-support/index.ts`, import.meta.url)),
      sideEffects: false,
    }))
    // Only core has these: its internals, once bundled, would not find them from here.
    const { resolve } = createRequire(new URL('../core/package.json', import.meta.url))
    onResolve({ filter: /^(eventsource-parser|multipasta|zod)$/ }, ({ path }) => ({ path: resolve(path) }))
  },
}

/**
 * Bundles modules of a folder below `src`, and runs the first.
 * @param {string} folder
 * @param {[string, ...string[]]} modules without their `.ts`
 */
export async function runKit(folder, modules) {
  const source = fileURLToPath(new URL(`src/${folder}`, import.meta.url))
  // Within the package, so that its dependencies are found from there.
  const outdir = fileURLToPath(new URL(`node_modules/.cache/${folder}`, import.meta.url))
  // A caller that runs several commands in a row bundles once.
  if (process.env.MODELGATE_KIT_BUNDLED !== '1')
    await build({
      entryPoints: modules.map((name) => `${source}/${name}.ts`),
      outdir,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      packages: 'external',
      plugins: [testSupport],
      sourcemap: true,
      logLevel: 'error',
    })
  // Bundled, the kit no longer lies where it would look for recorded traffic.
  process.env.MODELGATE_SHARED ??= fileURLToPath(new URL('../../../shared', import.meta.url))
  await import(`${outdir}/${modules[0]}.mjs`)
}
