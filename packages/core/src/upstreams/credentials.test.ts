import { describe, expect, it } from 'vitest'
import { bearer, credentials } from './credentials.ts'
import type { ApiKey } from './upstream.ts'

const own = { 'x-version': '1' }

describe('credentials', () => {
  it.each<[string, ApiKey | undefined, ReturnType<typeof credentials>]>([
    ['none', undefined, { headers: own }],
    ['one key', 'k', { headers: { authorization: 'Bearer k', ...own } }],
    ['a list of one', ['k'], { headers: { authorization: 'Bearer k', ...own } }],
    ['a list of one with a weight', [{ key: 'k', weight: 4 }], { headers: { authorization: 'Bearer k', ...own } }],
    [
      'several',
      ['k', { key: 'l', weight: 0.5 }, { key: 'm' }],
      {
        headers: own,
        keys: [
          { headers: { authorization: 'Bearer k' }, weight: 1 },
          { headers: { authorization: 'Bearer l' }, weight: 0.5 },
          { headers: { authorization: 'Bearer m' }, weight: 1 },
        ],
      },
    ],
  ])('%s', (_, apiKey, expected) => expect(credentials(apiKey, bearer, own)).toEqual(expected))

  it('lose to a header that the configuration sets', () =>
    expect(credentials('k', bearer, { authorization: 'Basic x' })).toEqual({ headers: { authorization: 'Basic x' } }))

  it.each<[string, unknown, string]>([
    ['an empty list', [], 'apiKey is an empty list: give at least one key, or leave it out'],
    ['an empty key', ['k', ''], 'apiKey holds an entry without a key'],
    ['an entry without a key', [{ weight: 1 }], 'apiKey holds an entry without a key'],
    ['a key that is no text', [{ key: 5 }], 'apiKey holds an entry without a key'],
    ['weight 0', [{ key: 'sk-1', weight: 0 }], 'apiKey holds a weight of 0: write a number greater than 0'],
    ['weight -1', [{ key: 'sk-1', weight: -1 }], 'apiKey holds a weight of -1: write a number greater than 0'],
    ['no number', [{ key: 'sk-1', weight: Number.NaN }], 'apiKey holds a weight of NaN: write a number greater than 0'],
    ['endless', [{ key: 'sk-1', weight: 1 / 0 }], 'apiKey holds a weight of Infinity: write a number greater than 0'],
    ['null', [{ key: 'sk-1', weight: null }], 'apiKey holds a weight of null: write a number greater than 0'],
  ])('refuses %s, without a word of a key', (_, apiKey, message) =>
    expect(() => credentials(apiKey as ApiKey, bearer, own)).toThrow(new TypeError(message)),
  )
})
