import type { LedgerRecord, LedgerSink } from '../ledger/ledger-record.ts'
import { sumLedger } from '../ledger/sum-ledger.ts'
import { maxReportRows, type UsageReportRow } from './report-rows.ts'

/** Reads the records of some days. */
export type LedgerSource = NonNullable<LedgerSink['read']>

export interface LedgerSelection {
  readonly from: string
  readonly to: string
  /** Undefined: all callers. */
  readonly token: string | undefined
  /** Undefined: all models. */
  readonly model: string | undefined
  /** Undefined: the currency of the newest day's first record with a cost. */
  readonly currency: string | undefined
  /** Called for each record. Throws to end the read. */
  checkSignal(): void
}

export interface LedgerRows {
  readonly rows: readonly UsageReportRow[]
  readonly currency: string | undefined
  readonly isTruncated: boolean
}

/** Maximum number of records that are read. */
const maxRecords = 2_000_000
const dayMs = 86_400_000

/** Sums the records of a ledger, the newest day first, so that a truncated report has the newest rows. */
export async function ledgerRows(read: LedgerSource, selection: LedgerSelection): Promise<LedgerRows> {
  const { from, to, token, model, checkSignal } = selection
  const rows: UsageReportRow[] = []
  let { currency } = selection
  let records = 0
  let isTruncated = false

  /** Yields the selected records. Those of further rows are left out: clients choose the names of models. */
  async function* selected(day: string): AsyncGenerator<LedgerRecord> {
    const keys = new Set<string>()
    for await (const record of read({ from: day, to: day })) {
      checkSignal()
      if (++records > maxRecords) {
        isTruncated = true
        return
      }
      if ((token !== undefined && record.token !== token) || (model !== undefined && record.model !== model)) continue
      const key = JSON.stringify([record.token, record.model])
      if (!keys.has(key)) {
        if (rows.length + keys.size >= maxReportRows) {
          isTruncated = true
          continue
        }
        keys.add(key)
      }
      if (record.cost === undefined || record.currency === undefined) {
        yield record
        continue
      }
      currency ??= record.currency
      yield record.currency === currency ? record : withoutCost(record)
    }
  }

  for (let time = Date.parse(to); time >= Date.parse(from) && !isTruncated; time -= dayMs) {
    checkSignal()
    const day = new Date(time).toISOString().slice(0, 10)
    for (const { costs, token = null, model = '', ...sums } of await sumLedger(selected(day), {
      by: ['token', 'model'],
    }))
      rows.push({ ...sums, token, model, day, cost: costs[0]?.amount ?? 0 })
  }
  return { rows, currency, isTruncated }
}

const withoutCost = ({ cost: _, currency: __, ...record }: LedgerRecord): LedgerRecord => record
