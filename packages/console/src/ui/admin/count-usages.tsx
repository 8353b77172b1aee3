import { cx } from '../parts/cx.ts'
import { inMoney, whole } from '../parts/figures.ts'
import type { CountUsage } from './contract.ts'
import { timeTextOf } from './token-state.ts'

const names: Readonly<Record<CountUsage['of'], string>> = {
  requests: 'Requests',
  tokens: 'Tokens',
  inputTokens: 'Input tokens',
  outputTokens: 'Output tokens',
  concurrent: 'Concurrent calls',
  money: 'Money',
}

/** Returns an amount of money, or a count. */
const amountOf = (of: CountUsage['of'], amount: number, currency: string | undefined): string =>
  of !== 'money' ? whole.format(amount) : currency === undefined ? String(amount) : inMoney(amount, currency)

export interface CountUsagesProps {
  counts: readonly CountUsage[]
  currency: string | undefined
}

/** Shows the use of limits and budgets as bars, with the time of their reset. */
export function CountUsages({ counts, currency }: CountUsagesProps) {
  return (
    <ul class="count-usages">
      {counts.map((count, index) => {
        const { of, models, limit, used, remaining, resetsAt } = count
        const label = [`${names[of]}${periodOf(count)}`, models?.join(', ')].filter(Boolean).join(' · ')
        const share = limit === 0 ? 1 : Math.min(1, used / limit)
        return (
          <li key={index}>
            <span class="count-label">{label}</span>
            <span class="count-figures">
              {amountOf(of, used, currency)} of {amountOf(of, limit, currency)}
            </span>
            <svg
              class={cx('bar', share >= 1 ? 'failed' : share >= 0.8 && 'nearly')}
              viewBox="0 0 1000 8"
              preserveAspectRatio="none"
              aria-hidden="true"
            >
              <rect class="track" width="1000" height="8" />
              <rect class="span" width={Math.round(share * 1000)} height="8" />
            </svg>
            <span class="count-rest">
              {amountOf(of, remaining, currency)} left{resetsAt === undefined ? '' : `, resets ${timeTextOf(resetsAt)}`}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

/** Returns ` per month`; nothing for counts without a period. */
const periodOf = ({ per }: Pick<CountUsage, 'per'>): string =>
  per === undefined
    ? ''
    : per === 'total'
      ? ' in total'
      : typeof per === 'number'
        ? ` per ${whole.format(per)} s`
        : ` per ${per}`
