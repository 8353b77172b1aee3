import { CountUsages } from '../admin/count-usages.tsx'
import { stateOf } from '../admin/token-state.ts'
import { cx } from '../parts/cx.ts'
import type { TokenSummary } from './usage-report.ts'

export interface TokenBudgetsProps {
  tokens: readonly TokenSummary[]
  currency: string | undefined
}

/** Shows what is left of the budgets and limits of each token, now. */
export function TokenBudgets({ tokens, currency }: TokenBudgetsProps) {
  const limited = tokens.filter(({ limits, budgets }) => limits.length + budgets.length > 0)
  return (
    <section class="card admin-part" aria-labelledby="budgets">
      <h2 id="budgets">Budgets and limits now</h2>
      {limited.length === 0 ? (
        <p class="inspect-empty">
          {tokens.length === 0 ? 'There is no token to show.' : 'These tokens have no budgets and no limits.'}
        </p>
      ) : (
        <ul class="token-budgets">
          {limited.map((token) => {
            const { text, look } = stateOf(token)
            return (
              <li key={token.id}>
                <p class="token-name">
                  <a href={`tokens#id=${encodeURIComponent(token.id)}`}>{token.name ?? token.id}</a>
                  {text === 'active' ? null : <span class={cx('chip', look)}>{text}</span>}
                </p>
                <CountUsages counts={[...token.budgets, ...token.limits]} currency={currency} />
              </li>
            )
          })}
        </ul>
      )}
    </section>
  )
}
