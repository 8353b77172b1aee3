// Codecs are not part of core's public API, so the benchmark bundles them from the sources, like core's own build.
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'tsup'

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url))

/** @returns {Promise<typeof import('./codec-source.ts')>} */
export async function loadCodecs() {
  const outDir = here('../dist')
  await build({
    config: false,
    silent: true,
    entry: { codecs: here('./codec-source.ts') },
    format: 'esm',
    target: 'es2022',
    platform: 'neutral',
    treeshake: true,
    sourcemap: true,
    clean: true,
    outDir,
    outExtension: () => ({ js: '.mjs' }),
    tsconfig: here('../../../tsconfig.base.json'),
    noExternal: [/./],
  })
  return import(pathToFileURL(`${outDir}/codecs.mjs`).href)
}
