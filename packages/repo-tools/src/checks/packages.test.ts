import { readFileSync } from 'node:fs'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { describe, expect, it } from 'vitest'
import { readJson, workspaceDirs } from '../base/workspace.mjs'
import { packAll } from '../packed/pack.mjs'
import { readTarball } from '../packed/tarball.mjs'

type Conditions = Readonly<Record<string, unknown>>

interface Manifest {
  name: string
  version: string
  private?: boolean
  description?: string
  license?: string
  type?: string
  keywords?: string[]
  engines?: { node: string }
  sideEffects?: boolean
  scripts?: Record<string, string>
  exports: { '.': Conditions; [subPath: string]: Conditions }
  dependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  publishConfig?: { access: string; exports: object }
}

const packages = workspaceDirs(['packages'])
  .map((dir) => ({ manifest: readJson(`${dir}/package.json`) as Manifest }))
  .filter(({ manifest }) => manifest.private !== true)
const packed = new Map((await packAll()).map((one) => [one.name, one]))

const ofTarball = (name: string) => {
  const one = packed.get(name)
  if (one === undefined) throw new Error(`${name} was not packed`)
  return { ...one, manifest: one.manifest as unknown as Manifest, bytes: readFileSync(one.tarball) }
}

it('all packages share one version', () => {
  expect([...new Set(packages.map(({ manifest }) => manifest.version))]).toHaveLength(1)
})

describe.each(packages)('$manifest.name', ({ manifest: { name, ...manifest } }) => {
  it('is published with builds instead of sources', () => {
    // `./test-support` and what is below it are not built: they exist in this workspace only.
    const published = Object.fromEntries(
      Object.entries(manifest.exports)
        .filter(([path]) => !/^\.\/test-support(?:\/|$)/.test(path))
        .map(([path, { '@modelgate/source': _source, ...rest }]) => [path, rest]),
    )
    expect(manifest.exports['.']['@modelgate/source']).toBe('./src/index.ts')
    expect(Object.values(manifest.exports).filter((one) => one['@modelgate/source'] === undefined)).toEqual([])
    expect(manifest.publishConfig).toEqual({ access: 'public', exports: published })
    expect(ofTarball(name).manifest.exports).toEqual(published)
  })

  it('has a tarball with only its builds, a README and the license', () => {
    const files = [...readTarball(ofTarball(name).tarball).keys()]
    const others = files.filter((file) => !/^(dist|bin)\//.test(file) && !file.endsWith('.schema.json'))
    expect(others.sort()).toEqual(['LICENSE', 'README.md', 'package.json'])
    expect(files.filter((file) => /\.test\.|(^|\/)src\/|tsbuildinfo/.test(file))).toEqual([])
  })

  it("has no code or dependency of this repository's tools", () => {
    const { manifest: published, tarball } = ofTarball(name)
    const files = [...readTarball(tarball)].filter(([file]) => /[jt]s$/.test(file))
    expect(files.filter(([, text]) => text.includes('repo-tools')).map(([file]) => file)).toEqual([])
    const { dependencies, peerDependencies } = published
    expect(JSON.stringify({ dependencies, peerDependencies })).not.toContain('repo-tools')
  })

  it('has a description and no install scripts', () => {
    const published = ofTarball(name).manifest
    expect(published).toMatchObject({
      license: 'MIT',
      type: 'module',
      sideEffects: false,
      engines: { node: '>=20.19' },
    })
    expect(published.description).toMatch(/^\S.{20,150}\.$/)
    expect(published.keywords?.length).toBeGreaterThanOrEqual(4)
    const atInstall = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish', 'prepublishOnly', 'prepack']
    expect(atInstall.filter((script) => script in (published.scripts ?? {}))).toEqual([])
  })

  it('accepts any compatible version of the other packages, so that users install one of each', () => {
    const { dependencies = {}, peerDependencies = {}, version } = ofTarball(name).manifest
    const sisters = Object.entries({ ...dependencies, ...peerDependencies }).filter(([other]) => packed.has(other))
    expect(sisters.filter(([, range]) => range !== `^${version}`)).toEqual([])
    expect(JSON.stringify({ dependencies, peerDependencies })).not.toContain('workspace:')
  })

  it('has no publint findings', async () => {
    const { bytes } = ofTarball(name)
    const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
    const { messages, pkg } = await publint({ pack: { tarball }, strict: true, level: 'suggestion' })
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([])
  })

  it('has correct types for import and require (attw)', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(new Uint8Array(ofTarball(name).bytes)))
    expect(analysis.types).toMatchObject({ kind: 'included' })
    expect('problems' in analysis && analysis.problems).toEqual([])
  })
})
