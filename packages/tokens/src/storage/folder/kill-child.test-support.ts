import { randomBytes } from 'node:crypto'
import { openSync, writeSync } from 'node:fs'
import { StorageAwayError } from '../../contract/storage.ts'
import type { TokenRecord } from '../../contract/token.ts'
import { folderStorage } from './folder-storage.ts'
import { countedId, counter, type Line, type Role, sharedId, theDay } from './kill-scene.test-support.ts'

/*
 * A process that works on a folder at full speed until it is killed. It logs each change before requesting it and again
 * after its acknowledgement, with plain file writes that survive the process.
 */

const [folder, log, role] = process.argv.slice(2) as [string, string, Role]
await work()

async function work(): Promise<void> {
  const file = openSync(log, 'a')
  const say = (line: Line): void => void writeSync(file, `${JSON.stringify(line)}\n`)
  const storage = folderStorage(folder, { logger: { warn: (warned) => say({ warned }) } })
  const { tokens, meters } = storage
  const mine = new Map<string, TokenRecord>()
  const readMine = async (): Promise<void> => {
    for (const record of (await tokens.list({ owner: role, limit: 1_000 })).tokens) mine.set(record.id, record)
  }

  const any = (): TokenRecord | undefined => [...mine.values()][Math.floor(Math.random() * mine.size)]
  const issue = async (): Promise<void> => {
    const record: TokenRecord = {
      id: `tok_${randomBytes(8).toString('hex')}`,
      owner: role,
      limits: [],
      budgets: [],
      hint: 'mg-Ab3d',
      createdAt: Date.now(),
      secrets: [secret(), secret()],
      metadata: { filling: 'x'.repeat(Math.floor(Math.random() * 2_000)) },
      version: 1,
    }
    say({ want: record })
    await tokens.create(record)
    mine.set(record.id, record)
    say({ done: record.id })
  }
  const change = async (how: (before: TokenRecord) => TokenRecord): Promise<void> => {
    const before = any()
    if (before === undefined) return
    const want = { ...how(before), version: before.version + 1 }
    say({ want })
    const after = await tokens.change(before.id, () => want)
    if (after === undefined) throw new Error(`token ${before.id} is gone`)
    mine.set(after.id, after)
    say({ done: after.id })
  }
  const revoke = () => change((before) => ({ ...before, revokedAt: before.revokedAt ?? Date.now() }))
  const rotate = () => change((before) => ({ ...before, secrets: [secret(), ...before.secrets.slice(0, 1)] }))
  const update = () => change((before) => ({ ...before, name: randomBytes(300).toString('hex') }))
  const share = async (): Promise<void> => {
    const now = await tokens.get(sharedId)
    if (now === undefined) throw new Error('the shared token is gone')
    const counted = (record: TokenRecord): TokenRecord => ({
      ...record,
      metadata: { ...record.metadata, [role]: Number(record.metadata?.[role] ?? 0) + 1 },
    })
    say({ want: counted(now) })
    await tokens.change(sharedId, counted)
    say({ done: sharedId })
  }
  let calls = 0
  const count = async (): Promise<void> => {
    for (let n = 0; n < 5; n++) {
      const callId = `${process.pid}-${calls++}`
      const reserved = await meters.reserve({ callId, tokenId: countedId, meters: [counter] })
      if (!reserved.ok) throw new Error('the counter has a limit')
      const used = reserved.states[0]?.used ?? 0
      say({ counted: used })
      await meters.settle({
        callId,
        tokenId: countedId,
        at: reserved.at,
        meters: [{ ...counter, actual: 1 }],
        sums: {
          day: theDay,
          model: 'm',
          add: { calls: 1, inputTokens: 2, cachedTokens: 0, outputTokens: 3, cost: 5, unpriced: 0 },
        },
      })
      if (Math.random() < 0.1) {
        await storage.flush()
        say({ flushed: used })
      }
    }
  }

  let settledCalls = 0
  const settle = async (): Promise<void> => {
    say({ counted: ++settledCalls })
    await meters.settle({
      callId: `${process.pid}-${settledCalls}-${randomBytes(4).toString('hex')}`,
      tokenId: countedId,
      at: undefined,
      meters: [{ ...counter, actual: 1 }],
      sums: {
        day: theDay,
        model: 'm',
        add: { calls: 1, inputTokens: 2, cachedTokens: 0, outputTokens: 3, cost: 5, unpriced: 0 },
      },
    })
    if (Math.random() > 0.1) return
    // If the other process is writing at the same moment, this change is written later.
    await unlessBusy(async () => {
      await storage.flush()
      say({ flushed: settledCalls })
    })
  }

  if (role === 'settling') {
    process.stdout.write('up\n')
    for (;;) {
      await settle()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  const steps = [issue, issue, revoke, rotate, rotate, update, share, ...(role === 'gateway' ? [count] : [])]
  while (!(await unlessBusy(readMine)));
  process.stdout.write('up\n')
  for (;;) {
    await unlessBusy(async () => steps[Math.floor(Math.random() * steps.length)]?.())
    // Lets timers run: a timer writes the counts.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/**
 * Runs `step`, and returns false if another process used the file for too long, which a slow disk causes. Nothing was
 * changed then, so the log's last wanted change stays without an acknowledgement.
 */
async function unlessBusy(step: () => Promise<unknown>): Promise<boolean> {
  try {
    await step()
    return true
  } catch (error) {
    if (!(error instanceof StorageAwayError)) throw error
    return false
  }
}

function secret(): { readonly digest: string } {
  return { digest: randomBytes(32).toString('hex') }
}
