/** @typedef {{ [name: string]: string | boolean | string[] | undefined }} Values */

const text = /** @type {const} */ ({ type: 'string' })

/** What `issue` can be told. */
export const settingOptions = {
  name: text,
  owner: text,
  models: /** @type {const} */ ({ type: 'string', multiple: true }),
  expires: text,
  'requests-per-minute': text,
  'tokens-per-minute': text,
  concurrent: text,
  'budget-usd': text,
  'budget-tokens': text,
  per: text,
}

const unitMs = /** @type {const} */ ({ h: 3_600_000, d: 86_400_000, w: 604_800_000 })
const periods = /** @type {const} */ (['day', 'week', 'month', 'total'])

/**
 * The settings of a token as they were given on the command line. What is wrong with them is found out when it is issued.
 * @param {Values} values @returns {import('@modelgate/tokens').TokenSettings}
 */
export function readSettings(values) {
  const { name, owner, models, expires, concurrent } = values
  const limit = {
    ...numbered('requests', values['requests-per-minute'], '--requests-per-minute'),
    ...numbered('tokens', values['tokens-per-minute'], '--tokens-per-minute'),
    ...numbered('concurrent', concurrent, '--concurrent'),
  }
  const period = periods.find((one) => one === (values.per ?? 'month'))
  if (period === undefined) throw new Error(`--per is '${values.per}': it is one of ${periods.join(', ')}`)
  const budgets = [
    numbered('money', values['budget-usd'], '--budget-usd'),
    numbered('tokens', values['budget-tokens'], '--budget-tokens'),
  ].flatMap((budget) => (Object.keys(budget).length === 0 ? [] : [{ period, ...budget }]))
  return {
    ...(typeof name === 'string' ? { name } : {}),
    ...(typeof owner === 'string' ? { owner } : {}),
    ...(Array.isArray(models)
      ? { models: models.flatMap((list) => list.split(',')).map((model) => model.trim()) }
      : {}),
    ...(typeof expires === 'string' ? { expiresAt: readExpiry(expires) } : {}),
    ...(Object.keys(limit).length > 0 ? { limits: limit } : {}),
    ...(budgets.length > 0 ? { budget: budgets } : {}),
  }
}

/** A date, or how long from now: `30d`. @param {string} expires */
function readExpiry(expires) {
  const [, count, unit] = /^(\d+)([hdw])$/.exec(expires) ?? []
  return unit === undefined ? expires : Date.now() + Number(count) * unitMs[/** @type {keyof typeof unitMs} */ (unit)]
}

/** @template {string} F @param {F} field @param {Values[string]} value @param {string} option @returns {{ [name in F]?: number }} */
function numbered(field, value, option) {
  if (value === undefined) return {}
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN
  if (Number.isNaN(number)) throw new Error(`${option} is '${value}': it is a number`)
  return /** @type {{ [name in F]?: number }} */ ({ [field]: number })
}
