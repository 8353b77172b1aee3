import type {
  LedgerRecord,
  LedgerSink,
  MeterStore,
  Owner,
  OwnerStore,
  Storage,
  TokenRecord,
  TokenStore,
} from '@modelgate/tokens'
import type { Channel, Functions } from './channel.ts'

// Tokens, meters and the ledger of all workers are those of the primary process: it counts, so no limit is exceeded.

/** Returns the functions of the primary process, which has opened the storage. */
export const storageFunctions = ({ tokens, meters, owners }: Storage): Functions => ({
  'tokens.findByDigest': (digest: string) => tokens.findByDigest(digest),
  'tokens.get': (id: string) => tokens.get(id),
  'tokens.create': (record: TokenRecord) => tokens.create(record),
  'tokens.replace': (record: TokenRecord, version: number) => replace(tokens, record, version),
  'tokens.list': (query: Parameters<TokenStore['list']>[0]) => tokens.list(query),
  'meters.reserve': (reservation: Parameters<MeterStore['reserve']>[0]) => meters.reserve(reservation),
  'meters.settle': (settlement: Parameters<MeterStore['settle']>[0]) => meters.settle(settlement),
  'meters.renew': (calls: Parameters<MeterStore['renew']>[0]) => meters.renew(calls),
  'meters.read': (...args: Parameters<MeterStore['read']>) => meters.read(...args),
  'meters.sums': (query: Parameters<MeterStore['sums']>[0]) => meters.sums(query),
  'owners.get': (owner: string) => owners?.get(owner),
  'owners.put': (record: Owner) => owners?.put(record),
  'owners.delete': (owner: string) => owners?.delete(owner),
  'owners.list': (query: Parameters<OwnerStore['list']>[0]) => owners?.list(query),
})

/** Returns the record that was stored; undefined if there is no such token; null if another process changed it in between. */
async function replace(
  tokens: TokenStore,
  record: TokenRecord,
  version: number,
): Promise<TokenRecord | undefined | null> {
  let isStale = false
  const stored = await tokens.change(record.id, (current) => {
    isStale = current.version !== version
    return isStale ? current : record
  })
  return isStale ? null : stored
}

/** Creates the storage of a worker. It does not report thresholds of budgets: the server has no function that would receive them. */
export function remoteStorage({ call, callSoon }: Pick<Channel, 'call' | 'callSoon'>): Storage {
  const tokens: TokenStore = {
    findByDigest: (digest) => call('tokens.findByDigest', digest),
    get: (id) => call('tokens.get', id),
    create: (record) => call('tokens.create', record),
    async change(id, change) {
      for (;;) {
        const current = await call<TokenRecord | undefined>('tokens.get', id)
        if (current === undefined) return undefined
        const stored = await call<TokenRecord | undefined | null>('tokens.replace', change(current), current.version)
        if (stored !== null) return stored
      }
    },
    list: (query) => call('tokens.list', query),
  }
  const meters: MeterStore = {
    reserve: (reservation) => call('meters.reserve', reservation),
    settle: (settlement) => callSoon('meters.settle', settlement),
    renew: (calls) => callSoon('meters.renew', calls),
    read: (...args) => call('meters.read', ...args),
    sums: (query) => call('meters.sums', query),
  }
  const owners: OwnerStore = {
    get: (owner) => call('owners.get', owner),
    put: (record) => call('owners.put', record),
    delete: (owner) => call('owners.delete', owner),
    list: (query) => call('owners.list', query),
  }
  return {
    tokens,
    meters,
    owners,
    // The primary process closes the storage after the last worker.
    close: async () => {},
  }
}

/** Number of records in one message. */
const recordsAtOnce = 500

/** Returns the functions of the primary process, which has opened the ledger, for one worker. `end` ends what that worker was reading. */
export function serveLedger(ledger: LedgerSink): { readonly functions: Functions; end(): void } {
  const readings = new Map<number, AsyncIterator<LedgerRecord>>()
  let nextId = 0
  const functions: Functions = {
    'ledger.append': (record: LedgerRecord) => ledger.append(record),
    'ledger.flush': () => ledger.flush?.(),
    'ledger.open'(days: { from: string; to: string }) {
      const id = nextId++
      readings.set(id, recordsOf(ledger, days))
      return id
    },
    async 'ledger.next'(id: number) {
      const reading = readings.get(id)
      const records: LedgerRecord[] = []
      while (reading !== undefined && records.length < recordsAtOnce) {
        const { value, done } = await reading.next()
        if (done === true) {
          readings.delete(id)
          break
        }
        records.push(value)
      }
      return records
    },
    async 'ledger.stop'(id: number) {
      const reading = readings.get(id)
      readings.delete(id)
      await reading?.return?.()
    },
  }
  return {
    functions,
    end() {
      for (const reading of readings.values()) void reading.return?.().catch(() => {})
      readings.clear()
    },
  }
}

async function* recordsOf(ledger: LedgerSink, days: { from: string; to: string }): AsyncGenerator<LedgerRecord> {
  yield* ledger.read?.(days) ?? []
}

/** Creates the ledger of a worker. */
export const remoteLedger = (
  { call, callSoon, notify }: Pick<Channel, 'call' | 'callSoon' | 'notify'>,
  canRead: boolean,
): LedgerSink => ({
  append: (record) => callSoon('ledger.append', record),
  flush: () => call('ledger.flush'),
  ...(canRead
    ? {
        async *read(days) {
          const id = await call<number>('ledger.open', days)
          try {
            for (;;) {
              const records = await call<LedgerRecord[]>('ledger.next', id)
              yield* records
              if (records.length < recordsAtOnce) return
            }
          } finally {
            notify('ledger.stop', id)
          }
        },
      }
    : {}),
})
