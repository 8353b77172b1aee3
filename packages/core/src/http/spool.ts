import { concatBytes } from '../base/bytes.ts'

/** Where the files of one upload are put until the upstream has them: written once from end to end, then read at will. */
export interface Spool {
  write(chunk: Uint8Array): void | Promise<void>
  /** The bytes from `start` up to `end`, in pieces of a moderate size. */
  read(start: number, end: number): AsyncIterable<Uint8Array>
  /** Frees what it holds. Called once; reads that still run may fail. */
  close(): void
}

/** In memory: for runtimes without files, within the limit for other bodies. */
export function memorySpool(): Spool {
  let written: Uint8Array[] = []
  let whole: Uint8Array | undefined
  return {
    write(chunk) {
      // Parsers hand out views of the buffer that they were given; those are not used again.
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

/** A range of a spool in one piece. */
export async function readWhole(spool: Spool, start: number, end: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of spool.read(start, end)) chunks.push(chunk)
  return concatBytes(chunks)
}
