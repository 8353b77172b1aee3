// Runs `modelgate` with workers in its own processes, as users do, in a temporary folder.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const program = fileURLToPath(new URL('../../../cli/bin/modelgate.js', import.meta.url))

/** A folder with a configuration. */
export interface Folder {
  readonly path: string
  write(config: object): void
  /** Runs another command in the folder. */
  run(...args: string[]): string
  /** The same with these variables of the environment. */
  runWith(env: Readonly<Record<string, string>>, ...args: string[]): string
}

const environment = (extra: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  KEY: 'k',
  NODE_ENV: 'production',
  ...extra,
})

export function createFolder(config: object): Folder {
  const path = mkdtempSync(join(tmpdir(), 'modelgate-workers-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  const write = (value: object): void => writeFileSync(join(path, 'modelgate.config.json'), JSON.stringify(value))
  write(config)
  const runWith: Folder['runWith'] = (env, ...args) =>
    execFileSync(process.execPath, [program, ...args], { cwd: path, env: environment(env), encoding: 'utf8' })
  return { path, write, run: (...args) => runWith({}, ...args), runWith }
}

/** A running server. */
export interface WorkerServer {
  readonly child: ChildProcess
  readonly origin: string
  output(): string
  /** Process ids of its workers. */
  workers(): number[]
  readonly ended: Promise<number | null>
}

/** Starts a server and waits until it listens. */
export async function startServer(
  folder: Folder,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<WorkerServer> {
  const child = spawn(process.execPath, [program, '--port', '0', ...args], {
    cwd: folder.path,
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const origin = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const [, found] = /listens on (http:\S+)/.exec(text) ?? []
      if (found !== undefined) resolve(found)
    })
    void ended.then(() => reject(new Error(`the server ended: ${text}`)))
  })
  return { child, origin, output: () => text, workers: () => childrenOf(child.pid ?? 0), ended }
}

/** Linux only: other systems have no such file. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

/** A process that has ended stays in the list until its parent asks for its result. */
export function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

export interface Answer {
  readonly status: number
  readonly text: string
  readonly requestId: string
}

/**
 * Sends a request on a connection of its own, so that requests are distributed among all workers.
 *
 * @param onHead called when the response begins
 */
export const send = (
  origin: string,
  path: string,
  token: string,
  body?: object,
  onHead: () => void = () => {},
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, origin),
      {
        method: body === undefined ? 'GET' : 'POST',
        agent: new Agent({ keepAlive: false }),
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      },
      (response) => {
        onHead()
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => {
          text += part
        })
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text, requestId: String(response.headers['x-request-id']) }),
        )
        response.on('error', reject)
      },
    )
    // A connection that `cluster` is just giving to a worker when that is killed receives no response.
    sent.setTimeout(5_000, () => sent.destroy(new Error('no response')))
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
