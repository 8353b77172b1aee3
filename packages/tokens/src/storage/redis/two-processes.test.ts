import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTokens } from '../../create-tokens.ts'
import { connect, sharedRedis, testPrefix, withoutRedis } from './redis.test-support.ts'
import { redisStorage } from './redis-storage.ts'
import type { ProcessReport } from './two-processes-child.test-support.ts'

if (withoutRedis !== undefined) console.warn(`Tests with Redis are left out: ${withoutRedis}`)

/** Tokens that a call reserves; it uses half of them. */
const reserved = 100
const callers = 200
const callsOfEach = 10

describe.skipIf(withoutRedis !== undefined)('two processes with Redis', () => {
  let place: string
  let server: Awaited<ReturnType<typeof sharedRedis>>
  beforeAll(async () => {
    server = await sharedRedis()
    place = mkdtempSync(join(tmpdir(), 'modelgate-two-'))
    const here = fileURLToPath(new URL('.', import.meta.url))
    await build({
      entry: { child: join(here, 'two-processes-child.test-support.ts') },
      outDir: place,
      format: 'esm',
      outExtension: () => ({ js: '.mjs' }),
      external: ['libsql', 'redis', 'ioredis'],
      config: false,
      silent: true,
      dts: false,
    })
    symlinkSync(join(here, '../../../node_modules'), join(place, 'node_modules'), 'junction')
  }, 60_000)
  afterAll(async () => {
    rmSync(place, { recursive: true, force: true })
    await server.close()
  })

  const run = (...args: readonly string[]): Promise<ProcessReport> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [join(place, 'child.mjs'), server.url, ...args])
      let [output, complaint] = ['', '']
      child.stdout.on('data', (data: Buffer) => {
        output += data.toString()
      })
      child.stderr.on('data', (data: Buffer) => {
        complaint += data.toString()
      })
      child.once('exit', (code) =>
        code === 0 ? resolve(JSON.parse(output) as ProcessReport) : reject(new Error(complaint)),
      )
    })

  it('admit exactly the budget of an owner with 200 callers, and report each threshold once', async () => {
    const prefix = testPrefix()
    const connection = await connect['node-redis'](server.url)
    const tokens = createTokens({ storage: redisStorage({ client: connection.client, prefix, logger: false }) })
    // Room for fewer calls than are made, so that both processes compete for the last ones.
    const budget = { tokens: 60_000, period: 'month' } as const
    await tokens.owners.set('team', { budget })
    const issued = await Promise.all(Array.from({ length: 20 }, () => tokens.issue({ owner: 'team' })))
    const secrets = issued.map(({ secret }) => secret).join(' ')
    const settings = [prefix, secrets, String(callers / 2), String(callsOfEach), String(reserved)]
    const reports = await Promise.all([run(...settings), run(...settings)])
    const admitted = reports.reduce((sum, report) => sum + report.admitted, 0)
    const refused = reports.reduce((sum, report) => sum + report.refused, 0)
    expect(admitted + refused).toBe(callers * callsOfEach)
    // A call needs room for 100 and uses 50: with 59,950 used there is none.
    expect(admitted).toBe(1199)
    for (const report of reports) expect(report.admitted).toBeGreaterThan(0)
    const usage = await tokens.owners.usage('team')
    expect(usage).toMatchObject({
      budgets: [{ used: 59_950, remaining: 50 }],
      totals: { calls: 1199, inputTokens: 59_950 },
    })
    const ofTokens = await Promise.all(issued.map(({ id }) => tokens.usage(id)))
    expect(ofTokens.reduce((sum, { totals }) => sum + totals.inputTokens, 0)).toBe(59_950)
    expect(reports.flatMap(({ thresholds }) => thresholds).sort()).toEqual([0.5, 0.8])
    await tokens.close()
    await connection.close()
  }, 60_000)
})
