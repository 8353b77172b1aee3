import type { LedgerRecord, LedgerSink } from './record.ts'

/** A ledger that keeps its records in the memory of this process, all of them: for tests. */
export function memoryLedger(): LedgerSink & { readonly records: readonly LedgerRecord[] } {
  const records: LedgerRecord[] = []
  return { records, append: (record) => void records.push(record) }
}
