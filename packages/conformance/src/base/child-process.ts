import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** A child process that runs a module of this folder. */
export interface Child {
  readonly process: ChildProcess
  /** First message of the process. Rejects if the process exits before it. */
  readonly ready: Promise<unknown>
  /** Asks the process to exit and waits for it. */
  stop(): Promise<void>
}

export interface Bundled {
  run(env: Readonly<Record<string, string>>): Child
  remove(): Promise<void>
}

/** Bundles the module with the packages' sources first, because Node 20 runs no TypeScript. */
export async function bundle(entry: string): Promise<Bundled> {
  const folder = await mkdtemp(join(tmpdir(), 'modelgate-child-'))
  const file = join(folder, 'main.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL(entry, import.meta.url))],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['@modelgate/source'],
    // CommonJS dependencies need `require`.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    external: ['libsql', 'gpt-tokenizer'],
    logLevel: 'error',
  })
  return {
    run(env) {
      const child = fork(file, {
        env: { ...process.env, ...env },
        execArgv: [],
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      const ready = new Promise<unknown>((resolve, reject) => {
        child.once('message', resolve)
        child.once('error', reject)
        child.once('exit', (code, signal) => reject(new Error(`The child process exited with ${code ?? signal}`)))
      })
      const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()))
      return {
        process: child,
        ready,
        stop() {
          child.send('stop')
          return ended
        },
      }
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
