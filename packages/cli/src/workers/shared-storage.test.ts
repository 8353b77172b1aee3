import { createTokens, memoryLedger, memoryStorage, type TokenRecord } from '@modelgate/tokens'
import { expect, it } from 'vitest'
import type { Channel, Functions } from './channel.ts'
import { remoteLedger, remoteStorage, serveLedger, storageFunctions } from './shared-storage.ts'

/** Calls functions as another process would: with copies, later. */
const channelTo = (functions: Functions): Pick<Channel, 'call' | 'callSoon' | 'notify'> => {
  const call = async (name: string, ...args: unknown[]): Promise<unknown> => {
    await Promise.resolve()
    const wanted = functions[name]
    if (wanted === undefined) throw new Error(`there is no function '${name}'`)
    return structuredClone(await wanted(...(structuredClone(args) as never[])))
  }
  return {
    call: call as Channel['call'],
    callSoon: call as Channel['call'],
    notify: (name, ...args) => void call(name, ...args),
  }
}

it('lets two workers issue, change and find the same tokens', async () => {
  const functions = storageFunctions(memoryStorage())
  const [one, other] = [1, 2].map(() =>
    createTokens({ storage: remoteStorage(channelTo(functions)), cacheMs: 0, logger: false }),
  )
  if (one === undefined || other === undefined) throw new Error('no tokens')
  const token = await one.issue({ name: 'laptop' })
  expect(await other.get(token.id)).toMatchObject({ name: 'laptop' })
  await other.revoke(token.id)
  expect((await one.get(token.id))?.revokedAt).toBeDefined()
  expect(token.secret).toMatch(/^mg-/)
})

it('changes a token again if another worker changed it in between', async () => {
  const storage = memoryStorage()
  const functions = storageFunctions(storage)
  const { tokens } = remoteStorage(channelTo(functions))
  const owner = createTokens({ storage, logger: false })
  const token = await owner.issue({ name: 'a' })
  const seen: number[] = []
  const changed = await tokens.change(token.id, (record): TokenRecord => {
    seen.push(record.version)
    if (seen.length === 1) void storage.tokens.change(token.id, (current) => ({ ...current, name: 'between' }))
    return { ...record, metadata: { from: record.name } }
  })
  expect(seen).toHaveLength(2)
  expect(changed).toMatchObject({ name: 'between', metadata: { from: 'between' } })
  expect(await tokens.change('tok_none', (record) => record)).toBeUndefined()
})

it('admits no more calls than the limit, whichever worker asks', async () => {
  const functions = storageFunctions(memoryStorage())
  const stores = [1, 2, 3].map(() => remoteStorage(channelTo(functions)).meters)
  const results = await Promise.all(
    Array.from({ length: 90 }, (_, n) =>
      stores[n % 3]?.reserve({
        callId: `call ${n}`,
        tokenId: 'tok_1',
        meters: [{ kind: 'window', windowMs: 60_000, name: 'window:*:60000:requests', limit: 50, amount: 1 }],
      }),
    ),
  )
  expect(results.filter((result) => result?.ok === true)).toHaveLength(50)
})

it('reads the records of all workers, in several messages', async () => {
  const ledger = memoryLedger()
  const { functions, end } = serveLedger(ledger)
  const remote = remoteLedger(channelTo(functions), true)
  const record = { time: '2026-11-21T10:00:00.000Z', model: 'm', attempts: [], losses: [] }
  for (let n = 0; n < 1200; n++) await remote.append({ ...record, id: `call ${n}` } as never)
  const ids: string[] = []
  for await (const { id } of remote.read?.({ from: '2026-11-21', to: '2026-11-21' }) ?? []) ids.push(id)
  expect(ids).toHaveLength(1200)
  expect(new Set(ids).size).toBe(1200)
  // A worker that ends in the middle leaves nothing behind.
  const reading = remote.read?.({ from: '2026-11-21', to: '2026-11-21' }) as AsyncGenerator
  await reading.next()
  end()
  let rest = 0
  for await (const _ of reading) rest++
  expect(rest).toBe(499)
})
