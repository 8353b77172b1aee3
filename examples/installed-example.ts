import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { userEnvironment } from '@modelgate/repo-tools/packed/project'
import { packedRegistry } from '@modelgate/repo-tools/packed/registry'

/** Outside of node_modules, where Next.js compiles nothing, and outside of this repository, so that no other package is found. */
const cache = join(tmpdir(), `modelgate-examples-${process.getuid?.() ?? ''}`)

/**
 * Returns a copy of an example with dependencies installed by npm, and this project's packages as they would be published. It is
 * installed once per state of its package.json and the packages. Returns undefined, with a message, if the registry is unavailable.
 */
export async function installedExample(name: string): Promise<string | undefined> {
  const source = fileURLToPath(new URL(name, import.meta.url))
  const registry = await packedRegistry()
  try {
    const manifest = readFileSync(join(source, 'package.json'), 'utf8')
    const stamp = createHash('sha256').update(manifest)
    for (const { name, tarball } of registry.packages) if (manifest.includes(`"${name}"`)) stamp.update(tarball)
    const folder = join(cache, `${name}-${stamp.digest('hex').slice(0, 16)}`)
    if (existsSync(folder)) copy(source, folder)
    else await install(source, folder, registry.env)
    return folder
  } catch (error) {
    const [code] = /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT)\b/.exec(String(error)) ?? []
    if (code === undefined) throw error
    console.warn(`left out: examples/${name}: npm install failed with ${code}`)
    return undefined
  } finally {
    await registry.close()
  }
}

/** Installs into a temporary folder and renames it, so that an existing folder is always complete. */
async function install(source: string, folder: string, env: Record<string, string>): Promise<void> {
  const unfinished = `${folder}-${process.pid}`
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  const name = basename(source)
  for (const old of readdirSync(cache))
    if (old.startsWith(`${name}-`) && !isInTheMaking(old)) rmSync(join(cache, old), { recursive: true, force: true })
  copy(source, unfinished)
  await promisify(execFile)('npm', ['install', '--prefer-offline', '--no-package-lock', '--loglevel=error'], {
    cwd: unfinished,
    env: userEnvironment(env),
    shell: process.platform === 'win32',
  })
  if (existsSync(folder)) rmSync(unfinished, { recursive: true })
  else renameSync(unfinished, folder)
}

/** Returns true if the process is running. */
function isInTheMaking(folder: string): boolean {
  const [, pid] = /-[0-9a-f]{16}-(\d+)$/.exec(folder) ?? []
  try {
    return pid !== undefined && process.kill(Number(pid), 0)
  } catch {
    return false
  }
}

const copy = (source: string, folder: string): void =>
  cpSync(source, folder, {
    recursive: true,
    filter: (path) => !/[/\\](?:node_modules|\.next)$/.test(path.slice(source.length)),
  })
