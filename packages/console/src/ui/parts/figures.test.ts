import { expect, it } from 'vitest'
import { inBytes } from './figures.ts'

it.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [1024, '1 kB'],
  [1536, '1.5 kB'],
  [65_536, '64 kB'],
  [1024 * 1024 - 1, '1 MB'],
  [1_258_291, '1.2 MB'],
  [5 * 1024 ** 4, '5120 GB'],
])('formats %d as %s', (bytes, text) => expect(inBytes(bytes)).toBe(text))
