import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { dayOf, isDay } from './day-file.ts'
import type { LedgerRecord } from './ledger-record.ts'

/** Which records `readLedger` reads. */
export interface ReadLedgerOptions {
  /** First day, UTC: `'2026-11-21'`. Default: the first there is. */
  readonly from?: string
  /** Last day, itself included. Default: the last there is. */
  readonly to?: string
  /**
   * Told of each file that holds lines which are no records: torn by a process that died while it wrote. They are skipped. The
   * last line of a file that is being written may be among them.
   */
  readonly onTorn?: (torn: { readonly file: string; readonly lines: number }) => void
}

/** No record is near as long. Something else that is must not fill the memory. */
const longestLine = 16 * 1024 * 1024
const lineBreak = 0x0a

/**
 * Reads the records that fileLedger has written, line by line: the days in order, and those of a day file by file, one file for
 * each process. Throws a TypeError if a day is none, and an Error if the folder or a file cannot be read.
 */
export function readLedger(folder: string, options: ReadLedgerOptions = {}): AsyncIterable<LedgerRecord> {
  const { from = '0000-00-00', to = '9999-99-99', onTorn } = options
  for (const [name, day] of Object.entries({ from, to }))
    if (!isDay(day)) throw new TypeError(`readLedger: ${name} is '${day}': write a day such as '2026-11-21'`)

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
    throw new Error(`readLedger: ${folder} cannot be read: give the folder of a fileLedger`, { cause })
  }
}

/**
 * The lines of a file; undefined for one without its line break, which is torn even if it looks whole: its record may have
 * been written again elsewhere. Not node:readline, which also breaks lines within JSON, at U+2028.
 */
async function* linesOf(path: string): AsyncGenerator<string | undefined> {
  let begun: Buffer[] = []
  let length = 0
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0
    for (let to = chunk.indexOf(lineBreak); to >= 0; to = chunk.indexOf(lineBreak, from)) {
      length += to - from
      if (length > longestLine) yield undefined
      else yield Buffer.concat([...begun, chunk.subarray(from, to)]).toString()
      begun = []
      length = 0
      from = to + 1
    }
    length += chunk.length - from
    if (length > longestLine) begun = []
    else if (from < chunk.length) begun.push(chunk.subarray(from))
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

/** The fields that every record has, and that sums ask for. */
const isRecord = (value: unknown): value is LedgerRecord =>
  typeof value === 'object' &&
  value !== null &&
  'id' in value &&
  typeof value.id === 'string' &&
  'time' in value &&
  typeof value.time === 'string' &&
  'model' in value &&
  typeof value.model === 'string'
