import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Options } from 'tsup'
import { expect, it } from 'vitest'

const core = fileURLToPath(new URL('../../../core', import.meta.url))

type Esbuild = Parameters<NonNullable<Options['esbuildPlugins']>[number]['setup']>[0]['esbuild']
const { build } = createRequire(new URL('../../../conformance/package.json', import.meta.url))('esbuild') as Esbuild

/** Bundles core with all its imports, as for Workers; google-auth-library is in core's node_modules. */
const bundled = (conditions: string[]) =>
  build({
    entryPoints: [join(core, 'dist/index.js')],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions,
    metafile: true,
    write: false,
    outdir: join(core, 'bundle'),
    absWorkingDir: core,
    logLevel: 'silent',
  })

it('a bundle for Workers needs no Node module, regardless of installed packages', async () => {
  const { metafile, warnings } = await bundled(['workerd', 'worker', 'browser'])
  expect(warnings).toEqual([])
  expect(Object.keys(metafile.inputs).filter((file) => file.includes('google-auth-library'))).toEqual([])
})

it('a Node module in the bundle is reported', async () => {
  await expect(bundled([])).rejects.toThrow('Could not resolve')
})
