import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { commands } from '../commands.ts'
import { main } from '../main.ts'
import type { CommandContext, Env } from './command-context.ts'

// Loads the modules of all commands up front, so that no test waits for them.
await Promise.all([
  ...Object.values(commands).map(({ load }) => load()),
  ...[import('@modelgate/console'), import('@modelgate/otel'), import('@modelgate/testing'), import('jiti')],
])

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A temporary working directory, and the output of commands that run in it. */
export interface TestContext extends CommandContext {
  stdout(): string
  stderr(): string
  /** Runs a command until it exits. */
  run(...args: string[]): Promise<number | undefined>
  write(file: string, text: string): void
}

export function createTestContext(files: Record<string, string> = {}, env: Env = {}): TestContext {
  const cwd = mkdtempSync(join(tmpdir(), 'modelgate-cli-'))
  folders.push(cwd)
  const write = (file: string, text: string): void => writeFileSync(join(cwd, file), text)
  for (const [file, text] of Object.entries(files)) write(file, text)
  let out = ''
  let err = ''
  const context: CommandContext = {
    env,
    cwd,
    command: 'npx modelgate',
    out: (text) => {
      out += `${text}\n`
    },
    err: (text) => {
      err += `${text}\n`
    },
  }
  return { ...context, write, stdout: () => out, stderr: () => err, run: (...args) => main(args, context) }
}
