/** @typedef {import('@modelgate/tokens').Token} Token */
/** @typedef {import('@modelgate/tokens').TokenUsage} TokenUsage */

/**
 * Lines in columns. Columns of numbers are flush right.
 * @param {readonly string[]} heads @param {readonly (readonly (string | number)[])[]} rows
 */
function table(heads, rows) {
  const lines = [heads, ...rows.map((row) => row.map(cell))]
  const widths = heads.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  const right = heads.map((_, at) => rows.length > 0 && rows.every((row) => typeof row[at] === 'number'))
  return lines
    .map((line) =>
      line
        .map((text, at) => (right[at] ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** What a terminal would take for a command has no place in a name. @param {string | number} value */
const cell = (value) =>
  typeof value === 'number'
    ? value.toLocaleString('en-US', { maximumFractionDigits: 9 })
    : value.replace(/\p{Cc}/gu, '?')

/** @param {number | undefined} time */
const dateOf = (time) => (time === undefined ? '' : new Date(time).toISOString().slice(0, 16).replace('T', ' '))

/** @param {Token} token @param {number} now */
function stateOf({ revokedAt, expiresAt }, now) {
  if (revokedAt !== undefined) return `revoked ${dateOf(revokedAt)}`
  if (expiresAt === undefined) return 'good'
  return expiresAt <= now ? `expired ${dateOf(expiresAt)}` : `good until ${dateOf(expiresAt)}`
}

/** @param {readonly Token[]} tokens @param {number} now */
export const listText = (tokens, now) =>
  tokens.length === 0
    ? 'There is no token yet: `issue` makes one.'
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

/** @param {Token} token */
export const tokenText = (token) =>
  table(
    ['Id', token.id],
    [
      ['Secret', `${token.hint}…`],
      ...(token.name === undefined ? [] : [['Name', token.name]]),
      ...(token.owner === undefined ? [] : [['Owner', token.owner]]),
      ['Models', token.models?.join(', ') ?? 'all'],
      ['Created', `${dateOf(token.createdAt)} UTC`],
      ['State', stateOf(token, Date.now())],
      ...token.limits.map((limit) => ['Limit', JSON.stringify(limit)]),
      ...token.budgets.map((budget) => ['Budget', JSON.stringify(budget)]),
    ],
  )

/** @param {import('@modelgate/tokens').IssuedToken} token */
export const issuedText = ({ secret, ...token }) =>
  `${secret}\n\nThis is the token: keep it now, it is not told again.\n\n${tokenText(token)}`

/** @param {TokenUsage['limits'][number]['per']} per */
const perText = (per) => (typeof per === 'number' ? `${per} s` : (per ?? 'at a time'))

/** @param {TokenUsage} usage */
export function usageText({ from, to, currency, limits, budgets, byDay, byModel, totals }) {
  const money = currency ?? 'MONEY'
  const heads = ['CALLS', 'INPUT', 'CACHED', 'OUTPUT', money, 'UNPRICED']
  /** @param {typeof totals} sums */
  const numbers = ({ calls, inputTokens, cachedTokens, outputTokens, cost, unpriced }) => [
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
      ? 'No call.'
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
