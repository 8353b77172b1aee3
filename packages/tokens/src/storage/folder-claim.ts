import { prepareFile } from './folder-files.ts'
import type { Database } from './sqlite.ts'
import { explain, isBusy, openDatabase } from './sqlite.ts'

/** The right to do something in a folder, which one process has at most. */
export interface Claim {
  /** true: it is this one's, now or already. */
  take(): boolean
  release(): void
}

/**
 * A claim held by a lock on a file. The operating system holds it and drops it with the process, however that ends: there is no lock
 * that a dead one leaves behind, and no age at which one is taken to be left.
 */
export function createClaim(folder: string, name: string): Claim {
  let lock: Database | undefined
  let held = false
  return {
    take: () => {
      if (held) return true
      const file = prepareFile(folder, name)
      try {
        lock ??= openDatabase(file, { waitMs: 0 })
        // Never ended: a transaction that writes nothing, and whose lock is what it is for.
        lock.exec('BEGIN EXCLUSIVE')
        held = true
      } catch (error) {
        if (!isBusy(error)) throw explain(error, file)
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
