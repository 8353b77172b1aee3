import type { Budget, Period } from '../token.ts'
import { checkKeys, countOf, listOf, modelsOf, shown, wrong } from './check-counts.ts'

const known = ['models', 'period', 'money', 'tokens']
const periods: readonly unknown[] = ['day', 'week', 'month', 'total']
/** Its billionths are counted exactly. */
const mostMoney = 1e6

/**
 * The budgets of a token as they are kept. Throws a GatewayError `invalid_request` whose `param` is the field at fault, such as
 * `budget.money`.
 */
export function checkBudgets(value: unknown): readonly Budget[] {
  return listOf(value, 'budget', '{ money: 20, period: "month" }').map((one, at) => {
    const place = Array.isArray(value) ? `budget[${at}]` : 'budget'
    checkKeys(one, place, known)
    const { period, money } = one
    if (!periods.includes(period))
      throw wrong(
        `'${place}.period' is ${period === undefined ? 'missing' : shown(period)}: give ${periods.join(', ')}.`,
        `${place}.period`,
      )
    if ((money === undefined) === (one.tokens === undefined))
      throw wrong(`'${place}' has to hold exactly one of money and tokens.`, place)
    const models = modelsOf(one, place)
    const about = { ...(models === undefined ? {} : { models }), period: period as Period }
    if (money === undefined) return { ...about, tokens: countOf(one, 'tokens', place, 0) ?? 0 } satisfies Budget
    if (typeof money !== 'number' || !(money >= 0 && money <= mostMoney))
      throw wrong(
        `'${place}.money' is ${shown(money)}: give an amount from 0 to ${mostMoney} in the currency of the prices, such as 20.`,
        `${place}.money`,
      )
    return { ...about, money } satisfies Budget
  })
}
