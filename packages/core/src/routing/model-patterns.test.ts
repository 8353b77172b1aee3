import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fillStars, matchesModel, namePattern } from './model-patterns.ts'

describe('a model name with stars', () => {
  it.each([
    ['gpt-4o', 'gpt-4o', []],
    ['gpt-4o', 'gpt-4o-mini', undefined],
    ['', '', []],
    ['*', 'anything/at all', ['anything/at all']],
    ['*', '', ['']],
    ['**', 'ab', ['', 'ab']],
    ['gpt-*', 'gpt-', ['']],
    ['gpt-*', 'gpt-4o', ['4o']],
    ['gpt-*', 'xgpt-4o', undefined],
    ['*-mini', 'gpt-4o-mini', ['gpt-4o']],
    ['*-mini', 'gpt-4o-mini-1', undefined],
    ['eu/*-mini', 'eu/gpt-mini', ['gpt']],
    ['eu/*/*', 'eu/openai/gpt/4', ['openai', 'gpt/4']],
    ['*/*-mini', 'openai/gpt-mini', ['openai', 'gpt']],
    ['*a*a', 'aaa', ['', 'a']],
    ['*ab*ab*', 'xabyabz', ['x', 'y', 'z']],
    ['*ab*ab*', 'xaby', undefined],
    // Two stars cannot match the same characters.
    ['ab*ba', 'aba', undefined],
    ['ab*ba', 'abba', ['']],
    ['a*b*b', 'ab', undefined],
    ['a.c', 'abc', undefined],
    ['(a+)+$*', '(a+)+$', ['']],
    ['[*]', '[x]', ['x']],
    ['a\nb*', 'a\nbc', ['c']],
  ])('%j is matched against %j', (pattern, name, stars) => {
    expect(namePattern(pattern).match(name)).toEqual(stars)
    expect(matchesModel(name, ['no', pattern])).toBe(stars !== undefined)
  })

  it.each([
    ['gpt-4o', 6],
    ['gpt-*', 4],
    ['*', 0],
    ['a*b**c', 3],
  ])('%s has the weight %i', (pattern, weight) => expect(namePattern(pattern).weight).toBe(weight))

  it('is not matched by an empty list', () => expect(matchesModel('gpt-4o', [])).toBe(false))
})

/** A slow reference implementation: every star matches as much as possible. */
function naive(pattern: string, name: string): boolean {
  if (pattern === '') return name === ''
  const [first, ...rest] = pattern
  if (first !== '*') return name[0] === first && naive(rest.join(''), name.slice(1))
  for (let length = 0; length <= name.length; length++) if (naive(rest.join(''), name.slice(length))) return true
  return false
}

const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 })
const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 })

describe('the matcher for any pattern and name', () => {
  it('finds a match if and only if one exists', () =>
    fc.assert(
      fc.property(patterns, letters, (pattern, name) => {
        expect(namePattern(pattern).match(name) !== undefined).toBe(naive(pattern, name))
      }),
      { numRuns: 2000 },
    ))

  it('returns stars that restore the name', () =>
    fc.assert(
      fc.property(patterns, letters, (pattern, name) => {
        const stars = namePattern(pattern).match(name)
        if (stars !== undefined) expect(fillStars(pattern, stars)).toBe(name)
      }),
      { numRuns: 2000 },
    ))
})

/** A text that counts its searches. */
class Watched extends String {
  searches = 0
  override indexOf(text: string, from = 0): number {
    this.searches++
    return super.indexOf(text, from)
  }
}

describe('a hostile name', () => {
  it.each([
    ['*a*a*a*b', 200],
    ['*a*a*a*a*a*b', 200],
    ['*a*a*a*b', 100_000],
    ['*a*a*a*a*a*b', 100_000],
    ['*a*a*a*a*a*ab*', 100_000],
    ['a*aa*aa*aa*aa*ab', 100_000],
    ['*b*a*a*a*a*', 100_000],
  ])('is searched for %s at most once per star in %i letters', (pattern, length) => {
    const watched = new Watched('a'.repeat(length))
    expect(namePattern(pattern).match(watched as unknown as string)).toBeUndefined()
    expect(watched.searches).toBeLessThan(pattern.split('*').length)
  })

  it('that matches is split correctly', () => {
    const name = 'a'.repeat(100_000)
    expect(namePattern('*a*a*a*a*a*a').match(name)).toEqual(['', '', '', '', '', 'a'.repeat(99_994)])
  })
})

it.each([
  ['fixed', ['x'], 'fixed'],
  ['*', ['x'], 'x'],
  ['openai/*', ['x/y'], 'openai/x/y'],
  ['*-to-*', ['a', 'b'], 'a-to-b'],
  ['*-to-*', ['a'], 'a-to-'],
  ['*', [], ''],
  ['*', ['a', 'b'], 'a'],
  ['*', ['*'], '*'],
  ['*', ['$&'], '$&'],
])('fills %s with %j to %s', (name, stars, filled) => expect(fillStars(name, stars)).toBe(filled))
