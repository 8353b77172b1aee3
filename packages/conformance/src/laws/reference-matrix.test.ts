import { expect, it } from 'vitest'
import { referenceMatrix } from './reference-matrix.ts'

it('sends no reference to stored state to an upstream that is neither the caller’s own nor accepted by the configuration', async () => {
  const { asked, complaints } = await referenceMatrix(true)
  expect(complaints).toEqual([])
  expect(asked).toBeGreaterThan(2000)
}, 120_000)
