import { expect, it } from 'vitest'
import { createFreeNames } from './free-names.ts'

it('numbers names that are taken, from 2 on', () => {
  const free = createFreeNames('_', ['a_3'])
  expect(['a', 'a', 'a', 'b', 'a_2', 'a'].map(free)).toEqual(['a', 'a_2', 'a_4', 'b', 'a_2_2', 'a_5'])
})
