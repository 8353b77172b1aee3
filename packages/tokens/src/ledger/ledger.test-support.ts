import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { LedgerRecord } from './ledger-record.ts'
import { type ReadLedgerOptions, readLedger } from './read-ledger.ts'

/** Creates a folder that is removed after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export const recordWith = (more: Partial<LedgerRecord> = {}): LedgerRecord => ({
  id: 'req_1',
  time: '2026-11-21T10:00:00.000Z',
  token: 'tok_1',
  operation: 'generate',
  format: 'chat',
  model: 'fast',
  upstream: 'openai',
  upstreamModel: 'gpt-5',
  attempts: [{ upstream: 'openai', model: 'gpt-5', reason: 'first', startedMs: 0.4, status: 200, latencyMs: 310 }],
  status: 200,
  outcome: 'finished',
  basis: 'reported',
  usage: { input: 100, cacheRead: 80, output: 20 },
  cost: 0.000123456,
  currency: 'USD',
  losses: [],
  durationMs: 900,
  stream: true,
  ...more,
})

export async function readAll(folder: string, options?: ReadLedgerOptions): Promise<LedgerRecord[]> {
  const records: LedgerRecord[] = []
  for await (const record of readLedger(folder, options)) records.push(record)
  return records
}

export const idsIn = async (folder: string, options?: ReadLedgerOptions): Promise<string[]> =>
  (await readAll(folder, options)).map(({ id }) => id)

export const filesIn = (folder: string): string[] => readdirSync(folder).sort()
