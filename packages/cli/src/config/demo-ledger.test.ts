import type { LedgerRecord } from '@modelgate/tokens'
import { expect, it } from 'vitest'
import { demoLedger } from './demo-ledger.ts'

const record = (n: number, day: string) => ({ id: `req_${n}`, time: `${day}T10:00:00.000Z` }) as LedgerRecord

it('keeps the last 5,000 calls, and returns those of the requested days', () => {
  const ledger = demoLedger()
  const idsOf = (from: string, to: string) =>
    ((ledger.read?.({ from, to }) ?? []) as LedgerRecord[]).map(({ id }) => id)
  for (let n = 0; n < 5_003; n++) ledger.append(record(n, n < 5_000 ? '2026-11-20' : '2026-11-21'))
  expect(idsOf('2026-11-21', '2026-11-21')).toEqual(['req_5000', 'req_5001', 'req_5002'])
  const all = idsOf('2026-11-20', '2026-11-21')
  expect(all).toHaveLength(5_000)
  expect(all).not.toContain('req_2')
  expect(all).toContain('req_3')
  expect(idsOf('2026-11-22', '2026-11-30')).toEqual([])
})
