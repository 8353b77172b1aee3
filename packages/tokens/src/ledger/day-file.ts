import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'

const day = /^\d{4}-\d{2}-\d{2}$/

/** Whether a text is a day as the ledger writes it: `2026-11-21`. */
export const isDay = (text: string): boolean => day.test(text)

/** The day that a file of a ledger is of, by its name; undefined: it is no such file. */
export const dayOf = (name: string): string | undefined =>
  name.endsWith('.jsonl') && name[10] === '.' && isDay(name.slice(0, 10)) ? name.slice(0, 10) : undefined

/** Lines could not be written, or not all of them. */
export class WriteError extends Error {
  override readonly name = 'WriteError'
  /** How many of them stand in the file, whole. */
  readonly written: number

  constructor(message: string, written: number, cause: unknown) {
    super(message, { cause })
    this.written = written
  }
}

/** A file that only this process appends to. */
export interface DayFile {
  /** Appends lines, each with its line break, in one write. Throws WriteError; the file is to be closed then. */
  append(lines: readonly string[]): Promise<void>
  /** Whether somebody has moved or deleted it. */
  isGone(): Promise<boolean>
  /** Closes it, and deletes it if nothing was written. */
  close(): Promise<void>
  /** Has what was written put on the disk, and closes it. */
  finish(): Promise<void>
}

/** Begins a file for a day, under a name that no file has had. */
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
        // A full disk takes a part, and says so with the next one only.
        while (done < bytes.length) {
          const { bytesWritten } = await handle.write(bytes, done)
          if (bytesWritten === 0) throw new Error('the file takes no more')
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
      // Somebody took the folder away while it was in use.
      await mkdir(folder, { recursive: true, mode: 0o700 })
      return await open(path, 'ax', 0o600)
    }
  } catch (cause) {
    throw new WriteError(messageOf(cause), 0, cause)
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT'

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** How many lines the first bytes of them hold, line breaks included. */
function wholeLines(lines: readonly string[], bytes: number): number {
  let left = bytes
  const torn = lines.findIndex((line) => {
    left -= Buffer.byteLength(line)
    return left < 0
  })
  return torn < 0 ? lines.length : torn
}
