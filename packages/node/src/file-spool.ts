import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Spool } from '@modelgate/core'

/** Uploads up to this size never touch the disk. */
const memoryBytes = 1024 * 1024
const pieceBytes = 64 * 1024

/**
 * Keeps an upload in a file of the system's folder for temporary ones, small uploads in memory. The file has no name from the
 * moment it is open: nothing is left of it, however the process ends.
 */
export function fileSpool(): Spool {
  let small: Uint8Array[] = []
  let size = 0
  let file: FileHandle | undefined
  let closed = false

  const append = async (chunk: Uint8Array): Promise<void> => {
    file ??= await openNameless()
    if (closed) {
      // It was opened while nobody wanted it any more.
      await file.close().catch(() => {})
      throw new Error('The spool is closed.')
    }
    for (const piece of [...small.splice(0), chunk]) await writeWhole(file, piece)
  }
  return {
    write(chunk) {
      size += chunk.length
      if (file !== undefined || size > memoryBytes) return append(chunk)
      small.push(chunk)
      return undefined
    },
    async *read(start, end) {
      if (file === undefined) {
        yield Buffer.concat(small, size).subarray(start, end)
        return
      }
      for (let at = start; at < end; ) {
        const { bytesRead, buffer } = await file.read(
          Buffer.allocUnsafeSlow(Math.min(pieceBytes, end - at)),
          0,
          undefined,
          at,
        )
        if (bytesRead === 0) throw new Error('The spooled upload is shorter than it was.')
        at += bytesRead
        yield buffer.subarray(0, bytesRead)
      }
    },
    close() {
      closed = true
      small = []
      file?.close().catch(() => {})
    },
  }
}

async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `modelgate-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

async function writeWhole(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at)).bytesWritten
}
