import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { defineConfig, type Options } from 'tsup'
import { consoleAssetsForEsbuild } from './packages/console/build/plugins.mjs'

const { name } = JSON.parse(readFileSync('package.json', 'utf8')) as { name: string }
const isCore = name === '@modelgate/core'
/** Sub-paths of core's package that need the whole entry, with their sources. */
const coreSubPaths = {
  adapter: 'src/gateway/adapter.ts',
  catalog: 'src/upstreams/catalog.ts',
  health: 'src/gateway/health-routes.ts',
  'model-cards': 'src/upstreams/model-cards/table.ts',
}

/** Packages that run on any runtime: for these the bundler knows no built-in module, so that `node:*` fails the build. */
const anywhere = new Set([
  '@modelgate/core',
  '@modelgate/hono',
  '@modelgate/otel',
  '@modelgate/console',
  '@modelgate/ai-sdk',
])

/**
 * What core's entry needs at once becomes two chunks: what the entry of chat needs, too, and the rest. Left to itself esbuild makes a chunk for each set of entries that share a
 * file, and what is loaded later is an entry as well: the start would be cut into dozens of files. So each of those is made to
 * need the whole entry, which is there long before.
 */
const oneCore: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'one-core',
  setup({ initialOptions, onResolve, onLoad }) {
    if (initialOptions.splitting !== true) return
    const entry = resolve('src/index.ts')
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) =>
      kind === 'dynamic-import' ? { path: resolve(resolveDir, path), namespace: 'later' } : undefined,
    )
    // A sub-path that does not import the whole entry would split the chunk as well.
    const subPaths = new Set(Object.values(coreSubPaths).map((file) => resolve(file)))
    onResolve({ filter: /\.ts$/ }, ({ kind, path }) =>
      kind === 'entry-point' && subPaths.has(resolve(path)) ? { path: resolve(path), namespace: 'later' } : undefined,
    )
    onResolve({ filter: /./, namespace: 'later' }, ({ path }) => ({ path, sideEffects: true }))
    onLoad({ filter: /./, namespace: 'later' }, ({ path }) => ({
      contents: `import ${JSON.stringify(entry)}\nexport * from ${JSON.stringify(path)}\n`,
    }))
    // It only draws the line between the chunks.
    initialOptions.logOverride = { ...initialOptions.logOverride, 'ignored-bare-import': 'silent' }
  },
}

/** esbuild has chunks import each other for effects that there are none of: without them less is loaded. */
const noBareImports: NonNullable<Options['plugins']>[number] = {
  name: 'no-bare-imports',
  renderChunk: (code) => ({ code: code.replaceAll(/^import "\.\/[^"\n]+";$/gm, '') }),
}

/** Files of `dist` that `exports` and `imports` of package.json name. `node` replaces `index` under the condition `node`. */
const entries = {
  index: 'src/index.ts',
  node: 'src/node.ts',
  'google-auth-stub': 'src/upstreams/google-auth-stub.ts',
  adapter: 'src/adapter.ts',
  prometheus: 'src/prometheus.ts',
  logs: 'src/logs/index.ts',
  ...(isCore ? { ...coreSubPaths, chat: 'src/gateway/chat.ts' } : {}),
}

/** One build for every package: ESM and CJS, with types for both. Run from the package's own folder. */
const library: Options = {
  entry: Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(file))),
  format: ['esm', 'cjs'],
  // ESM is always split. For CJS the entries of node share state (queues, sweepers), so they must share chunks as well.
  ...(name === '@modelgate/node' ? { splitting: true } : {}),
  target: 'es2022',
  platform: anywhere.has(name) ? 'neutral' : 'node',
  // Types of other packages are read from their builds, as users will: the condition for sources must not leak in here.
  dts: { compilerOptions: { customConditions: [] } },
  esbuildPlugins: name === '@modelgate/console' ? [consoleAssetsForEsbuild()] : isCore ? [oneCore] : [],
  plugins: isCore ? [noBareImports] : [],
  esbuildOptions: (options, { format }) => {
    // For Node esbuild adds what tells `import` the names that a CommonJS file exports. (Built-in modules fail the other format.)
    if (format === 'cjs') options.platform = 'node'
  },
  // Names of a package's own `imports`: the runtime, or whoever bundles for it, is to look them up.
  external: [/^#/],
  clean: true,
  // Rollup's round after esbuild's would have `require` load at once what is to be loaded later.
  treeshake: !isCore,
  sourcemap: true,
  // Deno and Workers know built-in modules by their full names only.
  removeNodeProtocol: false,
  tsconfig: '../../tsconfig.base.json',
}

/** A command's program, which nobody imports: in a folder of its own, since each build cleans its folder. */
const program: Options = {
  ...library,
  entry: ['src/bin.ts'],
  outDir: 'bin/dist',
  format: ['esm'],
  dts: false,
}

export default defineConfig(existsSync('src/bin.ts') ? [library, program] : library)
