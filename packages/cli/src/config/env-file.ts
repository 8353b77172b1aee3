import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { codeOf, messageOf } from '../errors.ts'
import type { World } from '../world.ts'

/** Names that came from a file, so that a later look at it may change them. */
const ours = new WeakMap<World['env'], Set<string>>()

/**
 * Puts the lines of `.env` in the working directory into the environment. What is set there already wins. A second call, for
 * a reload, puts what the file says by then.
 *
 * @returns whether there is such a file
 */
export function readEnvFile({ env, cwd }: World): boolean {
  const before = ours.get(env) ?? new Set()
  for (const name of before) delete env[name]
  const now = new Set<string>()
  ours.set(env, now)
  let lines: string
  try {
    lines = readFileSync(join(cwd, '.env'), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw new Error(`.env cannot be read: ${messageOf(error)}`, { cause: error })
  }
  for (const [name, value] of Object.entries(parseEnv(lines))) {
    if (value === undefined || env[name] !== undefined) continue
    env[name] = value
    now.add(name)
  }
  return true
}
