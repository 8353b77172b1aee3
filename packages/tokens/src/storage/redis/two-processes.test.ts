import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createTokens } from '../../create-tokens.ts'
import { connect, sharedRedis, startRedis, testPrefix, withoutRedis, withoutRedisToKill } from './redis.test-support.ts'
import { redisStorage } from './redis-storage.ts'
import type { ProcessReport, ProcessSettings } from './two-processes-child.test-support.ts'

if (withoutRedis !== undefined) console.warn(`Tests with Redis are left out: ${withoutRedis}`)

/** Tokens that a call reserves; it uses half of them. */
const reserved = 100
const callers = 200
/** Room for about 1,200 calls, for which all callers compete. */
const budget = 60_000
/** Machines may be busy. */
const waiting = { timeout: 40_000, interval: 5 }

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

  const running: ChildProcess[] = []
  afterEach(() => {
    for (const child of running.splice(0)) child.kill('SIGKILL')
  })

  /** Starts two processes with 100 callers each, which begin at the same time. */
  const startBoth = async (
    settings: Pick<ProcessSettings, 'url' | 'prefix' | 'secrets'> & Partial<ProcessSettings>,
  ) => {
    const both = [1, 2].map(() => start({ callers: callers / 2, reserved, timeoutMs: 20_000, ...settings }))
    await Promise.all(both.map(({ ready }) => ready))
    for (const { child } of both) child.stdin.write('go\n')
    return both
  }

  const start = (settings: Omit<ProcessSettings, 'log'>) => {
    const log = join(place, `admitted-${++processes}`)
    writeFileSync(log, '')
    const child = spawn(process.execPath, [join(place, 'child.mjs'), JSON.stringify({ ...settings, log })])
    running.push(child)
    let [output, complaint] = ['', '']
    const ready = new Promise<void>((resolve) => {
      child.stdout.on('data', (data: Buffer) => {
        output += data.toString()
        if (output.startsWith('ready\n')) resolve()
      })
    })
    child.stderr.on('data', (data: Buffer) => {
      complaint += data.toString()
    })
    const report = new Promise<ProcessReport | undefined>((resolve, reject) => {
      child.once('exit', (code, signal) => {
        if (signal !== null) resolve(undefined)
        else if (code === 0) resolve(JSON.parse(output.slice('ready\n'.length)) as ProcessReport)
        else reject(new Error(complaint))
      })
    })
    /** Calls that were admitted so far. */
    const admitted = (): number => statSync(log).size
    return { child, ready, report, admitted }
  }
  let processes = 0

  /** Sets the budget of an owner, and issues 20 tokens for its callers. */
  const setUp = async (url: string) => {
    const prefix = testPrefix()
    const connection = await connect['node-redis'](url)
    const tokens = createTokens({ storage: redisStorage({ client: connection.client, prefix, logger: false }) })
    await tokens.owners.set('team', { budget: { tokens: budget, period: 'month' } })
    const issued = await Promise.all(Array.from({ length: 20 }, () => tokens.issue({ owner: 'team' })))
    const secrets = issued.map(({ secret }) => secret)
    const close = async (): Promise<void> => {
      await tokens.close()
      await connection.close()
    }
    const used = async (): Promise<number> => (await tokens.owners.usage('team')).budgets[0]?.used ?? 0
    return { tokens, issued, used, settings: { url, prefix, secrets }, close }
  }

  it('admit exactly the budget of an owner with 200 callers, and report each threshold once', async () => {
    const { tokens, issued, settings, close } = await setUp(server.url)
    const reports = (await Promise.all((await startBoth(settings)).map(({ report }) => report))).filter(isReport)
    // A call needs room for 100 and uses 50: with 59,950 used there is none.
    expect(reports.reduce((sum, report) => sum + report.admitted, 0)).toBe(1199)
    for (const report of reports) expect(report.admitted).toBeGreaterThan(0)
    const usage = await tokens.owners.usage('team')
    expect(usage).toMatchObject({
      budgets: [{ used: 59_950, remaining: 50 }],
      totals: { calls: 1199, inputTokens: 59_950 },
    })
    const ofTokens = await Promise.all(issued.map(({ id }) => tokens.usage(id)))
    expect(ofTokens.reduce((sum, { totals }) => sum + totals.inputTokens, 0)).toBe(59_950)
    expect(reports.flatMap(({ thresholds }) => thresholds).sort()).toEqual([0.5, 0.8])
    await close()
  }, 60_000)

  it('admit all but a part of the budget with leases, never more, and count each call once', async () => {
    const { tokens, settings, close } = await setUp(server.url)
    const reports = (
      await Promise.all((await startBoth({ ...settings, leases: true })).map(({ report }) => report))
    ).filter(isReport)
    const admitted = reports.reduce((sum, report) => sum + report.admitted, 0)
    expect(admitted).toBeLessThanOrEqual(1199)
    // A process is rejected early by what the other one has leased: a sixteenth of the room.
    expect(admitted).toBeGreaterThan(1000)
    expect(await tokens.owners.usage('team')).toMatchObject({
      budgets: [{ used: admitted * 50 }],
      totals: { calls: admitted, inputTokens: admitted * 50 },
    })
    expect(reports.flatMap(({ thresholds }) => thresholds).sort()).toEqual([0.5, 0.8])
    await close()
  }, 60_000)

  it.each([false, true])(
    'never exceed the budget if one of them is killed, whose running calls stay reserved (leases: %s)',
    async (leases) => {
      const { used, settings, close } = await setUp(server.url)
      const both = await startBoth({ ...settings, leases })
      const [killed, survivor] = both
      await vi.waitFor(() => expect(killed?.admitted()).toBeGreaterThan(100), waiting)
      killed?.child.kill('SIGKILL')
      expect([await killed?.report, isReport(await survivor?.report)]).toEqual([undefined, true])
      const spent = both.reduce((sum, { admitted }) => sum + admitted(), 0) * (reserved / 2)
      const counted = await used()
      console.info(`two processes, one killed: budget ${budget}, spent ${spent}, counted ${counted}`)
      expect(counted).toBeLessThanOrEqual(budget)
      // Nothing that was used is missing.
      expect(counted).toBeGreaterThanOrEqual(spent)
      if (!leases) {
        // The whole budget is given out: a call would need 100.
        expect(counted).toBeGreaterThan(budget - reserved)
        // The killed process leaves reservations of 100 for calls that used 50.
        expect(counted - spent).toBeLessThanOrEqual((callers / 2) * reserved)
      }
      await close()
    },
    60_000,
  )

  it.skipIf(withoutRedisToKill !== undefined)(
    'exceed the budget by at most the running calls if Redis is killed and starts again, and count each call once',
    async () => {
      const redis = await startRedis({ keeps: true })
      const { used, settings, close } = await setUp(redis.url)
      const both = await startBoth({ ...settings, timeoutMs: 2000 })
      const admitted = (): number => both.reduce((sum, one) => sum + one.admitted(), 0)
      await vi.waitFor(() => expect(admitted()).toBeGreaterThan(200), waiting)
      await redis.kill()
      const before = admitted()
      // Each process admits calls by its share of what remained.
      await vi.waitFor(() => expect(admitted()).toBeGreaterThan(before + 100), waiting)
      await redis.start()
      expect((await Promise.all(both.map(({ report }) => report))).every(isReport)).toBe(true)
      const counted = await used()
      console.info(
        `two processes, Redis killed after ${before} of ${admitted()} calls: budget ${budget}, spent ${admitted() * 50}, counted ${counted}`,
      )
      expect(counted).toBe(admitted() * (reserved / 2))
      // A process does not know what the other one has reserved since its own last call.
      expect(counted).toBeLessThanOrEqual(budget + callers * reserved)
      expect(counted).toBeGreaterThan(budget - reserved)
      await close()
      await redis.close()
    },
    60_000,
  )
})

const isReport = (report: ProcessReport | undefined): report is ProcessReport => report !== undefined
