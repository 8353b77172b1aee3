import { describe, expect, it } from 'vitest'
import { decodeVector, sizeOf, toBase64, toNumbers } from './response.ts'

const floats = [0, -0, 1, -1.5, 0.1, 3.4028234663852886e38, 1.401298464324817e-45, -6.9625785e-6]
const bitsOf = (numbers: readonly number[]) => [...new Uint32Array(Float32Array.from(numbers).buffer)]

describe('vectors', () => {
  it('are little-endian float32 in base64, bit for bit', () => {
    const own = Buffer.from(Float32Array.from(floats).buffer).toString('base64')
    expect(toBase64(floats)).toBe(own)
    expect(bitsOf(toNumbers(own))).toEqual(bitsOf(floats))
    expect(toBase64(toNumbers(own))).toBe(own)
  })

  it('are encoded to base64 if they are long', () => {
    const long = Array.from({ length: 20_000 }, (_, index) => Math.sin(index))
    expect(bitsOf(toNumbers(toBase64(long)))).toEqual(bitsOf(long))
    expect(sizeOf(toBase64(long))).toBe(20_000)
  })

  it.each([[undefined], [[]], [['0.1']], [{}], [''], ['AAA'], ['AAA='], ['!!!!'], [[1, null]]])(
    'are rejected as %j',
    (value) => {
      expect(decodeVector(value as never)).toBeUndefined()
    },
  )

  it.each([[[0.5]], ['AAAAPw==']])('are accepted as %j', (value) => {
    expect(decodeVector(value as never)).toBe(value)
    expect(sizeOf(value as never)).toBe(1)
  })
})
