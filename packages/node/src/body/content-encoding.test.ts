import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { decodeBody } from './content-encoding.ts'

const mib = 1024 * 1024
const limit = 32 * mib
const zeros = Buffer.alloc(2 * limit)

describe('a decompression bomb', () => {
  it.each([
    ['gzip', gzipSync(zeros, { level: 1 })],
    ['deflate', deflateSync(zeros, { level: 1 })],
    ['br', brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ])('of %s is rejected', async (encoding, bomb) => {
    // Row 26 of the torture test measures the time.
    await expect(decodeBody(encoding, limit)(bomb)).rejects.toMatchObject({ info: { kind: 'request_too_large' } })
  })
})

it('decodes small bodies completely', async () => {
  const text = Buffer.from('{"a":1}'.repeat(20_000))
  expect(Buffer.from(await decodeBody('gzip', mib)(gzipSync(text)))).toEqual(text)
})
