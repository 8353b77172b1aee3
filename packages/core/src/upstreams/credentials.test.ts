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
})
