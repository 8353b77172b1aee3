import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { filesIn, idsIn, tempFolder } from './ledger.test-support.ts'

const bundle = mkdtempSync(join(tmpdir(), 'ledger-bundle-'))
const program = join(bundle, 'crash-process.test-support.mjs')

beforeAll(async () => {
  await build({
    entry: [fileURLToPath(new URL('crash-process.test-support.ts', import.meta.url))],
    config: false,
    outDir: bundle,
    format: 'esm',
    outExtension: () => ({ js: '.mjs' }),
    platform: 'node',
    target: 'node20',
    silent: true,
  })
}, 60_000)
afterAll(() => rmSync(bundle, { recursive: true }))

/** Starts a process that is killed at the end of the test at the latest. */
function mortal<P extends ChildProcess>(child: P): P {
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Appends in a child process, kills it some time after its first acknowledgement, and returns its last acknowledgement. */
function appendAndKill(folder: string, run: number, afterMs: number): Promise<number> {
  const child = mortal(
    spawn(process.execPath, [program, folder, `${run}-`, 'Infinity'], { stdio: ['ignore', 'pipe', 'inherit'] }),
  )
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output === '') setTimeout(() => child.kill('SIGKILL'), afterMs)
    output += text
  })
  return new Promise((resolve, reject) =>
    child.on('error', reject).on('close', (_, signal) => {
      // The last line may be cut off.
      const acknowledged = Number(output.split('\n').at(-2))
      if (signal === 'SIGKILL' && acknowledged > 0) resolve(acknowledged)
      else reject(new Error(`the process ended with ${signal}, having said: ${output.slice(-100)}`))
    }),
  )
}

it('keeps every flushed record once, in readable files, when processes are killed at full speed', async () => {
  const folder = tempFolder()
  const acknowledged = new Map<number, number>()
  const kills = process.env.MODELGATE_FULL === '1' ? 50 : 15
  const runs = Array.from({ length: kills }, (_, run) => run)
  const worker = async (): Promise<void> => {
    for (let run = runs.pop(); run !== undefined; run = runs.pop())
      acknowledged.set(run, await appendAndKill(folder, run, (run * 7) % 40))
  }
  await Promise.all([worker(), worker()])
  expect(acknowledged.size).toBe(kills)

  const torn: number[] = []
  const ids = await idsIn(folder, { onTorn: ({ lines }) => torn.push(lines) })
  const known = new Set(ids)
  expect(filesIn(folder)).toHaveLength(kills)
  expect(known.size, 'none is there twice').toBe(ids.length)
  expect(torn.every((lines) => lines === 1)).toBe(true)
  for (const [run, last] of acknowledged)
    for (let n = 0; n <= last; n++) if (!known.has(`${run}-${n}`)) expect.fail(`record ${n} of process ${run} is lost`)
}, 120_000)

it.runIf(process.platform === 'linux')(
  'keeps every record once when a file reaches its size limit in the middle of a line',
  async () => {
    const folder = tempFolder()
    // Files are limited to 32 KiB. SIGXFSZ is ignored, so writes are cut short and fail with EFBIG, as on a full disk.
    const limited = [
      '-c',
      'trap "" XFSZ; ulimit -f 32; exec "$@"',
      'bash',
      process.execPath,
      program,
      folder,
      '',
      '2000',
    ]
    const child = mortal(spawn('bash', limited, { stdio: ['ignore', 'ignore', 'inherit'] }))
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
    let torn = 0
    const ids = await idsIn(folder, { onTorn: ({ lines }) => (torn += lines) })
    expect(ids.map(Number).sort((one, other) => one - other)).toEqual(Array.from({ length: 2000 }, (_, n) => n))
    expect(torn).toBeGreaterThan(5)
    expect(torn).toBe(filesIn(folder).length - 1)
  },
  60_000,
)
