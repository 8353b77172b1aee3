// Facts about the workspace for all tools. Plain Node without dependencies, because the set-up uses it.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../../..', import.meta.url))

/** Lock for writing builds and for reading all of them. */
export const buildLock = join(root, 'node_modules/.cache/modelgate-setup.lock')

/** @param {string} file relative to the root */
export const readJson = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'))

/** @param {string[]} [groups] @returns {string[]} folders of the workspace's packages, relative to the root */
export function workspaceDirs(groups = ['packages', 'examples']) {
  // Exclusions such as `- "!examples/nextjs"`, with any quotes.
  const workspace = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8')
  /** @param {string} dir */
  const isOutside = (dir) => workspace.includes(`'!${dir}'`) || workspace.includes(`"!${dir}"`)
  return groups.flatMap((group) =>
    existsSync(join(root, group))
      ? readdirSync(join(root, group))
          .map((name) => `${group}/${name}`)
          .filter((dir) => existsSync(join(root, dir, 'package.json')) && !isOutside(dir))
      : [],
  )
}

/** @param {(string | Uint8Array)[]} parts */
export function digest(parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('hex').slice(0, 32)
}

/**
 * @param {string} dir
 * @param {readonly string[]} [without] names of folders directly in it that are left out: other processes may change them meanwhile
 * @returns {string[]} all files below it, relative to the root, in a stable order
 */
export function filesBelow(dir, without = []) {
  const folder = join(root, dir)
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !without.includes(name))
  const below = entries
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => readdirSync(join(folder, name), { recursive: true, withFileTypes: true }))
  return [...entries, ...below]
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}

/**
 * Runs a command until it exits, and captures its output for error messages.
 * @param {string} command @param {string[]} args @param {string} cwd
 * @returns {Promise<{ code: number, output: string }>}
 */
export function run(command, args, cwd) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      // CI: pnpm must not prompt. NODE_ENV: production would skip development dependencies.
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
