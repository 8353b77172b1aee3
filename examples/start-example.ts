import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Running {
  /** Output so far, standard output and error. */
  output(): string
  /** Waits for output; rejects if the process exits first or the test times out. */
  waitForOutput(pattern: RegExp): Promise<RegExpExecArray>
  signal(name: 'SIGTERM' | 'SIGINT' | 'SIGHUP'): void
  /** Exit code, after the process has ended. */
  readonly ended: Promise<number | null>
}

/** Provider keys of the current user: examples must not use them in tests. */
const isSecret = (name: string): boolean => /_API_KEY$|_BASE_URL$|^MODELGATE_|^AZURE_OPENAI_|^AWS_/.test(name)

const running = new Set<() => void>()

/** Starts an example with `node <file>`, the given settings and a free port. */
export const startExample = (file: string, env: Record<string, string> = {}): Running =>
  start(file, process.execPath, [fileURLToPath(new URL(file, import.meta.url))], env)

/** Starts the server with `npm start`. Signals go to npm, as from a supervisor. */
export const npmStart = (env: Record<string, string> = {}): Running => start('npm start', 'npm', ['start'], env)

/** Starts a program like an example. Default folder: the repository. */
export const startProgram = (
  command: string,
  args: string[],
  env: Record<string, string> = {},
  cwd?: string,
): Running => start([command, ...args].join(' '), command, args, env, cwd)

function start(name: string, command: string, args: string[], env: Record<string, string>, cwd?: string): Running {
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isSecret(name)))
  const child = spawn(command, args, {
    cwd: cwd ?? fileURLToPath(new URL('..', import.meta.url)),
    env: { ...own, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group, so that all its processes can be ended.
    detached: true,
  })
  let text = ''
  let wake = (): void => {}
  const hear = (chunk: Buffer): void => {
    text += chunk.toString()
    wake()
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const kill = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }
  running.add(kill)
  let over = false
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      over = true
      running.delete(kill)
      resolve(code)
      wake()
    })
  })
  return {
    output: () => text,
    async waitForOutput(pattern) {
      for (;;) {
        const found = pattern.exec(text)
        if (found !== null) return found
        if (over) throw new Error(`${name} ended without waitForOutput ${pattern}:\n${text}`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    signal: (name) => void child.kill(name),
    ended,
  }
}

/** Ends processes that tests left running. */
export function stopExamples(): void {
  for (const kill of running) kill()
}
