// Packs every public package as the tarball that would be published. Unchanged packages are not packed again; several processes can
// pack at once.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { withProcessLock } from '../base/process-lock.mjs'
import { buildLock, digest, filesBelow, readJson, root, run, workspaceDirs } from '../base/workspace.mjs'
import { readTarball } from './tarball.mjs'

/** Folder of tarballs and npm's cache; deleted with node_modules. */
export const cache = join(root, 'node_modules/.cache/packed')

/** @typedef {{ name: string, version: string, tarball: string, manifest: Record<string, unknown> }} Packed */

/** @returns {{ name: string, dir: string }[]} */
const publicPackages = () =>
  workspaceDirs(['packages'])
    .map((dir) => ({ dir, ...readJson(`${dir}/package.json`) }))
    .filter((manifest) => manifest.private !== true)

/**
 * Builds and packs stale packages, dependencies first.
 * @returns {Promise<Packed[]>}
 */
export async function packAll() {
  await build()
  return withProcessLock(buildLock, async () => {
    const packages = publicPackages().map(({ name, dir }) => ({ name, dir, tarball: join(cache, `${stamp(dir)}.tgz`) }))
    await pack(packages.filter(({ tarball }) => !existsSync(tarball)))
    forget(packages.map(({ tarball }) => tarball))
    const packed = packages.map(({ name, tarball }) => {
      const manifest = JSON.parse(String(readTarball(tarball).get('package.json')))
      return { name, version: manifest.version, tarball, manifest }
    })
    return inOrder(packed)
  })
}

/** @param {Packed[]} packages */
function inOrder(packages) {
  const byName = new Map(packages.map((one) => [one.name, one]))
  /** @type {Set<Packed>} */
  const ordered = new Set()
  const add = (/** @type {Packed | undefined} */ one) => {
    if (one === undefined || ordered.has(one)) return
    for (const name of Object.keys(Object(one.manifest.dependencies))) add(byName.get(name))
    ordered.add(one)
  }
  for (const one of packages) add(one)
  return [...ordered]
}

/** Deletes outdated tarballs after a day: a running registry may still serve them. @param {string[]} current */
function forget(current) {
  const old = readdirSync(cache)
    .map((file) => join(cache, file))
    .filter((file) => file.endsWith('.tgz') && !current.includes(file))
    .filter((file) => Date.now() - statSync(file).mtimeMs > 86_400_000)
  for (const file of old) rmSync(file)
}

/** Builds stale packages, unless the test set-up already has. */
async function build() {
  if (process.env.MODELGATE_BUILT === '1') return
  const { code, output } = await run(
    process.execPath,
    [join(root, 'packages/repo-tools/src/setup/setup.mjs'), '--no-install'],
    root,
  )
  if (code !== 0) throw new Error(`The packages could not be built:\n${output}`)
}

/** Returns a hash of the tarball's inputs: the package's files and the versions of workspace ranges. */
function stamp(/** @type {string} */ dir) {
  const files = filesBelow(dir, ['node_modules', 'src'])
  const versions = workspaceDirs().map((other) => {
    const { name, version } = readJson(`${other}/package.json`)
    return `${name}@${version}`
  })
  const { packageManager } = readJson('package.json')
  const contents = ['LICENSE', ...files].flatMap((file) => [file, readFileSync(join(root, file))])
  return `${basename(dir)}-${digest([packageManager, ...versions, ...contents])}`
}

/** @param {{ name: string, dir: string, tarball: string }[]} packages */
async function pack(packages) {
  if (packages.length === 0) return
  const { packageManager } = readJson('package.json')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'packing-'))
  const filters = packages.flatMap(({ dir }) => ['--filter', `./${dir}`])
  // `%s` is the package name without `@` and `/`.
  const args = ['--yes', packageManager, '-r', ...filters, 'pack', '--out', join(folder, '%s.tgz')]
  const { code, output } = await run('npx', args, root)
  if (code !== 0) throw new Error(`pnpm pack failed:\n${output}`)
  for (const { name, tarball } of packages)
    renameSync(join(folder, `${name.replace('@', '').replace('/', '-')}.tgz`), tarball)
  rmSync(folder, { recursive: true })
}
