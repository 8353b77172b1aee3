// `pnpm torture`: Node 20 runs no TypeScript, so that the kit is bundled first; the packages it tests are taken as they were built.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const source = fileURLToPath(new URL('src/torture', import.meta.url))
// Within the package, so that its dependencies are found from there.
const outdir = fileURLToPath(new URL('node_modules/.cache/torture', import.meta.url))
await build({
  entryPoints: ['main', 'gateway-process', 'secrets/hostile-client'].map((name) => `${source}/${name}.ts`),
  outdir,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
  sourcemap: true,
  logLevel: 'error',
})
// Bundled, the kit no longer lies where it would look for recorded traffic.
process.env.MODELGATE_SHARED ??= fileURLToPath(new URL('../../../shared', import.meta.url))
await import(`${outdir}/main.mjs`)
