import { accessSync, closeSync, constants, mkdirSync, openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Database, isBusy, openDatabase, toStorageError } from './sqlite.ts'

/** Creates the folder with access for this user only, and returns its absolute path. Throws if it cannot be created or written. */
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
 * Creates a file of the folder with access for this user only, and returns its path. SQLite gives its journal files the same mode. An
 * existing file is not opened, because closing it would release the POSIX locks that this process holds on it.
 */
export function prepareFile(folder: string, name: string): string {
  const file = join(folder, name)
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new Error(`${file} cannot be created: ${reasonOf(error)}`, { cause: error })
    }
  }
  return file
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this process has no permission to write there. Grant it, or choose another folder',
  EPERM: 'this process has no permission to write there. Grant it, or choose another folder',
  EROFS: 'the file system is read-only. Choose another folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'a file with this name exists',
  ENOTDIR: 'a part of the path is a file',
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  return (code === undefined ? undefined : reasons[code]) ?? (error instanceof Error ? error.message : String(error))
}

/** A lock that at most one process holds. */
export interface ProcessLock {
  /** Returns true if this process holds the lock, now or already. Does not wait. */
  acquire(): boolean
  release(): void
}

/**
 * Creates a lock between processes, by a lock on a file. The operating system releases it when the process ends, in whatever way: no stale lock
 * can remain, and no timeout is needed.
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
        // This transaction writes nothing and never ends: only its lock is needed.
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
