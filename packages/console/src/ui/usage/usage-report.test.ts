import type {
  TokenUsage as IssuedTokenUsage,
  UsageReport as ServerReport,
  Token as ServerToken,
} from '@modelgate/tokens'
import { expect, expectTypeOf, it } from 'vitest'
import type { Token, TokenUsage } from '../tokens/tokens-api.ts'
import { type Grouping, groupRows, type UsageReport, type UsageRow } from './usage-report.ts'

const row = (token: string | null, model: string, day: string, calls: number, cost = calls): UsageRow => ({
  token,
  ...(token === 'tok_1' ? { name: 'laptop' } : {}),
  model,
  day,
  calls,
  inputTokens: 1,
  outputTokens: 1,
  cost,
  unpriced: 0,
})

const rows = [
  row('tok_1', 'a', '2026-11-23', 1),
  row('tok_1', 'b', '2026-11-24', 2),
  row('tok_2', 'a', '2026-11-24', 3, 0),
  row(null, '', '2026-11-24', 4, 0),
]

it.each<[readonly Grouping[], unknown]>([
  [[], [[undefined, undefined, undefined, 10]]],
  [
    ['token'],
    [
      ['laptop', undefined, undefined, 3],
      ['no token', undefined, undefined, 4],
      ['tok_2', undefined, undefined, 3],
    ],
  ],
  [
    ['day', 'model'],
    [
      [undefined, 'b', '2026-11-24', 2],
      [undefined, 'no model', '2026-11-24', 4],
      [undefined, 'a', '2026-11-24', 3],
      [undefined, 'a', '2026-11-23', 1],
    ],
  ],
])('groups rows by %j: the latest day, the highest cost and the most calls first', (by, groups) => {
  expect(groupRows(rows, by).map(({ token, model, day, calls }) => [token, model, day, calls])).toEqual(groups)
})

it('describes the responses of the gateway in the types of the pages', () => {
  expectTypeOf<ServerReport>().toExtend<UsageReport>()
  expectTypeOf<IssuedTokenUsage>().toExtend<TokenUsage>()
  expectTypeOf<ServerToken>().toExtend<Token>()
})
