// One process at a time. Plain Node without dependencies, as set-up.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Does the job while no other process does one under this lock: a file with its holder's id. The lock of a process that has
 * died is taken over.
 * @template T @param {string} lock @param {() => Promise<T>} job
 * @param {(holder: number) => void} [onWait] told once, if another process is at it
 * @returns {Promise<T>}
 */
export async function alone(lock, job, onWait) {
  mkdirSync(dirname(lock), { recursive: true })
  for (let waited = false; !taken(lock); ) {
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
function taken(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false
    throw error
  }
}

/** @param {string} lock @returns {number | undefined} undefined: it is just being made, or given back */
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
