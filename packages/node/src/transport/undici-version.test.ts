import * as undici from 'undici'
import { expect, it } from 'vitest'

it('runs with the undici version that the test run asks for', () => {
  // undici 8 exports it, undici 7 does not.
  expect('Dispatcher1Wrapper' in undici).toBe(process.env.MODELGATE_UNDICI === '8')
})
