// Creates a user's project: outside of this repository, with npm only and without the environment of our tests.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * @typedef {{
 *   folder: string,
 *   env: Record<string, string | undefined>,
 *   write(files: Record<string, string | object>): void,
 *   npm(...args: string[]): Promise<string>,
 *   run(command: string, args?: string[], env?: Record<string, string>): Promise<string>,
 *   start(command: string, args?: string[], env?: Record<string, string>): import('node:child_process').ChildProcessWithoutNullStreams,
 *   remove(): void,
 * }} Project
 */

/** Variables that npm and vitest set for child processes; a user's programs do not have them. */
const ours =
  /^(npm_(package|lifecycle|command|execpath|node_execpath|config_local_prefix|config_global_prefix|config_prefix)|PNPM_|VITEST|INIT_CWD$|NODE_ENV$|NODE_PATH$|NODE_OPTIONS$|FORCE_COLOR$|TEST$|DEV$|PROD$|MODE$|SSR$|BASE_URL$)/

/** Returns the environment of a user's process. @param {Record<string, string>} [more] */
export const userEnvironment = (more = {}) => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name))),
  NO_COLOR: '1',
  ...more,
})

/**
 * Creates a folder with these files (values other than strings are written as JSON) and a package.json, empty unless given.
 * @param {string} name
 * @param {Record<string, string | object>} files by their paths in the folder
 * @param {{ env?: Record<string, string> }} [options] `env`: environment of a packedRegistry() and further variables
 * @returns {Project}
 */
export function newProject(name, files, { env: more = {} } = {}) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `modelgate-${name}-`)))
  const env = userEnvironment(more)

  /** @type {Project['write']} */
  const write = (added) => {
    for (const [path, contents] of Object.entries(added)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(
        join(folder, path),
        typeof contents === 'string' ? contents : `${JSON.stringify(contents, null, 2)}\n`,
      )
    }
  }
  /** @type {Project['start']} */
  const start = (command, args = [], own = {}) =>
    spawn(command, args, { cwd: folder, env: { ...env, ...own }, shell: process.platform === 'win32' })

  /** @type {Project['run']} */
  const run = (command, args = [], own = {}) =>
    new Promise((resolve, reject) => {
      const child = start(command, args, own)
      child.stdin.end()
      let stdout = ''
      let all = ''
      child.stdout.on('data', (chunk) => {
        stdout += chunk
        all += chunk
      })
      child.stderr.on('data', (chunk) => {
        all += chunk
      })
      child.on('error', reject)
      child.on('close', (code, signal) => {
        if (code === 0) resolve(stdout)
        else
          reject(
            new Error(
              `${[command, ...args].join(' ')} ended with ${signal ?? `exit code ${code}`} and printed:\n${all}`,
            ),
          )
      })
    })

  write({ 'package.json': { private: true }, ...files })
  return {
    folder,
    env,
    write,
    start,
    run,
    npm: (...args) => run('npm', args),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}
