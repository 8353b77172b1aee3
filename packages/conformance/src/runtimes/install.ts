import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Pin } from './pins.ts'

const run = promisify(execFile)

/** A runtime that is installed on this machine, or the reason why it is not. */
export type Installed = { readonly program: string; readonly version: string } | { readonly absent: string }

/** The Node that runs this process. */
export const ownNode = { program: process.execPath, version: process.versions.node }
const ownMajor = `node${process.versions.node.split('.')[0]}`

/**
 * Installs a runtime from npm once. A Node of the same major version as this process is used as is.
 *
 * @param folder folder for installed runtimes
 */
export async function install(pin: Pin, folder: string): Promise<Installed> {
  if (pin.name === ownMajor) return ownNode
  const place = pin.place(process.platform, process.arch)
  if (place === undefined) return { absent: `npm has no ${pin.title} for ${process.platform} on ${process.arch}` }
  const home = join(folder, `${pin.name}-${pin.version}`)
  const program = join(home, 'node_modules', place.package, place.file)
  try {
    if (!existsSync(program)) await fetchInto(home, `${place.package}@${pin.version}`)
    // An executable for another libc exists but does not run.
    await run(program, ['--version'])
    return { program, version: pin.version }
  } catch (error) {
    return { absent: `it could not be installed: ${output(error)}` }
  }
}

/**
 * Installs the platform's own package, which contains the executable, so that no install script runs. An interrupted
 * installation does not count.
 */
async function fetchInto(home: string, spec: string): Promise<void> {
  const fresh = `${home}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  try {
    writeFileSync(join(fresh, 'package.json'), '{ "private": true }\n')
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
    await run('npm', ['install', ...quiet, spec], { cwd: fresh, shell: process.platform === 'win32' })
    rmSync(home, { recursive: true, force: true })
    renameSync(fresh, home)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

const output = (error: unknown): string => {
  const { stderr, message } = error as { stderr?: string; message?: string }
  const text = stderr === undefined || stderr === '' ? String(message ?? error) : stderr
  return text.trim().split('\n')[0] ?? ''
}
