import { expect, it } from 'vitest'
import { didYouMean, nearest } from './did-you-mean.ts'

const commands = ['start', 'init', 'check', 'tokens']

it.each([
  ['strat', 'start'],
  ['chekc', 'check'],
  ['token', 'tokens'],
  ['INIT', 'init'],
  ['serve', undefined],
])('suggests for %s the word %s', (word, suggestion) => {
  expect(nearest(word, commands)).toBe(suggestion)
})

it('lists all words if none is similar', () => {
  expect(didYouMean('strat', commands)).toBe("Did you mean 'start'?")
  expect(didYouMean('serve', commands)).toBe('Valid: start, init, check, tokens.')
})
