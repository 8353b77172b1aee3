// Set-up before `npm start`, `npm test` and `npm run bench`: installs dependencies and builds packages.
// Plain Node, because it runs before dependencies exist. Prints nothing if everything is up to date.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import { withProcessLock } from '../base/process-lock.mjs'
import { buildLock, digest, filesBelow, readJson, root, run, workspaceDirs } from '../base/workspace.mjs'

const stampFile = join(root, 'node_modules/.cache/modelgate-setup.json')

/** @typedef {{ name: string, dir: string, dependencies: string[], builds: boolean }} Package */
/** @typedef {{ install?: string, builds: { [name: string]: string } }} Stamps */

/** An error whose message suffices for the user. */
class SetupError extends Error {}

/** Returns the minimal files of a build. @param {Package} pkg */
const builtFiles = ({ dir }) => [
  ...['index.js', 'index.cjs', 'index.d.ts', 'index.d.cts'].map((file) => `dist/${file}`),
  ...(existsSync(join(root, dir, 'src/bin.ts')) ? ['bin/dist/bin.js'] : []),
]

/** @param {string} line */
const say = (line) => process.stderr.write(`modelgate setup: ${line}\n`)

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19))
    throw new SetupError(`Node ${process.versions.node} is too old: install Node 20.19 or newer, then run this again.`)
}

/** @param {string} file */
const contents = (file) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '')

/** @returns {Stamps} */
function readStamps() {
  try {
    return { builds: {}, ...JSON.parse(readFileSync(stampFile, 'utf8')) }
  } catch {
    return { builds: {} }
  }
}

/** @param {Stamps} stamps */
function writeStamps(stamps) {
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
  writeFileSync(stampFile, `${JSON.stringify(stamps, null, 2)}\n`)
}

/** @param {Stamps} stamps @param {string[]} dirs */
async function install(stamps, dirs) {
  const wanted = digest([
    contents('pnpm-lock.yaml'),
    contents('pnpm-workspace.yaml'),
    ...['.', ...dirs].map((dir) => {
      const { packageManager, name, dependencies, devDependencies, peerDependencies } = readJson(`${dir}/package.json`)
      return JSON.stringify({ packageManager, name, dependencies, devDependencies, peerDependencies })
    }),
  ])
  if (stamps.install === wanted && existsSync(join(root, 'node_modules/.modules.yaml'))) return
  const { packageManager } = readJson('package.json')
  say(`installing dependencies with ${packageManager} (once; this needs the network) …`)
  const { code, output } = await run(
    'npx',
    ['--yes', packageManager, 'install', '--frozen-lockfile', '--prod=false'],
    root,
  )
  if (code !== 0) {
    process.stderr.write(`${output}\n`)
    throw new SetupError(
      output.includes('OUTDATED_LOCKFILE')
        ? `a package.json and pnpm-lock.yaml disagree: run 'npx ${packageManager} install' and commit the lockfile.`
        : `installing dependencies failed (exit code ${code}): see the lines above.`,
    )
  }
  stamps.install = wanted
  writeStamps(stamps)
}

/** @param {string[]} dirs @returns {Package[]} */
function readPackages(dirs) {
  return dirs.map((dir) => {
    const { name, scripts = {}, dependencies = {} } = readJson(`${dir}/package.json`)
    return { name, dir, dependencies: Object.keys(dependencies), builds: scripts.build !== undefined }
  })
}

/** @param {Package} pkg @param {Map<string, Package>} byName */
function buildInputs({ dir, dependencies }, byName) {
  const files = [
    '.tsup.config.ts',
    'tsconfig.base.json',
    `${dir}/package.json`,
    ...['src', 'build'].flatMap((part) => filesBelow(`${dir}/${part}`)).filter((file) => !file.includes('.test.')),
  ]
  // A package's declarations can contain types of its dependencies.
  for (const name of dependencies) {
    const dependency = byName.get(name)
    if (dependency !== undefined) files.push(`${dependency.dir}/dist/index.d.ts`)
  }
  return digest(files.flatMap((file) => [file, contents(file)]))
}

/** Returns true if the build is older than the sources. @param {Stamps} stamps @param {Package} pkg @param {string} wanted */
const isStaleBuild = (stamps, pkg, wanted) =>
  stamps.builds[pkg.name] !== wanted || !builtFiles(pkg).every((file) => existsSync(join(root, pkg.dir, file)))

/** @param {Stamps} stamps @param {string[]} dirs */
function isStale(stamps, dirs) {
  const packages = readPackages(dirs).filter(({ builds }) => builds)
  const byName = new Map(packages.map((pkg) => [pkg.name, pkg]))
  return packages.some((pkg) => isStaleBuild(stamps, pkg, buildInputs(pkg, byName)))
}

/** @param {Stamps} stamps @param {string[]} dirs */
async function build(stamps, dirs) {
  const packages = readPackages(dirs).filter(({ builds }) => builds)
  const byName = new Map(packages.map((pkg) => [pkg.name, pkg]))
  /** @type {Map<string, Promise<void>>} */
  const started = new Map()
  const slots = createSlots(Math.min(4, os.availableParallelism()))

  /** @param {Package} pkg @returns {Promise<void>} */
  const ensure = (pkg) => {
    let job = started.get(pkg.name)
    if (job === undefined) {
      job = buildOne(pkg)
      started.set(pkg.name, job)
    }
    return job
  }
  /** @param {Package} pkg */
  const buildOne = async (pkg) => {
    await Promise.all(
      pkg.dependencies.flatMap((name) => {
        const dependency = byName.get(name)
        return dependency === undefined ? [] : [ensure(dependency)]
      }),
    )
    const wanted = buildInputs(pkg, byName)
    if (!isStaleBuild(stamps, pkg, wanted)) return
    const free = await slots()
    say(`building ${pkg.name} …`)
    const tsup = join(root, 'node_modules/tsup/dist/cli-default.js')
    const { code, output } = await run(
      process.execPath,
      [tsup, '--config', '../../.tsup.config.ts'],
      join(root, pkg.dir),
    )
    free()
    if (code !== 0) {
      process.stderr.write(`${output}\n`)
      throw new SetupError(`building ${pkg.name} failed (exit code ${code}): see the lines above.`)
    }
    stamps.builds[pkg.name] = wanted
    writeStamps(stamps)
  }
  await Promise.all(packages.map(ensure))
}

/** Creates a semaphore with `count` holders. @param {number} count @returns {() => Promise<() => void>} */
function createSlots(count) {
  let free = count
  /** @type {(() => void)[]} */
  const waiting = []
  const release = () => {
    free++
    waiting.shift()?.()
  }
  return async () => {
    while (free === 0) await new Promise((resolve) => waiting.push(() => resolve(undefined)))
    free--
    return release
  }
}

try {
  checkNode()
  const stamps = readStamps()
  const dirs = workspaceDirs()
  // Packing runs with installed dependencies, which must not change meanwhile.
  if (!process.argv.includes('--no-install')) await install(stamps, dirs)
  if (isStale(stamps, dirs)) {
    // Parallel builds of a package would delete each other's files.
    await withProcessLock(
      buildLock,
      () => build(readStamps(), dirs),
      (holder) => say(`waiting for the process ${holder}, which is building …`),
    )
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  say(error.message)
  // Reports the failure without waiting for other builds.
  process.exit(1)
}
