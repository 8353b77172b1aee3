import { randomUUID } from 'node:crypto'
import { type FileHandle, open, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Spool } from '@modelgate/core'

/** Uploads up to this size never touch the disk. */
const memoryBytes = 1024 * 1024
const readBytes = 64 * 1024

/**
 * Keeps an upload in a file of the system's temporary folder, and small uploads in memory. The file is unlinked as soon as it is
 * open, so that nothing is left of it, however the process ends.
 */
export function fileSpool(): Spool {
  let chunks: Uint8Array[] = []
  let size = 0
  let file: FileHandle | undefined
  let closed = false

  const append = async (chunk: Uint8Array): Promise<void> => {
    file ??= await openUnlinked()
    if (closed) {
      // The spool was closed while the file was being opened.
      await file.close().catch(() => {})
      throw new Error('The spool is closed.')
    }
    for (const piece of [...chunks.splice(0), chunk]) await writeWhole(file, piece)
  }
  return {
    write(chunk) {
      size += chunk.length
      if (file !== undefined || size > memoryBytes) return append(chunk)
      chunks.push(chunk)
      return undefined
    },
    async *read(start, end) {
      if (file === undefined) {
        yield Buffer.concat(chunks, size).subarray(start, end)
        return
      }
      for (let at = start; at < end; ) {
        const { bytesRead, buffer } = await file.read(
          Buffer.allocUnsafeSlow(Math.min(readBytes, end - at)),
          0,
          undefined,
          at,
        )
        if (bytesRead === 0) throw new Error('The temporary file of the upload is shorter than expected.')
        at += bytesRead
        yield buffer.subarray(0, bytesRead)
      }
    },
    close() {
      closed = true
      chunks = []
      file?.close().catch(() => {})
    },
  }
}

async function openUnlinked(): Promise<FileHandle> {
  const path = join(tmpdir(), `modelgate-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await unlink(path)
  return file
}

async function writeWhole(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at, bytes.length - at)).bytesWritten
}
