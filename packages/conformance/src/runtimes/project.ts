import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** A folder with the programs and the packages as npm installs them from their tarballs. */
export interface Project {
  readonly folder: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Bundles the program for Workers into `worker.mjs`. Returns the names of the bundled files. */
  bundleForWorkers(): Promise<readonly string[]>
  remove(): void
}

type Ranges = Readonly<Record<string, string>>
interface Manifest {
  readonly dependencies?: Ranges
  readonly devDependencies?: Ranges
}

/** Modelgate's packages as published, and the programs' dependencies in the versions that this suite is tested with. */
const ours = ['console', 'core', 'hono', 'node', 'otel', 'testing', 'tokens'].map((name) => `@modelgate/${name}`)
const others = ['@anthropic-ai/sdk', '@hono/node-server', '@opentelemetry/api', 'hono', 'openai', 'redis']

/**
 * @param home folder of this package
 * @param root folder of the repository
 * @param standing a folder with installed packages; only the programs are added to it
 */
export async function makeProject(home: string, root: string, standing?: string): Promise<Project> {
  const packed = join(root, 'packages/repo-tools/src/packed')
  const { newProject, userEnvironment } = await importFrom<typeof import('@modelgate/repo-tools/packed/project')>(
    packed,
    'project.mjs',
  )
  const withPrograms = (folder: string, env: Project['env'], remove: () => void): Project => {
    cpSync(join(home, 'src/runtimes/programs'), folder, { recursive: true })
    return { folder, env, bundleForWorkers: () => bundleForWorkers(folder), remove }
  }
  if (standing !== undefined) return withPrograms(standing, userEnvironment(), () => {})
  const { packedRegistry } = await importFrom<typeof import('@modelgate/repo-tools/packed/registry')>(
    packed,
    'registry.mjs',
  )
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as Manifest
  const tested: Ranges = { ...manifest.dependencies, ...manifest.devDependencies }
  const registry = await packedRegistry()
  const versions = new Map(registry.packages.map(({ name, version }) => [name, version]))
  const dependencies = Object.fromEntries([
    ...ours.map((name) => [name, versions.get(name) ?? '*']),
    ...others.map((name) => [name, tested[name] ?? '*']),
  ])
  const files = { 'package.json': { private: true, type: 'module', dependencies } }
  const { folder, env, npm, remove } = newProject('runtimes', files, { env: registry.env })
  try {
    await npm('install', '--loglevel=error', '--prefer-offline')
    return withPrograms(folder, env, remove)
  } catch (error) {
    remove()
    throw error
  } finally {
    await registry.close()
  }
}

/** Imports by path at run time: the kit is bundled, and these modules must not be. */
const importFrom = <Module>(folder: string, file: string): Promise<Module> =>
  import(pathToFileURL(join(folder, file)).href) as Promise<Module>

/** Uses the same options as wrangler. Imports of Node modules are rejected. */
async function bundleForWorkers(folder: string): Promise<readonly string[]> {
  const { metafile } = await build({
    absWorkingDir: folder,
    entryPoints: ['on-workerd.js'],
    outfile: 'worker.mjs',
    bundle: true,
    format: 'esm',
    target: 'es2024',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*'],
    metafile: true,
    logLevel: 'error',
  })
  const imported = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
  const builtin = imported.filter((path) => path.startsWith('node:'))
  if (builtin.length > 0) throw new Error(`the worker imports ${builtin.join(', ')}`)
  return Object.keys(metafile.inputs)
}
