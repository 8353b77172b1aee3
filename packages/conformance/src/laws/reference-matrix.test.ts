import { expect, it } from 'vitest'
import { referenceMatrix } from './reference-matrix.ts'

it('sends no reference to stored state upstream unless the caller owns it or the configuration accepts it', async () => {
  const { total, complaints } = await referenceMatrix(true)
  expect(complaints).toEqual([])
  expect(total).toBeGreaterThan(2000)
}, 120_000)
