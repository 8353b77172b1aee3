import { expect, it } from 'vitest'
import { diffWords } from './word-diff.ts'

it.each([
  ['', '', []],
  ['a b', 'a b', [['both', 'a b']]],
  ['a  b', 'a\nb', [['both', 'a  b']]],
  [
    'the old fox runs',
    'the fox runs fast',
    [
      ['both', 'the '],
      ['first', 'old '],
      ['both', 'fox runs'],
      ['second', 'fast'],
    ],
  ],
  ['a', '', [['first', 'a']]],
  ['', 'a', [['second', 'a']]],
])('compares %j with %j by words', (first, second, wanted) => {
  const { parts, isCut } = diffWords(first, second)
  expect(parts.map((part) => [part.in, part.text])).toEqual(wanted)
  expect(isCut).toBe(false)
})

it('compares only the first words of long texts, and reports it', () => {
  const long = 'word '.repeat(100_000)
  const { parts, isCut } = diffWords(long, 'word')
  expect(isCut).toBe(true)
  expect(parts.reduce((sum, { text }) => sum + text.length, 0)).toBe(1500 * 5)
})
