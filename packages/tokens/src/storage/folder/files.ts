import { accessSync, closeSync, constants, mkdirSync, openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Database, isBusy, openDatabase, toStorageError } from './sqlite.ts'

/** Makes the folder, for this user only. Throws if it cannot be made or written. */
export function prepareFolder(path: string): string {
  const folder = resolve(path)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new Error(`${folder} cannot be used as a folder for tokens: ${reasonOf(error)}`, { cause: error })
  }
  return folder
}

/**
 * A file of the folder, made for this user only if it is not there; the library gives what it puts beside it the same mode. One that
 * is there is not opened: closing it again would give up the locks that this process has on it.
 */
export function prepareFile(folder: string, name: string): string {
  const file = join(folder, name)
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new Error(`${file} cannot be made: ${reasonOf(error)}`, { cause: error })
    }
  }
  return file
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this process may not write there. Give it the right to, or name another folder',
  EPERM: 'this process may not write there. Give it the right to, or name another folder',
  EROFS: 'the file system is read-only. Name another folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EEXIST: 'there is a file of that name',
  ENOTDIR: 'part of the path is a file',
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  return (code === undefined ? undefined : reasons[code]) ?? (error instanceof Error ? error.message : String(error))
}

/** The right to do something in a folder, which one process has at most. */
export interface ProcessLock {
  /** true: it is this one's, now or already. */
  acquire(): boolean
  release(): void
}

/**
 * A claim held by a lock on a file. The operating system holds it and drops it with the process, however that ends: there is no lock
 * that a dead one leaves behind, and no age at which one is taken to be left.
 */
export function createProcessLock(folder: string, name: string): ProcessLock {
  let lock: Database | undefined
  let held = false
  return {
    acquire: () => {
      if (held) return true
      const file = prepareFile(folder, name)
      try {
        lock ??= openDatabase(file, { waitMs: 0 })
        // Never ended: a transaction that writes nothing, and whose lock is what it is for.
        lock.exec('BEGIN EXCLUSIVE')
        held = true
      } catch (error) {
        if (!isBusy(error)) throw toStorageError(error, file)
      }
      return held
    },
    release: () => {
      lock?.close()
      lock = undefined
      held = false
    },
  }
}
