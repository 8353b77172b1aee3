import { buildAssets } from './build-assets.mjs'

/** Module name under which sources import the build's output; its types are in src/virtual-assets.d.ts. */
const moduleName = 'virtual:console-assets'

/** @param {Awaited<ReturnType<typeof buildAssets>>['built']} built */
const asModule = (built) =>
  Object.entries(built)
    .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}\n`)
    .join('')

/** Plugin for the package's build. @returns {import('esbuild').Plugin} */
export const consoleAssetsForEsbuild = () => ({
  name: 'console-assets',
  setup(build) {
    build.onResolve({ filter: /^virtual:console-assets$/ }, () => ({ path: moduleName, namespace: 'console-assets' }))
    build.onLoad({ filter: /.*/, namespace: 'console-assets' }, async () => {
      const { built, files } = await buildAssets()
      return { contents: asModule(built), loader: 'js', watchFiles: files }
    })
  },
})

/** Plugin for tests, which run from the sources: builds the same module at its first import. */
export const consoleAssetsForVite = () => ({
  name: 'console-assets',
  /** @param {string} id */
  resolveId: (id) => (id === moduleName ? `\0${moduleName}` : undefined),
  /** @this {{ addWatchFile(file: string): void }} @param {string} id */
  async load(id) {
    if (id !== `\0${moduleName}`) return undefined
    const { built, files } = await buildAssets()
    for (const file of files) this.addWatchFile(file)
    return asModule(built)
  },
})
