import { expect, it } from 'vitest'
import { didYouMean, nearest } from './did-you-mean.ts'

const commands = ['start', 'init', 'check', 'tokens']

it.each([
  ['strat', 'start'],
  ['chekc', 'check'],
  ['token', 'tokens'],
  ['INIT', 'init'],
  ['serve', undefined],
])('%s: %s was meant', (word, meant) => {
  expect(nearest(word, commands)).toBe(meant)
})

it('says what there is where nothing is near', () => {
  expect(didYouMean('strat', commands)).toBe(": did you mean 'start'?")
  expect(didYouMean('serve', commands)).toBe(': there are start, init, check, tokens')
})
