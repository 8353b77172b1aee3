import { buildAssets } from './build-assets.mjs'

/** The name under which sources import what the build makes; its types are in src/virtual-assets.d.ts. */
const moduleName = 'virtual:console-assets'

/** @param {Awaited<ReturnType<typeof buildAssets>>['built']} built */
const asModule = (built) =>
  Object.entries(built)
    .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}\n`)
    .join('')

/** For the package's own build. @returns {import('esbuild').Plugin} */
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

/** For tests, which run from the sources: the same module, made when it is first imported. */
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
