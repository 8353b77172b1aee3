import type { Cost } from '@modelgate/core'
import { fromBillionths, toBillionths } from '../prices/money.ts'
import type { LedgerRecord } from './ledger-record.ts'

/** Keys to group records by. The model is the name that clients sent; the day is in UTC, `2026-11-21`. */
export type LedgerKey = 'token' | 'model' | 'day'

/** Sums over calls. */
export interface LedgerSum {
  /** Null: calls without a token. `token`, `model` and `day` are absent if the sums are not grouped by them. */
  readonly token?: string | null
  readonly model?: string
  readonly day?: string
  readonly calls: number
  /** Calls that ended with an error, including rejected ones; without those that the client aborted. */
  readonly failed: number
  readonly inputTokens: number
  /** Input tokens that were read from a cache. */
  readonly cachedTokens: number
  readonly outputTokens: number
  /** One sum for each currency, usually one; none if no call has a known cost. Added in whole billionths. */
  readonly costs: readonly Cost[]
  /** Calls with an unknown cost on which a model worked. They are not part of `costs`. */
  readonly unpriced: number
}

type Keys = Pick<LedgerSum, 'token' | 'model' | 'day'>
type Counts = { -readonly [K in Exclude<keyof LedgerSum, keyof Keys | 'costs'>]: number }

interface Row {
  readonly keys: Keys
  readonly counts: Counts
  readonly costs: Map<string, bigint>
}

/**
 * Sums records, grouped by the keys in `by`; without keys, in one row. Rows are ordered by their keys. Only the rows are kept in memory,
 * not the records.
 *
 * @throws TypeError for an unknown key.
 */
export async function sumLedger(
  records: AsyncIterable<LedgerRecord> | Iterable<LedgerRecord>,
  { by = [] }: { readonly by?: readonly LedgerKey[] } = {},
): Promise<readonly LedgerSum[]> {
  for (const key of by)
    if (!Object.hasOwn(keyOf, key))
      throw new TypeError(`sumLedger: unknown key '${key}' in by. Known keys: ${Object.keys(keyOf).join(', ')}`)
  const rows = new Map<string, Row>()
  for await (const record of records) {
    // A later record has the same call.
    if (record.deferred === true) continue
    const values = by.map((key) => keyOf[key](record))
    const place = JSON.stringify(values)
    let row = rows.get(place)
    if (row === undefined) {
      const counts = { calls: 0, failed: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, unpriced: 0 }
      row = { keys: Object.fromEntries(by.map((key, at) => [key, values[at]])), counts, costs: new Map() }
      rows.set(place, row)
    }
    add(row, record)
  }
  if (by.length === 0 && rows.size === 0)
    return [{ calls: 0, failed: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, costs: [], unpriced: 0 }]
  return [...rows.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { keys, counts, costs }]) => ({
      ...keys,
      ...counts,
      costs: [...costs].map(([currency, amount]) => ({ amount: fromBillionths(amount), currency })),
    }))
}

const keyOf: Readonly<Record<LedgerKey, (record: LedgerRecord) => string | null>> = {
  token: ({ token }) => token,
  model: ({ model }) => model,
  day: ({ time }) => time.slice(0, 10),
}

function add({ counts, costs }: Row, record: LedgerRecord): void {
  const { usage, units, cost, currency = '', basis, outcome, abandoned } = record
  counts.calls++
  if (outcome === 'failed') counts.failed++
  counts.inputTokens += usage?.input ?? 0
  counts.cachedTokens += usage?.cacheRead ?? 0
  counts.outputTokens += usage?.output ?? 0
  if (cost !== undefined && Number.isFinite(cost))
    costs.set(currency, (costs.get(currency) ?? 0n) + BigInt(toBillionths(cost)))
  else if (outcome === 'finished' || (basis ?? usage ?? units ?? abandoned) !== undefined) counts.unpriced++
}
