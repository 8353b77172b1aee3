import { expect, it } from 'vitest'
import { fromBase64, toBase64 } from './bytes.ts'

it.each([0, 1, 2, 3, 4, 5, 6, 255, 256, 257, 8192, 8193])('encodes %i bytes as standard base64', (length) => {
  const whole = Uint8Array.from({ length: length + 2 }, (_, index) => (index * 151 + (index >> 3)) & 255)
  const bytes = whole.subarray(1, length + 1)
  expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
  expect(fromBase64(toBase64(bytes))).toEqual(new Uint8Array(bytes))
})

it('encodes media of 20 MB completely', () => {
  const bytes = new Uint8Array(20_000_000).fill(77)
  expect(toBase64(bytes) === Buffer.from(bytes).toString('base64')).toBe(true)
})
