import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

interface Report {
  readonly target: string
  readonly held: number
  readonly short: number
  readonly rows: readonly { row: number; verdict: string; figure?: string; skipped?: string }[]
}

let folder: string
let list: { code: number | null; printed: string }
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'modelgate-torture-'))
  list = await command('--list')
  // The commands of this file share one bundle of the kit.
  vi.stubEnv('MODELGATE_KIT_BUNDLED', '1')
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

/** Runs the command as a user would. */
function command(...args: string[]): Promise<{ code: number | null; printed: string }> {
  const program = fileURLToPath(new URL('../../torture.js', import.meta.url))
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text
    })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, printed })))
}

async function reportOf(name: string, ...args: string[]): Promise<{ code: number | null; report: Report }> {
  const file = join(folder, `${name}.json`)
  const { code, printed } = await command('--short', '--json', file, ...args)
  const [report] = JSON.parse(readFileSync(file, 'utf8')) as Report[]
  if (report === undefined) throw new Error(`no report: ${printed}`)
  return { code, report }
}

// Rows without time measurements, because other tests run at the same time. `.ci/run` runs all rows separately.
const timeless = '14,17,19'

describe('torture kit', () => {
  test('has a check for each of the 52 promises', () => {
    const { code, printed } = list
    expect(code).toBe(0)
    const numbers = printed
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => Number(line.slice(0, 2)))
    expect(numbers).toEqual(Array.from({ length: 52 }, (_, at) => at + 1))
  })

  test('passes for the gateway', async () => {
    const { code, report } = await reportOf('own', '--server', 'node', '--only', timeless)
    expect(report.rows.filter(({ verdict }) => verdict !== 'held')).toEqual([])
    expect([code, report.held]).toEqual([0, 3])
  }, 120_000)

  test('fails for a plain proxy', async () => {
    const { code, report } = await reportOf('bare', '--target', 'bare', '--only', '14,17')
    expect(report.rows.map(({ verdict }) => verdict)).toEqual(['FAILED', 'FAILED'])
    // Runs against another gateway report failures, but exit with 0.
    expect(code).toBe(0)
  }, 120_000)

  test.each([
    [['--target', 'nonsense'], /Expected a URL or one of bare, portkey/],
    [['--target', 'http://127.0.0.1:1'], /Missing --upstream-port/],
    [['--server', 'iis'], /Expected one of node, express, fastify, hono/],
    [
      ['--target', 'http://127.0.0.1:1', '--upstream-port', '1', '--pairs', 'chat'],
      /Expected a pair such as chat>messages/,
    ],
  ])('rejects %j with the correct usage', async (args, message) => {
    const { code, printed } = await command(...args)
    expect(code).toBe(2)
    expect(printed).toMatch(message)
  })
})
