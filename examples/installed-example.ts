import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { strangersEnv } from '../.ci/packed/project.mjs'
import { packedRegistry } from '../.ci/packed/registry.mjs'

/** Not below a node_modules, where Next.js compiles nothing; and outside of this repository nothing else is found. */
const cache = join(tmpdir(), `modelgate-examples-${process.getuid?.() ?? ''}`)

/**
 * The folder of an example as a stranger has it: a copy with what `npm install` puts there, this project's packages as they would be
 * published. Installed once for each state of its package.json and of the packages. undefined, with a line that says so: there is
 * no network to install it from.
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
    console.warn(`left out: examples/${name}: npm install says ${code}`)
    return undefined
  } finally {
    await registry.close()
  }
}

/** Into a folder of this process first: what is under its own name is whole, whoever else installs or is cut off. */
async function install(source: string, folder: string, env: Record<string, string>): Promise<void> {
  const unfinished = `${folder}-${process.pid}`
  mkdirSync(cache, { recursive: true, mode: 0o700 })
  const name = basename(source)
  for (const old of readdirSync(cache))
    if (old.startsWith(`${name}-`) && !isInTheMaking(old)) rmSync(join(cache, old), { recursive: true, force: true })
  copy(source, unfinished)
  await promisify(execFile)('npm', ['install', '--prefer-offline', '--no-package-lock', '--loglevel=error'], {
    cwd: unfinished,
    env: strangersEnv(env),
    shell: process.platform === 'win32',
  })
  if (existsSync(folder)) rmSync(unfinished, { recursive: true })
  else renameSync(unfinished, folder)
}

/** By a process that runs. */
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
