import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { decodeBody } from './decode-body.ts'

const mib = 1024 * 1024
const limit = 32 * mib
const zeros = Buffer.alloc(2 * limit)

describe('a bomb', () => {
  it.each([
    ['gzip', gzipSync(zeros, { level: 1 })],
    ['deflate', deflateSync(zeros, { level: 1 })],
    ['br', brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ])('of %s is refused within 50 ms', async (encoding, bomb) => {
    const times: number[] = []
    // The best of some: a busy machine slows down one or the other.
    for (let round = 0; round < 8; round++) {
      const begun = performance.now()
      await expect(decodeBody(encoding, limit)(bomb)).rejects.toMatchObject({ info: { kind: 'request_too_large' } })
      times.push(performance.now() - begun)
    }
    expect(Math.min(...times)).toBeLessThan(50)
  })
})

it('what is small comes out whole', async () => {
  const text = Buffer.from('{"a":1}'.repeat(20_000))
  expect(Buffer.from(await decodeBody('gzip', mib)(gzipSync(text)))).toEqual(text)
})
