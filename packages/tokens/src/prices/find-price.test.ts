import { expect, it } from 'vitest'
import { createFinder } from './find-price.ts'

const names = [
  'gpt-5',
  'azure/gpt-5',
  'gpt-5*',
  'gpt-5-mini*',
  'azure/gpt*',
  'azure/*',
  'meta-llama/llama-4',
  'meta-llama/*',
  '*-preview',
  'a*b',
  'a*c',
]
const table = Object.fromEntries(names.map((name) => [name, name]))

it.each([
  ['openai', 'gpt-5', 'gpt-5'],
  ['azure', 'gpt-5', 'azure/gpt-5'],
  ['openai', 'gpt-5-mini-2025', 'gpt-5-mini*'],
  ['openai', 'gpt-5-nano', 'gpt-5*'],
  // What stands for one upstream wins, also with fewer characters.
  ['azure', 'gpt-5-mini-2025', 'azure/gpt*'],
  ['azure', 'o5', 'azure/*'],
  ['together', 'meta-llama/llama-4', 'meta-llama/llama-4'],
  ['together', 'meta-llama/llama-3', 'meta-llama/*'],
  ['google', 'gemini-4-preview', '*-preview'],
  // The same weight: the first.
  ['u', 'axb', 'a*b'],
  ['u', 'abc', 'a*c'],
  ['openai', 'o5', undefined],
  ['openai', 'GPT-5', undefined],
  ['openai', '', undefined],
  // The model's name is compared as a whole, wherever the slash stands.
  ['gpt-5', '', undefined],
])('%s and %s: %s', (upstream, model, found) => {
  const find = createFinder(table)
  expect(find(upstream, model)).toBe(found)
  expect(find(upstream, model), 'remembered').toBe(found)
})

it('takes a star for any model, not for any upstream', () => {
  const find = createFinder({ '*': 'any', 'gpt*': 'gpt', '*/gpt-5': 'slashed' })
  expect(find('openai', 'gpt-5')).toBe('gpt')
  expect(find('openai', 'o5')).toBe('any')
  expect(find('router', 'openai/gpt-5')).toBe('slashed')
})

it('prefers an exact name to a pattern of one upstream', () =>
  expect(createFinder({ 'azure/*': 1, 'gpt-5': 2 })('azure', 'gpt-5')).toBe(2))

it('finds the same after more names than it remembers, and in long ones', () => {
  const find = createFinder({
    ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`*a*-${i}-*`, i])),
    'z*': 'z',
  })
  const start = performance.now()
  for (let i = 0; i < 3000; i++) expect(find('u', `client${i}a-${i % 100}-`)).toBe(i % 100)
  expect(find('u', 'clienta-5-')).toBe(5)
  const long = 'a-'.repeat(50_000)
  expect(find('u', long)).toBeUndefined()
  expect(find('u', `z${long}`)).toBe('z')
  expect(find(long, 'z')).toBe('z')
  // Seconds, if patterns were tried with going back.
  expect(performance.now() - start).toBeLessThan(5000)
})
