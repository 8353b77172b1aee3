import { writeSync } from 'node:fs'
import { fileLedger } from './file-ledger.ts'
import type { LedgerRecord } from './ledger-record.ts'

/** Appends records `<prefix>0`, `<prefix>1` … at full speed, and prints the last one after each flush. */
const [folder = '', prefix = '', most = ''] = process.argv.slice(2)
const ledger = fileLedger({ folder, logger: false })
const record: LedgerRecord = {
  id: '',
  time: '2026-11-21T10:00:00.000Z',
  token: 'tok_1',
  operation: 'generate',
  format: 'chat',
  model: 'fast',
  attempts: [],
  status: 200,
  outcome: 'finished',
  losses: [],
  durationMs: 1,
  stream: false,
}

let count = 0
const append = (): void => {
  for (let n = 0; n < 100 && count < Number(most); n++) ledger.append({ ...record, id: prefix + count++ })
}
const keepAppending = (): void => {
  append()
  if (count < Number(most)) setImmediate(keepAppending)
}
/** A failed flush does not count; the ledger has started another file by then. */
const flush = (): Promise<boolean> =>
  ledger.flush().then(
    () => true,
    () => false,
  )

append()
setImmediate(keepAppending)
for (let [done, failures] = [false, 0]; !done; ) {
  const last = count - 1
  if (!(await flush())) {
    failures++
    if (failures > 1000) throw new Error('nothing can be written any more')
    continue
  }
  writeSync(1, `${last}\n`)
  done = last + 1 >= Number(most)
}
await ledger.close()
