import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Storage, StorageAwayError } from '../../contract/storage.ts'
import type { TokenRecord } from '../../contract/token.ts'
import { folderStorage } from './folder-storage.ts'
import { countedId, counter, type Line, type Role, sharedId, theDay } from './kill-scene.test-support.ts'
import { readPendingBatches } from './pending-calls.ts'
import { openDatabase } from './sqlite.ts'

// Each round starts two processes that run for a third of a second each.
const rounds = process.env.MODELGATE_FULL === undefined ? 25 : 100
const roles = ['gateway', 'command'] as const satisfies readonly Role[]

let place: string
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'modelgate-kill-'))
  const here = fileURLToPath(new URL('.', import.meta.url))
  // The child starts many times, so it is compiled to JavaScript next to the library.
  await build({
    entry: { child: join(here, 'kill-child.test-support.ts') },
    outDir: place,
    format: 'esm',
    outExtension: () => ({ js: '.mjs' }),
    external: ['libsql'],
    config: false,
    silent: true,
    dts: false,
  })
  symlinkSync(join(here, '../../node_modules'), join(place, 'node_modules'), 'junction')
}, 60_000)
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** Expected content of the folder: all acknowledged changes, and either state of those in flight. */
interface Truth {
  readonly records: Map<string, TokenRecord>
  /** Every digest ever used, with its token. */
  readonly digests: Map<string, string>
  readonly shared: Record<Exclude<Role, 'settling'>, { done: number; wanted: number }>
  /** Flushed and counted amounts. */
  flushed: number
  counted: number
}

interface Round {
  /** Ids of changed tokens, and the changes in flight when the process ended. */
  readonly touched: Set<string>
  readonly underWay: Map<string, TokenRecord>
}

test(`keeps every acknowledged change and restores nothing deleted when ${rounds * roles.length} writing processes are killed with kill -9`, async () => {
  const folder = join(place, 'data')
  const first = folderStorage(folder)
  await first.tokens.create(sharedToken)
  await first.close()
  const truth: Truth = {
    records: new Map(),
    digests: new Map(),
    shared: { gateway: { done: 0, wanted: 0 }, command: { done: 0, wanted: 0 } },
    flushed: 0,
    counted: 0,
  }
  let kills = 0
  let interrupted = 0
  for (let n = 0; n < rounds; n++) {
    const logs = await Promise.all(roles.map((role) => runAndKill(folder, `${n}-${role}`, role)))
    kills += logs.length
    const round: Round = { touched: new Set(), underWay: new Map() }
    for (const [index, role] of roles.entries()) follow(logs[index] ?? [], role, truth, round)
    interrupted += round.underWay.size
    checkIntegrity(folder)
    const storage = folderStorage(folder)
    await checkTokens(storage, truth, round)
    await checkShared(storage, truth)
    await checkCounts(storage, truth)
    if (n % 25 === 24) await checkDigests(storage, truth, truth.records.keys())
    await storage.close()
  }
  expect(kills).toBe(rounds * roles.length)
  // Many processes were killed in the middle of a change. The number of flushes depends on the speed of the disk.
  expect(interrupted).toBeGreaterThan(rounds / 4)
  expect(truth.records.size).toBeGreaterThan(rounds / 2)
  expect(truth.flushed).toBeGreaterThan(0)
}, 180_000)

test('lets other processes change tokens but not count while one counts, and lets another count as soon as it is killed', async () => {
  const folder = join(place, 'counted')
  const storage = folderStorage(folder, { localMs: 0 })
  await storage.tokens.create(sharedToken)
  let changes = 0
  let refused: unknown
  const lines = await runAndKill(folder, 'counting', 'gateway', async (log) => {
    while (!readFileSync(log, 'utf8').includes('"flushed"')) await moment(5)
    for (; changes < 20; changes++) await storage.tokens.change(sharedId, (record) => ({ ...record, name: 'beside' }))
    refused = await reserveIn(storage).catch((error: unknown) => error)
  })
  expect(refused).toBeInstanceOf(StorageAwayError)
  expect(refused).toHaveProperty('message', expect.stringContaining('another process counts calls'))
  const shared = await storage.tokens.get(sharedId)
  const theirs = Number(shared?.metadata?.gateway ?? 0)
  expect(shared).toMatchObject({ name: 'beside', version: 1 + changes + theirs })
  const flushed = lines.findLast((line) => 'flushed' in line)
  const reserved = await reserveIn(storage)
  expect(reserved.ok).toBe(true)
  expect(reserved.states[0]?.used).toBeGreaterThan(flushed !== undefined && 'flushed' in flushed ? flushed.flushed : 0)
  await storage.close()
}, 60_000)

test('counts each written call once when two processes settle calls in one folder and are killed', async () => {
  const folder = join(place, 'settled')
  let [written, settled] = [0, 0]
  let hasPending = false
  // On a loaded machine, a process may be killed before its first flush; more rounds follow then.
  for (let n = 0; n < 10 || (n < 60 && (written <= 50 || !hasPending)); n++) {
    const logs = await Promise.all(
      ['a', 'b'].map((name) =>
        runAndKill(folder, `settling-${n}-${name}`, 'settling', () => moment(Math.random() * 400)),
      ),
    )
    for (const lines of logs) {
      written += Math.max(0, ...lines.map((line) => ('flushed' in line ? line.flushed : 0)))
      settled += Math.max(0, ...lines.map((line) => ('counted' in line ? line.counted : 0)))
    }
    const storage = folderStorage(folder, { logger: false })
    const [sums] = await storage.meters.sums({ tokenId: countedId, from: theDay, to: theDay })
    const [state] = await storage.meters.read(countedId, [counter])
    await storage.close()
    expect(sums?.calls ?? 0).toBeGreaterThanOrEqual(written)
    expect(sums?.calls ?? 0).toBeLessThanOrEqual(settled)
    expect(state?.used ?? 0).toBe(sums?.calls ?? 0)
    // Calls that the killed process had not written are lost.
    written = sums?.calls ?? 0
    settled = written
    hasPending ||= readPendingBatches(folder).length > 0
  }
  expect(written).toBeGreaterThan(50)
  expect(hasPending).toBe(true)
}, 120_000)

const reserveIn = async ({ meters }: Storage) =>
  meters.reserve({ callId: `parent-${Math.random()}`, tokenId: countedId, meters: [counter] })

const moment = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const sharedToken: TokenRecord = {
  id: sharedId,
  limits: [],
  budgets: [],
  hint: 'mg-Ab3d',
  createdAt: 1,
  secrets: [{ digest: 'f'.repeat(64) }],
  version: 1,
}

/** Starts a process, lets it work for a while, kills it, and returns its log. */
async function runAndKill(
  folder: string,
  name: string,
  role: Role,
  meanwhile: (log: string) => Promise<unknown> = () => moment(Math.random() * 80),
): Promise<Line[]> {
  const log = join(place, `${name}.log`)
  const child = spawn(process.execPath, [join(place, 'child.mjs'), folder, log, role], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let complaint = ''
  child.stderr.on('data', (data: Buffer) => {
    complaint += data.toString()
  })
  const exited = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_, signal) => resolve(signal)))
  await Promise.race([new Promise((resolve) => child.stdout.once('data', resolve)), exited])
  try {
    await meanwhile(log)
  } finally {
    child.kill('SIGKILL')
  }
  expect(await exited, complaint).toBe('SIGKILL')
  const lines = readFileSync(log, 'utf8').split('\n')
  rmSync(log)
  // The last line may be incomplete.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Line)
}

/** Adds the log of a process to the expected content. */
function follow(lines: readonly Line[], role: Exclude<Role, 'settling'>, truth: Truth, round: Round): void {
  let wanted: TokenRecord | undefined
  for (const line of lines) {
    if ('want' in line) {
      wanted = line.want
      if (wanted.id === sharedId) truth.shared[role].wanted = truth.shared[role].done + 1
      for (const { digest } of wanted.secrets) truth.digests.set(digest, wanted.id)
    } else if ('done' in line) {
      expect(line.done).toBe(wanted?.id)
      if (line.done === sharedId) truth.shared[role].done++
      else if (wanted !== undefined) truth.records.set(wanted.id, wanted)
      round.touched.add(line.done)
      wanted = undefined
    } else if ('counted' in line) truth.counted = line.counted
    else if ('flushed' in line) truth.flushed = line.flushed
    else expect.unreachable(line.warned)
  }
  if (wanted === undefined || wanted.id === sharedId) return
  round.touched.add(wanted.id)
  round.underWay.set(wanted.id, wanted)
}

function checkIntegrity(folder: string): void {
  for (const name of ['tokens.db', 'meters.db']) {
    const database = openDatabase(join(folder, name), {})
    expect(database.prepare('PRAGMA integrity_check').all(), name).toEqual([['ok']])
    expect(database.prepare('PRAGMA foreign_key_check').all(), name).toEqual([])
    database.close()
  }
}

async function checkTokens(storage: Storage, truth: Truth, round: Round): Promise<void> {
  const found = new Map<string, TokenRecord>()
  for (let after: string | undefined; ; ) {
    const page = await storage.tokens.list({ limit: 1_000, ...(after !== undefined && { after }) })
    for (const record of page.tokens) found.set(record.id, record)
    after = page.next
    if (after === undefined) break
  }
  found.delete(sharedId)
  for (const [id, record] of found) {
    // A change in flight is stored completely or not at all.
    const underWay = round.underWay.get(id)
    if (underWay !== undefined && record.version === underWay.version) truth.records.set(id, underWay)
  }
  for (const [id, record] of truth.records) {
    const kept = found.get(id)
    if (record.revokedAt !== undefined) expect(kept?.revokedAt, `token ${id} is revoked`).toBe(record.revokedAt)
    if (JSON.stringify(kept) !== JSON.stringify(record)) expect(kept).toEqual(record)
  }
  expect(found.size).toBe(truth.records.size)
  await checkDigests(storage, truth, round.touched)
}

/** Each current digest of a token finds it; each former digest finds nothing. */
async function checkDigests(storage: Storage, truth: Truth, ids: Iterable<string>): Promise<void> {
  const which = new Set(ids)
  for (const [digest, id] of truth.digests) {
    if (!which.has(id) || id === sharedId) continue
    const held = truth.records.get(id)?.secrets.some((secret) => secret.digest === digest) ?? false
    const found = await storage.tokens.findByDigest(digest)
    if (found?.id !== (held ? id : undefined))
      expect.unreachable(`${held ? 'lost' : 'resurrected'}: ${digest} of ${id}`)
  }
}

async function checkShared(storage: Storage, { shared }: Truth): Promise<void> {
  const record = await storage.tokens.get(sharedId)
  for (const role of roles) {
    const count = Number(record?.metadata?.[role] ?? 0)
    expect(count).toBeGreaterThanOrEqual(shared[role].done)
    expect(count).toBeLessThanOrEqual(Math.max(shared[role].done, shared[role].wanted))
    shared[role].done = count
  }
  expect(record?.version).toBe(1 + shared.gateway.done + shared.command.done)
}

async function checkCounts(storage: Storage, truth: Truth): Promise<void> {
  const [state] = await storage.meters.read(countedId, [counter])
  expect(state?.used ?? 0).toBeGreaterThanOrEqual(truth.flushed)
  expect(state?.used ?? 0).toBeLessThanOrEqual(truth.counted)
  const [sums] = await storage.meters.sums({ tokenId: countedId, from: theDay, to: theDay })
  const calls = sums?.calls ?? 0
  // A reservation counts as a call once it is settled; the last one may not be settled.
  expect(calls).toBeGreaterThanOrEqual(truth.flushed - rounds)
  expect([sums?.inputTokens ?? 0, sums?.outputTokens ?? 0, sums?.cost ?? 0]).toEqual([calls * 2, calls * 3, calls * 5])
}
