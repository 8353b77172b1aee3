import { GatewayError } from '@modelgate/core'

/** Which days to tell of, both included, in UTC: `2026-11-21`. Default: the last 30, today among them. */
export interface UsageQuery {
  readonly from?: string
  readonly to?: string
}

const dayMs = 86_400_000
const defaultDays = 30
const mostDays = 400

/** The days asked for. Throws a GatewayError `invalid_request` with `param`. */
export function daysOf(query: UsageQuery, now: number): { readonly from: string; readonly to: string } {
  const to = startOf(query.to, 'to') ?? Math.floor(now / dayMs) * dayMs
  const from = startOf(query.from, 'from') ?? to - (defaultDays - 1) * dayMs
  if (from > to) throw wrong('from', `'from' is ${dayOf(from)}, which is after 'to', ${dayOf(to)}.`)
  if ((to - from) / dayMs >= mostDays)
    throw wrong('from', `${dayOf(from)} to ${dayOf(to)} is too long: ask for ${mostDays} days at most.`)
  return { from: dayOf(from), to: dayOf(to) }
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

function startOf(day: string | undefined, param: string): number | undefined {
  if (day === undefined) return undefined
  const time = typeof day === 'string' && /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : Number.NaN
  // There is no 31st of February, which some runtimes take for the 3rd of March.
  if (Number.isNaN(time) || dayOf(time) !== day)
    throw wrong(param, `'${param}' is '${String(day).slice(0, 50)}': it is a day such as 2026-11-21.`)
  return time
}

const wrong = (param: string, message: string): GatewayError => new GatewayError('invalid_request', message, { param })
