import type { LedgerRecord, LedgerSink } from '@modelgate/tokens'

/** Number of calls that are kept: about 5 MB. */
const maxRecords = 5_000

/**
 * Creates a ledger that keeps the last calls in memory. With it, the usage page of a demo contains the calls with the token of the run: the
 * counters of the storage contain only those with issued tokens.
 */
export function demoLedger(): LedgerSink {
  const records: LedgerRecord[] = []
  let next = 0
  return {
    append(record) {
      records[next] = record
      next = (next + 1) % maxRecords
    },
    read: ({ from, to }) =>
      records.filter(({ time }) => {
        const day = time.slice(0, 10)
        return day >= from && day <= to
      }),
  }
}
