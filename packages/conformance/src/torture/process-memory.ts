import { readFileSync } from 'node:fs'
import type { Target } from './check.ts'

/** Memory of a gateway's process in bytes, after a garbage collection if this kit started it, otherwise from /proc. */
export interface Memory {
  readonly rss: number | undefined
  /** In use, without buffers. */
  readonly heap: number | undefined
  readonly buffers: number | undefined
}

const pageBytes = 4096

function residentBytes(pid: number | undefined): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * pageBytes
  } catch {
    return undefined
  }
}

export async function memoryOf({ local, pid }: Target): Promise<Memory> {
  if (local === undefined) return { rss: residentBytes(pid), heap: undefined, buffers: undefined }
  const { rss, heapUsed, external } = await local.stats()
  return { rss, heap: heapUsed, buffers: external }
}

/** Returns the growth; undefined if it is unknown. */
export const growth = (before: number | undefined, now: number | undefined): number | undefined =>
  before === undefined || now === undefined ? undefined : now - before
