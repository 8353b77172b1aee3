// A lock between processes. Plain Node without dependencies, because the set-up uses it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Runs the job while holding a lock: a file with the id of the holding process. The lock of a dead process is taken over.
 * @template T @param {string} lock @param {() => Promise<T>} job
 * @param {(holder: number) => void} [onWait] called once if another process holds the lock
 * @returns {Promise<T>}
 */
export async function withProcessLock(lock, job, onWait) {
  mkdirSync(dirname(lock), { recursive: true })
  for (let waited = false; !acquireLock(lock); ) {
    const holder = holderOf(lock)
    if (holder === undefined) continue
    if (!isAlive(holder)) rmSync(lock, { force: true })
    else {
      if (!waited) onWait?.(holder)
      waited = true
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  try {
    return await job()
  } finally {
    rmSync(lock, { force: true })
  }
}

/** @param {string} lock */
function acquireLock(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  }
}

/** @param {string} lock @returns {number | undefined} undefined while the lock file is created or removed */
function holderOf(lock) {
  try {
    return Number(readFileSync(lock, 'utf8')) || undefined
  } catch {
    return undefined
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}
