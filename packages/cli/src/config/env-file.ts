import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { CommandContext } from '../terminal/command-context.ts'
import { codeOf, messageOf } from '../terminal/errors.ts'

/** Variables set from a file, which a reload may change. */
const loadedNames = new WeakMap<CommandContext['env'], Set<string>>()

/**
 * Adds the variables of `.env` in the working directory to the environment. Variables that are already set win. A second call, for a
 * reload, applies the file's current content.
 *
 * @returns true if the file exists
 */
export function readEnvFile({ env, cwd }: CommandContext): boolean {
  const before = loadedNames.get(env) ?? new Set()
  for (const name of before) delete env[name]
  const now = new Set<string>()
  loadedNames.set(env, now)
  let lines: string
  try {
    lines = readFileSync(join(cwd, '.env'), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw new Error(`Cannot read .env: ${messageOf(error)}`, { cause: error })
  }
  for (const [name, value] of Object.entries(parseEnv(lines))) {
    if (value === undefined || env[name] !== undefined) continue
    env[name] = value
    now.add(name)
  }
  return true
}
