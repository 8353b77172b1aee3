import { concatBytes } from '../base/bytes.ts'

/**
 * Temporary storage for the files of one upload, until they are sent to the upstream. It is written once from start to end, then read in
 * any order.
 */
export interface Spool {
  /** Appends a chunk. The next chunk follows once the promise has resolved. */
  write(chunk: Uint8Array): void | Promise<void>
  /** Returns the bytes from `start` up to `end`, in chunks of moderate size. */
  read(start: number, end: number): AsyncIterable<Uint8Array>
  /** Frees the storage. Called once; unfinished reads may fail. */
  close(): void
}

/** Creates a spool in memory, for runtimes without files. */
export function memorySpool(): Spool {
  let written: Uint8Array[] = []
  let whole: Uint8Array | undefined
  return {
    write(chunk) {
      // No copy: chunks are views of buffers that are not reused.
      written.push(chunk)
    },
    async *read(start, end) {
      whole ??= concatBytes(written)
      written = []
      for (let at = start; at < end; at += pieceBytes) yield whole.subarray(at, Math.min(end, at + pieceBytes))
    },
    close() {
      written = []
      whole = undefined
    },
  }
}

const pieceBytes = 64 * 1024

/** Reads a range of a spool into one array. */
export async function readWhole(spool: Spool, start: number, end: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of spool.read(start, end)) chunks.push(chunk)
  return concatBytes(chunks)
}
