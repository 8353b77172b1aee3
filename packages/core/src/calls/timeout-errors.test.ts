import { expect, it } from 'vitest'
import { firstByteTimeout, totalTimeout } from './timeout-errors.ts'

it('rounds a limit to milliseconds in messages', () => {
  expect(firstByteTimeout(150 - 2.3e-13).message).toContain('within 0.15 s')
  expect(totalTimeout(1500).message).toContain('within 1.5 s')
  expect(totalTimeout().message).toContain('in time')
})
