import { isThenable, settleWithin } from '../base/async.ts'
import { typeNameOf } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import { admitWithoutModel } from '../calls/admit-without-model.ts'
import { admissionHeaders, jsonReply } from '../calls/reply.ts'
import type { CallerBudget } from '../config/admission.ts'
import type { Plugin } from '../config/plugin.ts'
import type { Handler, RoutedCall } from './route.ts'

/** OpenRouter's credits are US dollars. */
const currency = 'USD'

/**
 * Returns the caller's budget in the form of OpenRouter's credits. Of several budgets, the one with the least left is returned: it is the one
 * that rejects calls first. Budgets of some models only are no credits of the caller.
 */
export const handleGetCredits: Handler = async (call) => {
  await admitWithoutModel(call)
  const plugins = call.shared.plugins.filter(({ budgetsOf }) => budgetsOf !== undefined)
  if (plugins.length === 0)
    throw new GatewayError(
      'not_implemented',
      `GET ${call.route.path} is not available: this gateway has no budgets in money. Its operator must configure prices.`,
    )
  const budgets: CallerBudget[] = []
  for (const plugin of plugins) budgets.push(...(await budgetsFrom(plugin, call)))
  const [budget] = budgets
    .filter((one) => one.currency === currency && one.models === undefined)
    .sort((one, other) => left(one) - left(other))
  if (budget === undefined)
    throw new GatewayError(
      'not_found',
      'Your token has no budget in US dollars for all models, so it has no number of credits.',
    )
  const reply = jsonReply(call.record, { data: { total_credits: budget.limit, total_usage: budget.used } })
  Object.assign(reply.headers, admissionHeaders(call.record))
  return reply
}

const left = ({ limit, used }: CallerBudget): number => limit - used

async function budgetsFrom(plugin: Plugin, { record, shared, signal }: RoutedCall): Promise<readonly CallerBudget[]> {
  const name = `budgetsOf of plugin '${plugin.name}'`
  const returned: unknown = plugin.budgetsOf?.(record.identity)
  const budgets: unknown = isThenable(returned)
    ? await settleWithin(returned, { name, ms: shared.limits.callbackMs, signal })
    : returned
  if (budgets === undefined || budgets === null) return []
  if (Array.isArray(budgets) && budgets.every(isBudget)) return budgets
  if (Array.isArray(budgets))
    throw new TypeError(`${name} must return a list of { currency, limit, used } with amounts of 0 or more`)
  throw new TypeError(`${name} returned ${typeNameOf(budgets)}: return a list such as [{ currency, limit, used }]`)
}

const isAmount = (value: unknown): boolean => typeof value === 'number' && value >= 0 && Number.isFinite(value)

function isBudget(value: unknown): value is CallerBudget {
  if (typeof value !== 'object' || value === null) return false
  const { currency, limit, used } = value as Partial<CallerBudget>
  return typeof currency === 'string' && isAmount(limit) && isAmount(used)
}
