import { mkdirSync } from 'node:fs'
import type { Logger } from '@modelgate/core'
import { safeLogger } from '../base/safe-logger.ts'
import { type DayFile, isDay, openDayFile, WriteError } from './day-file.ts'
import type { LedgerRecord, LedgerSink } from './ledger-record.ts'

/** What `fileLedger` takes. */
export interface FileLedgerOptions {
  /** Where the files are; made if it is not there. Default `'modelgate-ledger'`, in the working directory. */
  readonly folder?: string
  /** Default: `console`. `false`: nothing is told. */
  readonly logger?: Logger | false
}

/** A ledger in files. */
export interface FileLedger extends LedgerSink {
  readonly folder: string
  /** Throws once the ledger is closed. */
  append(record: LedgerRecord): void
  /**
   * Resolves when all that was appended is handed to the operating system: it outlives this process, not yet a power failure.
   * Rejects if that cannot be done now; it is tried again all the same.
   */
  flush(): Promise<void>
  /** Writes what is left, has it put on the disk, and closes the files. Rejects if records are lost with it. */
  close(): Promise<void>
  /** The same as `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
  /** Records that were never written, because too many waited for a disk that was full or away. */
  readonly dropped: number
}

/** A write takes what came within this time, */
const collectMs = 50
/** or this many records. */
const batch = 1000
/** What may wait: more is dropped, so that a full disk does not fill the memory, too. */
const mostRecords = 100_000
const mostCharacters = 64 * 1024 * 1024
/** After a failure: the first wait, doubled each time up to the longest. */
const retryMs = 1000
const longestRetryMs = 60_000
const warnMs = 60_000
/** Calls that began before midnight end after it: the day before is still written to. */
const openDays = 2

/**
 * A ledger in JSON lines, one file for each day (UTC, by a record's time) and process: `2026-11-21.4711-1f0c….jsonl`. Files are
 * only ever appended to, and readable for their owner alone; they may be moved or deleted at any time, and a new one is begun. A process that dies takes with it what it had not written yet, 50 ms
 * at most, and leaves one torn line at most, the last of its file. Throws if the folder cannot be made.
 */
export function fileLedger(options: FileLedgerOptions = {}): FileLedger {
  const { folder = 'modelgate-ledger' } = options
  const logger = safeLogger(options.logger)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const files = new Map<string, DayFile>()
  /** Lines that no pass has taken yet, by their day. */
  let waiting = new Map<string, string[]>()
  let fresh = 0
  /** All that is not written, those of a running pass too. */
  let records = 0
  let characters = 0
  let dropped = 0
  let warnedAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  let lastPass: Promise<void> = Promise.resolve()
  let nextPass: Promise<void> | undefined
  let closing: Promise<void> | undefined

  const tell = (message: string): void => {
    const lost = dropped === 0 ? '' : `; ${dropped} records were dropped since it was opened`
    logger.warn(`modelgate: ledger in ${folder}: ${message}; ${records} records wait${lost}`)
  }
  const warn = (message: string): void => {
    const now = performance.now()
    if (now - warnedAt < warnMs) return
    warnedAt = now
    tell(message)
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
      // A torn line stays the last of its file: what is left goes into another one.
      files.delete(day)
      await file.close().catch(() => {})
      throw error
    }
  }

  const writeAll = async (taken: ReadonlyMap<string, readonly string[]>): Promise<void> => {
    const errors: unknown[] = []
    for (const [day, lines] of taken) {
      let from = 0
      while (from < lines.length && errors.length === 0) {
        const some = lines.slice(from, from + batch)
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
      // It waits again, before what came since.
      waiting.set(day, [...lines.slice(from), ...(waiting.get(day) ?? [])])
      fresh += lines.length - from
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

  /** Writes what waits when it begins. */
  const pass = async (): Promise<void> => {
    nextPass = undefined
    clearTimeout(timer)
    timer = undefined
    const taken = waiting
    waiting = new Map()
    fresh = 0
    try {
      await writeAll(taken)
    } catch (error) {
      failures++
      warn(`cannot write (${messageOf(error)}): make room, or mend the folder`)
      clearTimeout(timer)
      timer = setTimeout(writeInBackground, Math.min(longestRetryMs, retryMs * 2 ** (failures - 1)))
      // A disk that does not come back must not keep the process from ending.
      timer.unref()
      throw error
    }
    if (failures > 0) tell('is written again')
    failures = 0
    await finishPastDays()
  }

  /** The next pass that has not begun; all who ask before it begins share it. */
  const write = (): Promise<void> => {
    nextPass ??= lastPass.catch(() => {}).then(pass)
    lastPass = nextPass
    return nextPass
  }
  /** What fails is told, and tried again, by the pass itself. */
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
      if (!isDay(day)) throw new TypeError(`ledger: time is '${record.time}': write it as ISO 8601, in UTC`)
      const line = `${JSON.stringify(record)}\n`
      if (records >= mostRecords || characters + line.length > mostCharacters) {
        dropped++
        warn('the disk is too slow, away or full, and records are dropped')
        return
      }
      records++
      fresh++
      characters += line.length
      const lines = waiting.get(day)
      if (lines === undefined) waiting.set(day, [line])
      else lines.push(line)
      if (failures > 0) return
      if (fresh >= batch) writeInBackground()
      else timer ??= setTimeout(writeInBackground, collectMs)
    },
    async flush() {
      if (closing !== undefined) return closing
      await write().catch((cause: unknown) => {
        throw new Error(`ledger in ${folder}: ${records} records could not be written yet`, { cause })
      })
    },
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
