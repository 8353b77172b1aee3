// Everything that must stand before `npm start`, `npm test` and `pnpm bench`: dependencies installed, packages built.
// Plain Node without dependencies, because it runs before there are any. Says nothing when nothing is to do.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const stampFile = join(root, 'node_modules/.cache/modelgate-setup.json')
const dist = ['index.js', 'index.cjs', 'index.d.ts', 'index.d.cts']

/** @typedef {{ name: string, dir: string, dependencies: string[], builds: boolean }} Package */
/** @typedef {{ install?: string, builds: { [name: string]: string } }} Stamps */

/** A failure whose message is all the user needs. */
class SetupError extends Error {}

/** @param {string} line */
const say = (line) => process.stderr.write(`modelgate setup: ${line}\n`)

/** @param {string} file */
const readJson = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'))

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19))
    throw new SetupError(`Node ${process.versions.node} is too old: install Node 20.19 or newer, then run this again.`)
}

/** @returns {string[]} folders of the workspace's packages, relative to the root */
function workspaceDirs() {
  return ['packages', 'examples'].flatMap((group) =>
    existsSync(join(root, group))
      ? readdirSync(join(root, group))
          .map((name) => `${group}/${name}`)
          .filter((dir) => existsSync(join(root, dir, 'package.json')))
      : [],
  )
}

/** @param {string[]} parts */
function digest(parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('hex').slice(0, 32)
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

/**
 * Runs a command to its end and keeps its output for the case that it fails.
 * @param {string} command @param {string[]} args @param {string} cwd
 * @returns {Promise<{ code: number, output: string }>}
 */
function run(command, args, cwd) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Without a terminal pnpm must not ask, and a production environment must not drop the tools.
      env: { ...process.env, CI: 'true', NODE_ENV: 'development' },
      shell: process.platform === 'win32',
    })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    child.on('error', (error) => resolve({ code: 1, output: String(error) }))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
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

/** @param {string} dir @returns {string[]} files that a build reads, in a stable order */
function sources(dir) {
  if (!existsSync(join(root, dir))) return []
  return readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.includes('.test.'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
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
    ...['src', 'build'].flatMap((part) => sources(`${dir}/${part}`)),
  ]
  // A package's types may spell out those of the packages it stands on.
  for (const name of dependencies) {
    const dependency = byName.get(name)
    if (dependency !== undefined) files.push(`${dependency.dir}/dist/index.d.ts`)
  }
  return digest(files.flatMap((file) => [file, contents(file)]))
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
    if (stamps.builds[pkg.name] === wanted && dist.every((file) => existsSync(join(root, pkg.dir, 'dist', file))))
      return
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

/** At most `count` holders at a time. @param {number} count @returns {() => Promise<() => void>} */
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
  await install(stamps, dirs)
  await build(stamps, dirs)
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  say(error.message)
  // Other builds may still run; the caller wants to know now.
  process.exit(1)
}
