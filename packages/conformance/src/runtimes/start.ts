import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Pin } from './pins.ts'
import type { Project } from './project.ts'

/** Environment of the programs: see `programs/setting.js`. */
export interface ProgramEnv extends Readonly<Record<string, string>> {
  readonly PROVIDERS: string
  readonly STAGE: string
  readonly LIVE: string
  readonly KEY: string
  readonly TOKEN: string
}

/** A gateway in a separate runtime process. */
export interface Served {
  readonly origin: string
  /** Returns the output so far. */
  log(): string
  stop(): Promise<void>
}

/** Limit in milliseconds until a runtime must listen. */
const patienceMs = 60_000

/** Starts the runtime's program in the project. Rejects if it does not start to listen. */
export async function start(pin: Pin, program: string, project: Project, env: ProgramEnv): Promise<Served> {
  const commands = { 'on-node.js': [], 'on-bun.js': ['run'], 'on-deno.js': ['run', ...denoMay], 'on-workerd.js': [] }
  if (pin.program === 'on-workerd.js') return startWorkerd(program, project, env)
  const child = spawn(program, [...commands[pin.program], pin.program], {
    cwd: project.folder,
    env: { ...project.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return served(child, child.stdout, /listens on (http:\/\/\S+)/)
}

/** Deno permissions of a gateway: the network, its settings, and for tokens files and their library's system access. */
const denoMay = ['--allow-net', '--allow-env', '--allow-read', '--allow-write', '--allow-sys', '--allow-ffi']

/** Without `nodejs_compat`, no Node module exists. The flag makes the runtime report client disconnects. */
const compatibilityDate = '2026-11-01'

async function startWorkerd(program: string, project: Project, env: ProgramEnv): Promise<Served> {
  await project.bundleForWorkers()
  const bindings = Object.entries(env).map(
    ([name, text]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(text)})`,
  )
  const config = join(project.folder, 'workerd.capnp')
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "gateway", worker = (
      modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
      compatibilityDate = "${compatibilityDate}",
      compatibilityFlags = ["enable_request_signal"],
      bindings = [${bindings.join(', ')}],
    )),
    # Left to itself it calls public addresses only.
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "gateway")],
);
`,
  )
  const child = spawn(program, ['serve', config, '--control-fd=3'], {
    cwd: project.folder,
    env: project.env,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  return served(child, child.stdio[3] as Readable, /"event":"listen","socket":"http","port":(\d+)/)
}

/**
 * @param announcing stream in which the program announces its address @param announcement pattern of the origin or the
 * port
 */
async function served(child: ChildProcess, announcing: Readable, announcement: RegExp): Promise<Served> {
  let written = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      written = (written + text).slice(-1_000_000)
    })
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(`the program exited with ${signal ?? code}`))
  })
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  const gone = ended.then((how): never => {
    throw new Error(`${how}: ${written.slice(0, 2000)}`)
  })
  gone.catch(() => {})
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the program does not listen: ${written.slice(0, 2000)}`)), patienceMs)
  })
  const announced = new Promise<string>((resolve) => {
    let text = ''
    announcing.setEncoding('utf8').on('data', (more: string) => {
      text += more
      const found = announcement.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    })
  })
  try {
    const found = await Promise.race([announced, gone, timeout])
    return { origin: found.includes('//') ? found : `http://127.0.0.1:${found}`, log: () => written, stop }
  } catch (error) {
    await stop()
    throw error
  } finally {
    clearTimeout(timer)
  }
}
