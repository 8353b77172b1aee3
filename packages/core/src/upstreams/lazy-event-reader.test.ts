import { describe, expect, it, vi } from 'vitest'
import { lazyEventReader } from './lazy-event-reader.ts'

const encode = (text: string) => new TextEncoder().encode(text)

/** A stream that records whether it was closed. */
function source(...chunks: string[]) {
  const left = vi.fn(async () => ({ done: true as const, value: undefined }))
  const items = chunks.map(encode)[Symbol.iterator]()
  const bytes: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({ next: async () => items.next(), return: left }),
  }
  return { bytes, left }
}

async function* louder(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) yield encode(new TextDecoder().decode(chunk).toUpperCase())
}

describe('a lazily loaded reader of streams', () => {
  it('returns the same events as the reader itself', async () => {
    const load = vi.fn(async () => louder)
    const read = lazyEventReader(load)(source('a', 'b').bytes)
    expect(load).not.toHaveBeenCalled()
    let text = ''
    for await (const chunk of read) text += new TextDecoder().decode(chunk)
    expect([text, load.mock.calls.length]).toEqual(['AB', 1])
  })

  it.each([0, 1])('closes a stream that is abandoned after %i chunks', async (chunks) => {
    const { bytes, left } = source('a', 'b')
    const iterator = lazyEventReader(async () => louder)(bytes)[Symbol.asyncIterator]()
    for (let i = 0; i < chunks; i++) await iterator.next()
    expect(await iterator.return?.()).toMatchObject({ done: true })
    expect(left).toHaveBeenCalledTimes(1)
  })

  it('reports an internal error if the reader cannot be loaded', async () => {
    const failing = lazyEventReader(() => Promise.reject(new Error('no such file')))
    await expect(failing(source('a').bytes)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      info: { kind: 'internal' },
      hints: { ours: true },
      cause: { message: 'no such file' },
    })
  })
})
