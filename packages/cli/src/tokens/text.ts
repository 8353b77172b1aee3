import type { Budget, IssuedToken, Limit, Owner, Token, Usage, UsageSums } from '@modelgate/tokens'
import { table } from '../terminal/format.ts'

const dateOf = (time: number | undefined): string =>
  time === undefined ? '' : new Date(time).toISOString().slice(0, 16).replace('T', ' ')

function stateOf({ revokedAt, expiresAt }: Token, now: number): string {
  if (revokedAt !== undefined) return `revoked ${dateOf(revokedAt)}`
  if (expiresAt === undefined) return 'valid'
  return expiresAt <= now ? `expired ${dateOf(expiresAt)}` : `valid until ${dateOf(expiresAt)}`
}

export const listText = (tokens: readonly Token[], now: number): string =>
  tokens.length === 0
    ? 'No tokens yet. Run `modelgate tokens issue` to create one.'
    : table(
        ['ID', 'SECRET', 'NAME', 'OWNER', 'MODELS', 'CREATED (UTC)', 'STATE'],
        tokens.map((token) => [
          token.id,
          `${token.hint}…`,
          token.name ?? '',
          token.owner ?? '',
          token.models?.join(',') ?? '*',
          dateOf(token.createdAt),
          stateOf(token, now),
        ]),
      )

export const tokenText = (token: Token): string =>
  table(
    ['Id', token.id],
    [
      ['Secret', `${token.hint}…`],
      ...(token.name === undefined ? [] : [['Name', token.name]]),
      ...(token.owner === undefined ? [] : [['Owner', token.owner]]),
      ['Models', token.models?.join(', ') ?? 'all'],
      ['Created', `${dateOf(token.createdAt)} UTC`],
      ['State', stateOf(token, Date.now())],
      ...token.limits.map((limit) => ['Limit', limitText(limit)]),
      ...token.budgets.map((budget) => ['Budget', budgetText(budget)]),
    ],
  )

export const ownerListText = (owners: readonly Owner[]): string =>
  owners.length === 0
    ? 'No owner has limits or budgets yet. Run `modelgate owners set` to add some.'
    : table(
        ['OWNER', 'LIMITS', 'BUDGETS', 'CHANGED (UTC)'],
        owners.map(({ owner, limits, budgets, updatedAt }) => [
          owner,
          limits.map(limitText).join('; '),
          budgets.map(budgetText).join('; '),
          dateOf(updatedAt),
        ]),
      )

export const ownerText = ({ owner, limits, budgets, updatedAt }: Owner): string =>
  table(
    ['Owner', owner],
    [
      ['Changed', `${dateOf(updatedAt)} UTC`],
      ...limits.map((limit) => ['Limit', limitText(limit)]),
      ...budgets.map((budget) => ['Budget', budgetText(budget)]),
    ],
  )

const count = new Intl.NumberFormat('en')

/** `60 requests per minute, 4 concurrent calls (gpt-*)`. */
function limitText({
  models,
  window = 'minute',
  requests,
  tokens,
  inputTokens,
  outputTokens,
  concurrent,
}: Limit): string {
  const per = typeof window === 'number' ? `per ${window} s` : `per ${window}`
  const rates = [
    [requests, 'requests'],
    [tokens, 'tokens'],
    [inputTokens, 'input tokens'],
    [outputTokens, 'output tokens'],
  ] as const
  const texts = rates.flatMap(([most, of]) => (most === undefined ? [] : [`${count.format(most)} ${of} ${per}`]))
  if (concurrent !== undefined) texts.push(`${count.format(concurrent)} concurrent calls`)
  return texts.join(', ') + modelsText(models)
}

/** `5 (currency of the prices) per month`. */
function budgetText({ models, period, money, tokens }: Budget): string {
  const amount = money === undefined ? `${count.format(tokens ?? 0)} tokens` : `${money} (currency of the prices)`
  return `${amount} ${period === 'total' ? 'in total' : `per ${period}`}${modelsText(models)}`
}

const modelsText = (models: Limit['models']): string => (models === undefined ? '' : ` (${[models].flat().join(', ')})`)

export const issuedText = ({ secret, ...token }: IssuedToken): string =>
  `${secret}\n\nCopy this token now. It won't be shown again.\n\n${tokenText(token)}`

const perText = (per: Usage['limits'][number]['per']): string =>
  typeof per === 'number' ? `${per} s` : (per ?? 'at a time')

export function usageText({ from, to, currency, limits, budgets, byDay, byModel, totals }: Usage): string {
  const money = currency ?? 'MONEY'
  const heads = ['CALLS', 'INPUT', 'CACHED', 'OUTPUT', money, 'UNPRICED']
  const numbers = ({ calls, inputTokens, cachedTokens, outputTokens, cost, unpriced }: UsageSums): number[] => [
    calls,
    inputTokens,
    cachedTokens,
    outputTokens,
    cost,
    unpriced,
  ]
  const states = [...limits, ...budgets]
  return [
    ...(states.length === 0
      ? []
      : [
          table(
            ['PER', 'OF', 'MODELS', 'LIMIT', 'USED', 'LEFT', 'RESETS (UTC)'],
            states.map((state) => [
              perText(state.per),
              state.of === 'money' ? money : state.of,
              state.models?.join(',') ?? '*',
              state.limit,
              state.used,
              state.remaining,
              dateOf(state.resetsAt),
            ]),
          ),
          '',
        ]),
    `${from} to ${to}`,
    '',
    byDay.length === 0
      ? 'No calls.'
      : [
          table(
            ['DAY', ...heads],
            byDay.map((row) => [row.day, ...numbers(row)]),
          ),
          table(
            ['MODEL', ...heads],
            [...byModel.map((row) => [row.model, ...numbers(row)]), ['all', ...numbers(totals)]],
          ),
        ].join('\n\n'),
  ].join('\n')
}
