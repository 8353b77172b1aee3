import { mkdirSync } from 'node:fs'
import { type Logger, toLogger } from '@modelgate/core'
import { type DayFile, isDay, openDayFile, WriteError } from './day-file.ts'
import type { LedgerRecord, LedgerSink } from './ledger-record.ts'
import { readLedger } from './read-ledger.ts'

/** Options of `fileLedger`. */
export interface FileLedgerOptions {
  /** Folder of the files, which is created if it does not exist. Default: `'modelgate-ledger'` in the working directory. */
  readonly folder?: string
  /** Default: `console`. `false` logs nothing. */
  readonly logger?: Logger | false
}

/** A ledger in files. */
export interface FileLedger extends LedgerSink {
  readonly folder: string
  /** Throws after `close()`. */
  append(record: LedgerRecord): void
  /**
   * Resolves when all appended records are passed to the operating system: they survive the end of this process, but not yet a power failure.
   * Rejects if they cannot be written now; writing is still tried again.
   */
  flush(): Promise<void>
  /** Writes all records, syncs the files to the disk and closes them. Rejects if records are lost. */
  close(): Promise<void>
  /** Returns the records of all files in the folder, of any process, as `readLedger` does. */
  read(days: { readonly from: string; readonly to: string }): AsyncIterable<LedgerRecord>
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
  /** Number of records that were dropped, because too many waited for a disk that was full or unavailable. */
  readonly dropped: number
}

/** Milliseconds for which records are collected for one write. */
const collectMs = 50
/** Maximum records of one write. */
const maxBatch = 1000
/** Bounds of the records that wait: more are dropped, so that a full disk does not fill the memory. */
const maxRecords = 100_000
const maxCharacters = 64 * 1024 * 1024
/** Wait after a failed write, doubled with each further failure up to the maximum. */
const retryMs = 1000
const maxRetryMs = 60_000
/** Milliseconds between two warnings. */
const warnMs = 60_000
/** Files kept open: calls that began before midnight may end after it, so the previous day is still written to. */
const openDays = 2

/**
 * Creates a ledger in JSON lines, with one file for each day (UTC, by a record's time) and process: `2026-11-21.4711-1f0c….jsonl`. Files are
 * only appended to, and only their owner can read them. They may be moved or deleted at any time; the ledger then starts a new one. A process
 * that is killed loses the records of its last 50 ms at most, and leaves at most one incomplete line, the last of its file.
 *
 * @throws Error if the folder cannot be created.
 */
export function fileLedger(options: FileLedgerOptions = {}): FileLedger {
  const { folder = 'modelgate-ledger' } = options
  const logger = toLogger(options.logger)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const files = new Map<string, DayFile>()
  /** Lines that no write pass has started to write, by their day. */
  let waiting = new Map<string, string[]>()
  /** Number of lines in `waiting`. */
  let waitingLines = 0
  /** Unwritten records, including those of a running pass. */
  let records = 0
  let characters = 0
  let dropped = 0
  let warnedAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  let lastPass: Promise<void> = Promise.resolve()
  let nextPass: Promise<void> | undefined
  let closing: Promise<void> | undefined

  const logState = (message: string): void => {
    const lost = dropped === 0 ? '' : `; ${dropped} records were dropped since it was opened`
    logger.warn(`modelgate: ledger in ${folder}: ${message}; ${records} records are not written yet${lost}`)
  }
  const warn = (message: string): void => {
    const now = performance.now()
    if (now - warnedAt < warnMs) return
    warnedAt = now
    logState(message)
  }

  const written = (lines: readonly string[]): void => {
    records -= lines.length
    for (const line of lines) characters -= line.length
  }

  const writeDay = async (day: string, lines: readonly string[]): Promise<void> => {
    let file = files.get(day)
    if (file !== undefined && (await file.isGone())) {
      files.delete(day)
      await file.finish().catch(() => {})
      file = undefined
    }
    if (file === undefined) {
      file = await openDayFile(folder, day)
      files.set(day, file)
    }
    try {
      await file.append(lines)
    } catch (error) {
      // An incomplete line must stay the last of its file: the remaining lines go into a new file.
      files.delete(day)
      await file.close().catch(() => {})
      throw error
    }
  }

  const writeAll = async (linesByDay: ReadonlyMap<string, readonly string[]>): Promise<void> => {
    const errors: unknown[] = []
    for (const [day, lines] of linesByDay) {
      let from = 0
      while (from < lines.length && errors.length === 0) {
        const some = lines.slice(from, from + maxBatch)
        const count = await writeDay(day, some).then(
          () => some.length,
          (error: unknown) => {
            errors.push(error)
            return error instanceof WriteError ? error.written : 0
          },
        )
        written(some.slice(0, count))
        from += count
      }
      if (from === lines.length) continue
      // They wait again, before newer lines.
      waiting.set(day, [...lines.slice(from), ...(waiting.get(day) ?? [])])
      waitingLines += lines.length - from
    }
    if (errors.length > 0) throw errors[0]
  }

  const finishPastDays = async (): Promise<void> => {
    for (const day of [...files.keys()].sort().slice(0, -openDays)) {
      const file = files.get(day)
      files.delete(day)
      await file?.finish().catch((error: unknown) => warn(`a file of ${day} cannot be closed (${messageOf(error)})`))
    }
  }

  /** Writes all lines that wait at its start. */
  const pass = async (): Promise<void> => {
    nextPass = undefined
    clearTimeout(timer)
    timer = undefined
    const linesByDay = waiting
    waiting = new Map()
    waitingLines = 0
    try {
      await writeAll(linesByDay)
    } catch (error) {
      failures++
      warn(`cannot write (${messageOf(error)}). Free disk space, or fix the permissions of the folder`)
      clearTimeout(timer)
      timer = setTimeout(writeInBackground, Math.min(maxRetryMs, retryMs * 2 ** (failures - 1)))
      // A disk that stays unavailable must not keep the process alive.
      timer.unref()
      throw error
    }
    if (failures > 0) logState('writing works again')
    failures = 0
    await finishPastDays()
  }

  /** Returns the next pass, which has not started yet. All callers before its start share it. */
  const write = (): Promise<void> => {
    nextPass ??= lastPass.catch(() => {}).then(pass)
    lastPass = nextPass
    return nextPass
  }
  /** A failed pass logs the failure and schedules the next one itself. */
  const writeInBackground = (): void => void write().catch(() => {})

  const close = async (): Promise<void> => {
    const failed = await write().then(
      () => [],
      (cause: unknown) => [new Error(`ledger in ${folder}: closed with ${records} records unwritten`, { cause })],
    )
    clearTimeout(timer)
    const ends = await Promise.allSettled([...files.values()].map((file) => file.finish()))
    files.clear()
    for (const error of [...failed, ...ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))])
      throw error
  }

  const closeOnce = (): Promise<void> => (closing ??= close())
  return {
    folder,
    get dropped() {
      return dropped
    },
    append(record) {
      if (closing !== undefined) throw new Error(`ledger in ${folder}: a record was appended after close()`)
      const day = record.time.slice(0, 10)
      if (!isDay(day)) throw new TypeError(`ledger: time is '${record.time}'. Use ISO 8601 in UTC`)
      const line = `${JSON.stringify(record)}\n`
      if (records >= maxRecords || characters + line.length > maxCharacters) {
        dropped++
        warn('the disk is too slow, unavailable or full, and records are dropped')
        return
      }
      records++
      waitingLines++
      characters += line.length
      const lines = waiting.get(day)
      if (lines === undefined) waiting.set(day, [line])
      else lines.push(line)
      if (failures > 0) return
      if (waitingLines >= maxBatch) writeInBackground()
      else timer ??= setTimeout(writeInBackground, collectMs)
    },
    async flush() {
      if (closing !== undefined) return closing
      await write().catch((cause: unknown) => {
        throw new Error(`ledger in ${folder}: ${records} records could not be written yet`, { cause })
      })
    },
    read: ({ from, to }) => readLedger(folder, { from, to }),
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
