// Isolated: counts the open files of the process.
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { fileSpool } from './file-spool.ts'

const piece = (value: number, size = 400_000): Uint8Array => new Uint8Array(size).fill(value)

async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of source) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const isSpooled = (file: string): boolean => file.startsWith(join(tmpdir(), 'modelgate-'))
/** Returns the file of a descriptor of this process; an empty list if it has been closed. */
function fileOf(descriptor: string): string[] {
  try {
    return [readlinkSync(`/proc/self/fd/${descriptor}`)]
  } catch {
    return []
  }
}

describe('a spool', () => {
  it.each([1, 2, 3, 8])('of %i chunks returns any range, several times', async (count) => {
    const spool = fileSpool()
    const all = Buffer.concat(Array.from({ length: count }, (_, index) => piece(index)))
    for (let index = 0; index < count; index++) await spool.write(piece(index))
    for (const [start, end] of [
      [0, all.length],
      [1, all.length - 1],
      [399_999, 400_000],
      [7, 7],
      [0, all.length],
    ] as const)
      expect((await collect(spool.read(start, end))).equals(all.subarray(start, end))).toBe(true)
    spool.close()
  })

  it('rejects reads beyond its end and after close', async () => {
    const spool = fileSpool()
    for (let index = 0; index < 4; index++) await spool.write(piece(index))
    await expect(collect(spool.read(0, 2_000_000))).rejects.toThrow('shorter')
    spool.close()
    await expect(collect(spool.read(0, 10))).rejects.toThrow()
    await expect(spool.write(piece(9))).rejects.toThrow('closed')
  })

  // Only on systems that list the open files of a process.
  it.runIf(existsSync('/proc/self/fd'))(
    'keeps no file open if it is closed while its file is being opened',
    async () => {
      const open = (): string[] => readdirSync('/proc/self/fd').flatMap(fileOf).filter(isSpooled)
      for (let index = 0; index < 8; index++) {
        const spool = fileSpool()
        const writing = spool.write(piece(index, 2_000_000))
        spool.close()
        await expect(writing).rejects.toThrow('closed')
      }
      // Files of earlier tests may still be closing.
      await vi.waitFor(() => expect(open()).toEqual([]))
    },
  )
})
