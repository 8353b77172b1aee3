import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { dayOf, isDay } from './day-file.ts'
import type { LedgerRecord } from './ledger-record.ts'

/** Options of `readLedger`. */
export interface ReadLedgerOptions {
  /** First day, UTC: `'2026-11-21'`. Default: the first day with records. */
  readonly from?: string
  /** Last day, included. Default: the last day with records. */
  readonly to?: string
  /**
   * Receives each file with lines that are not records, and their number. Such lines are skipped. A process that was killed while it wrote
   * leaves one; the last line of a file that is being written may be one, too.
   */
  readonly onTorn?: (torn: { readonly file: string; readonly lines: number }) => void
}

/** No record comes near this length. Longer lines are skipped, so that they cannot fill the memory. */
const maxLineBytes = 16 * 1024 * 1024
const lineBreak = 0x0a

/**
 * Reads the records that `fileLedger` has written, line by line: the days in order, and within a day file by file.
 *
 * @throws TypeError for an invalid day; the iterable throws an Error if the folder or a file cannot be read.
 */
export function readLedger(folder: string, options: ReadLedgerOptions = {}): AsyncIterable<LedgerRecord> {
  const { from = '0000-00-00', to = '9999-99-99', onTorn } = options
  for (const [name, day] of Object.entries({ from, to }))
    if (!isDay(day)) throw new TypeError(`readLedger: ${name} is '${day}'. Write a day such as '2026-11-21'`)

  return {
    async *[Symbol.asyncIterator]() {
      for (const file of await namesIn(folder)) {
        const day = dayOf(file)
        if (day === undefined || day < from || day > to) continue
        let lines = 0
        for await (const line of linesOf(join(folder, file))) {
          const record = line === undefined ? undefined : recordIn(line)
          if (record === undefined) lines++
          else yield record
        }
        if (lines > 0) onTorn?.({ file, lines })
      }
    },
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort()
  } catch (cause) {
    throw new Error(`readLedger: ${folder} cannot be read. Pass the folder of a fileLedger`, { cause })
  }
}

/**
 * Yields the lines of a file. Yields undefined for a line without a line break, even if it looks complete: its record may have been written
 * again to another file. Not by node:readline, which also breaks lines at U+2028, within JSON.
 */
async function* linesOf(path: string): AsyncGenerator<string | undefined> {
  let lineStart: Buffer[] = []
  let length = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0
    for (let to = chunk.indexOf(lineBreak); to >= 0; to = chunk.indexOf(lineBreak, from)) {
      length += to - from
      if (length > maxLineBytes) yield undefined
      else yield Buffer.concat([...lineStart, chunk.subarray(from, to)]).toString()
      lineStart = []
      length = 0
      from = to + 1
    }
    length += chunk.length - from
    if (length > maxLineBytes) lineStart = []
    else if (from < chunk.length) lineStart.push(chunk.subarray(from))
  }
  if (length > 0) yield undefined
}

function recordIn(line: string): LedgerRecord | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Checks the fields that every record has and that sums need. */
const isRecord = (value: unknown): value is LedgerRecord =>
  typeof value === 'object' &&
  value !== null &&
  'id' in value &&
  typeof value.id === 'string' &&
  'time' in value &&
  typeof value.time === 'string' &&
  'model' in value &&
  typeof value.model === 'string'
