import { ask, queryOf } from '../admin/api.ts'
import type { CountUsage, Sums, TokenTimes } from '../admin/contract.ts'
import { addUp } from '../admin/days.ts'

/** Calls of one token, model and day. */
export interface UsageRow extends Sums {
  /** Id of the token or of another caller; null if the gateway requires no token. */
  readonly token: string | null
  readonly name?: string
  /** Empty for calls that were rejected early. */
  readonly model: string
  readonly day: string
}

export interface TokenSummary extends TokenTimes {
  readonly id: string
  readonly name?: string
  readonly limits: readonly CountUsage[]
  readonly budgets: readonly CountUsage[]
}

export interface UsageReport {
  readonly from: string
  readonly to: string
  /** ISO 4217. Absent: no prices are configured. */
  readonly currency?: string
  readonly source: 'ledger' | 'counters'
  readonly rows: readonly UsageRow[]
  readonly tokens: readonly TokenSummary[]
  /** True if the gateway left rows out. */
  readonly truncated?: true
}

/** Empty filters are not sent. */
export interface UsageQuery {
  readonly from: string
  readonly to: string
  readonly token: string
  readonly model: string
}

const api = 'api/usage'

export async function fetchUsage(token: string, query: UsageQuery, signal: AbortSignal): Promise<UsageReport> {
  return (await ask(api + queryOf({ ...query }), { token, signal })).json()
}

export async function fetchUsageCsv(token: string, query: UsageQuery): Promise<Blob> {
  return (await ask(api + queryOf({ ...query, format: 'csv' }), { token })).blob()
}

export const groupings = [
  { id: 'token', title: 'Token' },
  { id: 'model', title: 'Model' },
  { id: 'day', title: 'Day' },
] as const
export type Grouping = (typeof groupings)[number]['id']

/** Rows with the same values of the chosen fields, added up. */
export interface UsageGroup extends Sums {
  readonly key: string
  readonly token?: string
  readonly model?: string
  readonly day?: string
  readonly cachedTokens: number
}

export const tokenText = ({ token, name }: Pick<UsageRow, 'token' | 'name'>): string =>
  token === null ? 'no token' : (name ?? token)

/** Calls that were rejected early have no model. */
const modelText = (model: string): string => (model === '' ? 'no model' : model)

/** Groups rows by the chosen fields: the latest day first, then the highest cost, then the most calls. */
export function groupRows(rows: readonly UsageRow[], by: readonly Grouping[]): readonly UsageGroup[] {
  const groups = new Map<string, UsageRow[]>()
  for (const row of rows) {
    const key = JSON.stringify(by.map((field) => row[field]))
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return [...groups]
    .flatMap(([key, [first, ...others]]) =>
      first === undefined
        ? []
        : [
            {
              ...addUp([first, ...others]),
              key,
              ...(by.includes('token') ? { token: tokenText(first) } : {}),
              ...(by.includes('model') ? { model: modelText(first.model) } : {}),
              ...(by.includes('day') ? { day: first.day } : {}),
            },
          ],
    )
    .sort(
      (one, other) =>
        (other.day ?? '').localeCompare(one.day ?? '') || other.cost - one.cost || other.calls - one.calls,
    )
}
