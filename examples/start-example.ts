import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Running {
  /** What it has said so far, on both outputs. */
  said(): string
  /** Waits until something was said; rejects if the process ends before, or with the test's time. */
  saying(pattern: RegExp): Promise<RegExpExecArray>
  signal(name: 'SIGTERM' | 'SIGINT' | 'SIGHUP'): void
  /** The exit code, once it has ended. */
  readonly ended: Promise<number | null>
}

/** Keys of the person who runs the tests: no example may see them here. */
const isSecret = (name: string): boolean => /_API_KEY$|_BASE_URL$|^MODELGATE_|^AZURE_OPENAI_|^AWS_/.test(name)

const running = new Set<() => void>()

/** Starts an example as a user would, `node <file>`, with no settings but those given and a free port. */
export const startExample = (file: string, env: Record<string, string> = {}): Running =>
  start(file, process.execPath, [fileURLToPath(new URL(file, import.meta.url))], env)

/** The server by `npm start`: signals go to npm, as a supervisor would send them. */
export const npmStart = (env: Record<string, string> = {}): Running => start('npm start', 'npm', ['start'], env)

/** Any program, as an example is started. Default folder: the repository's. */
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
    // A process group of its own, so that nothing is left of it in the end.
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
    said: () => text,
    async saying(pattern) {
      for (;;) {
        const found = pattern.exec(text)
        if (found !== null) return found
        if (over) throw new Error(`${name} ended without saying ${pattern}:\n${text}`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    signal: (name) => void child.kill(name),
    ended,
  }
}

/** Ends what tests left running. */
export function stopExamples(): void {
  for (const kill of running) kill()
}
