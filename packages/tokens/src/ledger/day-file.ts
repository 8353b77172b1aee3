import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'

const day = /^\d{4}-\d{2}-\d{2}$/

/** Returns whether a text is a day in the form of the ledger: `2026-11-21`. */
export const isDay = (text: string): boolean => day.test(text)

/** Returns the day of a ledger file by its name; undefined for other files. */
export const dayOf = (name: string): string | undefined =>
  name.endsWith('.jsonl') && name[10] === '.' && isDay(name.slice(0, 10)) ? name.slice(0, 10) : undefined

/** Some or all lines could not be written. */
export class WriteError extends Error {
  override readonly name = 'WriteError'
  /** Number of lines that were written completely. */
  readonly written: number

  constructor(message: string, written: number, cause: unknown) {
    super(message, { cause })
    this.written = written
  }
}

/** A file that only this process appends to. */
export interface DayFile {
  /** Appends lines, each with its line break. Rejects with WriteError; the file must be closed then. */
  append(lines: readonly string[]): Promise<void>
  /** Returns whether the file was moved or deleted. */
  isGone(): Promise<boolean>
  /** Closes the file, and deletes it if it is empty. */
  close(): Promise<void>
  /** Syncs the file to the disk and closes it. */
  finish(): Promise<void>
}

/** Creates a file for a day, under a new name. */
export async function openDayFile(folder: string, day: string): Promise<DayFile> {
  const path = join(folder, `${day}.${process.pid}-${randomBytes(6).toString('hex')}.jsonl`)
  const handle = await openNew(path, folder)
  let size = 0

  const close = async (): Promise<void> => {
    await handle.close()
    if (size === 0) await unlink(path)
  }

  return {
    async append(lines) {
      const bytes = Buffer.from(lines.join(''))
      let done = 0
      try {
        // A full disk accepts a part of a write, and reports the error with the next one.
        while (done < bytes.length) {
          const { bytesWritten } = await handle.write(bytes, done)
          if (bytesWritten === 0) throw new Error('the file accepts no more data')
          done += bytesWritten
          size += bytesWritten
        }
      } catch (cause) {
        throw new WriteError(messageOf(cause), wholeLines(lines, done), cause)
      }
    },
    async isGone() {
      return await stat(path).then(
        () => false,
        (error: unknown) => isMissing(error),
      )
    },
    close,
    async finish() {
      try {
        await handle.sync()
      } finally {
        await close()
      }
    },
  }
}

async function openNew(path: string, folder: string): Promise<FileHandle> {
  try {
    try {
      return await open(path, 'ax', 0o600)
    } catch (error) {
      if (!isMissing(error)) throw error
      // The folder was deleted while it was in use.
      await mkdir(folder, { recursive: true, mode: 0o700 })
      return await open(path, 'ax', 0o600)
    }
  } catch (cause) {
    throw new WriteError(messageOf(cause), 0, cause)
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Returns how many lines are complete within the first bytes. */
function wholeLines(lines: readonly string[], bytes: number): number {
  let remaining = bytes
  const cutLine = lines.findIndex((line) => {
    remaining -= Buffer.byteLength(line)
    return remaining < 0
  })
  return cutLine < 0 ? lines.length : cutLine
}
