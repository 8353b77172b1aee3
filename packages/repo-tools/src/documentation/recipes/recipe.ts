import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { dirname, join } from 'node:path'
import { root } from '../../base/workspace.mjs'
import { fakeProvidersEnv } from '../../packed/fake-providers.mjs'
import { type Block, blocksIn, isCode } from '../pages.mjs'

/** Packages that recipes install and that the conformance package does not depend on, by their folder. */
const otherPackages = { libsql: 'packages/tokens/node_modules/libsql' }

/** A running program prints its address when it listens; this is the longest wait for it. */
const startMs = 30_000

/** A command that starts a program of the page which keeps running. */
const isServer = (command: string): boolean => /^(?:[A-Z_]+=\S+ )*node server\.js$/.test(command)

/** Programs that the test does not start: coding agents are not installed, and it starts its own Redis. */
const isOtherProgram = (command: string): boolean => /^(?:claude|codex|redis-server)$/.test(command)

const commandsOf = ({ text }: Block): string[] => text.split('\n').filter((line) => line !== '')

/** Returns the packages that the page installs. */
export const installed = (page: readonly Block[]): string[] =>
  page.flatMap(({ language, text }) =>
    language === 'sh' ? [...text.matchAll(/^npm install (.+)$/gm)].flatMap(([, names = '']) => names.split(' ')) : [],
  )

/** Returns the packages that the page's programs import. */
export const imported = (page: readonly Block[]): string[] =>
  page
    .filter(isCode)
    .flatMap(({ text }) => [...text.matchAll(/^(?:import .* from |\} from )'([^.'][^']*)'/gm)])
    .map(([, name = '']) => name)
    .filter((name) => !name.startsWith('node:'))

/**
 * Compares output with the lines that a page shows. They must occur in the output in this order. `…` matches anything within a line; a
 * line that is only `…` is ignored. Returns the first line that is missing.
 */
export function missingLine(shown: string, output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.trim())
  let from = 0
  for (const line of shown.split('\n').map((one) => one.trim())) {
    if (line === '' || line === '…') continue
    const pattern = new RegExp(`^${line.split('…').map(escapePattern).join('.*')}$`)
    const found = lines.findIndex((one, i) => i >= from && pattern.test(one))
    if (found === -1) return line
    from = found + 1
  }
  return undefined
}

const escapePattern = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

export interface RecipeResult {
  /** Problems, each with the place of its block. */
  readonly problems: string[]
  /** Number of shown outputs that were compared. */
  readonly compared: number
}

export interface RecipeOptions {
  /** Port of a fake provider to which calls of public provider hosts are redirected. */
  readonly provider: number
  /** Further ports that the page uses, mapped to free ones or to a running service. */
  readonly ports?: Readonly<Record<number, number>>
  /** Called while the page's servers run, with the address of the one on port 8787 and the folder of the page's files. */
  readonly visit?: (origin: string, folder: string) => Promise<void>
}

/**
 * Follows a recipe: writes its files into an empty folder, starts its servers, runs its other commands in one shell, and compares the
 * output with the block that follows. Installation is replaced by links to the workspace's packages. Provider keys are not set.
 */
export async function followRecipe(page: string, text: string, options: RecipeOptions): Promise<RecipeResult> {
  const blocks = blocksIn(text, page)
  const folder = join(root, 'packages/conformance/node_modules/.cache', `recipe-${randomUUID()}`)
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  for (const [name, path] of Object.entries(otherPackages))
    symlinkSync(join(root, path), join(folder, 'node_modules', name), 'junction')
  const used = [...text.matchAll(/(?:127\.0\.0\.1:|PORT=)(\d{4,5})/g)].map(([, port]) => Number(port))
  const ports: Record<number, number> = {}
  for (const port of used) ports[port] ??= options.ports?.[port] ?? (await freePort())
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, '.curlrc'), curlSettings(ports))
  const env = { ...withoutSettings(process.env), ...fakeProvidersEnv(options.provider, ports), CURL_HOME: folder }
  const servers: Running[] = []
  const problems: string[] = []
  let compared = 0
  try {
    const shell = blocks.filter(({ language, mark }) => language === 'sh' && mark === undefined)
    for (const { file, text } of blocks) {
      if (file === undefined) continue
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), text)
    }
    for (const block of shell)
      for (const command of commandsOf(block).filter(isServer)) servers.push(await startServer(command, folder, env))
    const commands = shell.filter(
      (block) => !commandsOf(block).some((line) => isServer(line) || isOtherProgram(line) || line.startsWith('npm ')),
    )
    const outputs = await runAll(commands, folder, env)
    await options.visit?.(`http://127.0.0.1:${ports[8787]}`, folder)
    for (const [i, block] of commands.entries()) {
      const shown = blocks[blocks.indexOf(block) + 1]
      if (shown?.language !== 'text') continue
      compared++
      const output = outputs[i] ?? ''
      const missing = missingLine(shown.text, output)
      if (missing !== undefined)
        problems.push(
          `${shown.place}: the output does not contain '${missing}':\n${output}\n${servers.map(({ output }) => output()).join('')}`,
        )
    }
  } catch (error) {
    problems.push(`${page}: ${error instanceof Error ? error.message : error}`)
  } finally {
    for (const server of servers) await server.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  return { problems, compared }
}

/** Returns a .curlrc that maps ports. */
const curlSettings = (ports: Readonly<Record<number, number>>): string =>
  [
    'silent',
    'show-error',
    ...Object.entries(ports).map(([from, to]) => `connect-to = "127.0.0.1:${from}:127.0.0.1:${to}"`),
  ]
    .map((line) => `${line}\n`)
    .join('')

/** Removes provider keys and settings of the current user. */
const withoutSettings = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/_API_KEY$|_BASE_URL$|^(?:MODELGATE_|PORT$|HOST$|NODE_ENV$|VITEST)/.test(name),
    ),
  )

interface Running {
  output(): string
  stop(): Promise<void>
}

async function startServer(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Running> {
  const child = spawn('bash', ['-c', `exec env ${command}`], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<void>((resolve) => void child.once('close', () => resolve()))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const failed = (why: string): void => reject(new Error(`'${command}' ${why}:\n${output}`))
    const patience = setTimeout(() => failed('does not print its address'), startMs)
    const hear = (chunk: Buffer): void => {
      output += chunk.toString()
      if (!/http:\/\/127\.0\.0\.1:\d+/.test(output)) return
      clearTimeout(patience)
      resolve()
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('close', () => failed('ended'))
  })
  return {
    output: () => output,
    async stop() {
      stopProcess(child)
      await ended
    },
  }
}

const stopProcess = (child: ChildProcess): void => void child.kill('SIGKILL')

/** Runs the blocks in one shell, as a reader does who uses the same terminal; returns the output of each. */
async function runAll(blocks: readonly Block[], cwd: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const mark = `end of block ${randomUUID()}`
  const script = blocks.map(({ text }) => `${text}\necho; echo '${mark}'\n`).join('')
  const child = spawn('bash', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const hear = (chunk: Buffer): void => {
    output += chunk.toString()
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  await new Promise<void>((resolve) => void child.once('close', () => resolve()))
  return output.split(mark)
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = net.createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
