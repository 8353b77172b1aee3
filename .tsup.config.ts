import { readFileSync } from 'node:fs'
import { defineConfig } from 'tsup'
import { consoleAssetsForEsbuild } from './packages/console/build/plugins.mjs'

const { name } = JSON.parse(readFileSync('package.json', 'utf8')) as { name: string }

/** Packages that run on any runtime: for these the bundler knows no built-in module, so that `node:*` fails the build. */
const anywhere = new Set(['@modelgate/core', '@modelgate/hono', '@modelgate/otel', '@modelgate/console'])

/** One build for every package: ESM and CJS, with types for both. Run from the package's own folder. */
export default defineConfig({
  entry: ['src/index.ts'],
  format: ['esm', 'cjs'],
  target: 'es2022',
  platform: anywhere.has(name) ? 'neutral' : 'node',
  // Types of other packages are read from their builds, as users will: the condition for sources must not leak in here.
  dts: { compilerOptions: { customConditions: [] } },
  esbuildPlugins: name === '@modelgate/console' ? [consoleAssetsForEsbuild()] : [],
  clean: true,
  treeshake: true,
  sourcemap: true,
  // Deno and Workers know built-in modules by their full names only.
  removeNodeProtocol: false,
  tsconfig: '../../tsconfig.base.json',
})
