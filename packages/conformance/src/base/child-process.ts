import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** A process of its own that runs a module of this folder. */
export interface Child {
  readonly process: ChildProcess
  /** What it sends first. Rejects if it ends before. */
  readonly ready: Promise<unknown>
  /** Asks it to end, and waits. */
  stop(): Promise<void>
}

export interface Bundled {
  run(env: Readonly<Record<string, string>>): Child
  remove(): Promise<void>
}

/** Node 20 runs no TypeScript: the module is bundled first, with the packages' sources. */
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
    // What is CommonJS among the dependencies asks for it.
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
        child.once('exit', (code, signal) => reject(new Error(`the child ended with ${code ?? signal}`)))
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
