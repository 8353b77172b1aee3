// Bundles a kit before running it, because Node 20 runs no TypeScript. Packages under test are used as built.
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/**
 * Resolves `@modelgate/…/test-support` to the sources: tests of this workspace use internals that are not published.
 * @type {import('esbuild').Plugin}
 */
const testSupport = {
  name: 'test-support',
  setup({ onResolve }) {
    onResolve({ filter: /^@modelgate\/[a-z]+\/test-support$/ }, ({ path }) => ({
      path: fileURLToPath(new URL(`../${path.split('/')[1]}/test-support/index.ts`, import.meta.url)),
      sideEffects: false,
    }))
    // Dependencies of core only. Bundled core sources could not resolve them from this package.
    const { resolve } = createRequire(new URL('../core/package.json', import.meta.url))
    onResolve({ filter: /^(eventsource-parser|multipasta|zod)$/ }, ({ path }) => ({ path: resolve(path) }))
  },
}

/**
 * Bundles modules of a folder below `src` and runs the first one.
 * @param {string} folder
 * @param {[string, ...string[]]} modules names without `.ts`
 */
export async function runKit(folder, modules) {
  const source = fileURLToPath(new URL(`src/${folder}`, import.meta.url))
  // Inside the package, so that its dependencies are resolved from there.
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
  // The bundle lies in another folder, so the default path of the recorded traffic does not apply.
  process.env.MODELGATE_SHARED ??= fileURLToPath(new URL('../../../shared', import.meta.url))
  await import(`${outdir}/${modules[0]}.mjs`)
}
