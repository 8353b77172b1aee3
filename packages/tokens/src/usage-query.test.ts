import { describe, expect, it } from 'vitest'
import { daysOf } from './usage-query.ts'

const now = Date.parse('2026-11-21T23:59:59Z')

describe('the days asked for', () => {
  it.each([
    ['the last 30', {}, '2026-10-23', '2026-11-21'],
    ['since a day', { from: '2026-11-20' }, '2026-11-20', '2026-11-21'],
    ['30 until a day', { to: '2026-03-01' }, '2026-01-31', '2026-03-01'],
    ['one', { from: '2024-02-29', to: '2024-02-29' }, '2024-02-29', '2024-02-29'],
  ])('%s', (_, query, from, to) => {
    expect(daysOf(query, now)).toEqual({ from, to })
  })

  it.each([
    ['from', { from: 'yesterday' }],
    ['from', { from: '2026-02-30' }],
    ['to', { to: '2026-13-01' }],
    ['to', { to: '2026-11-21T00:00:00Z' }],
    ['from', { from: '2026-11-22' }],
    ['from', { from: '2020-01-01' }],
    ['from', { from: 20261101 as unknown as string }],
  ])('refuses %s as in %o', (param, query) => {
    expect(() => daysOf(query, now)).toThrow(expect.objectContaining({ info: expect.objectContaining({ param }) }))
  })
})
