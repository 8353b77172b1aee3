import { maxModelsPerDay, otherModels, type Sums, type SumsQuery } from '../../contract/meter-store.ts'

/** Number of days for which sums are kept. */
const keptDays = 400
const dayMs = 86_400_000

const fields = ['calls', 'inputTokens', 'cachedTokens', 'outputTokens', 'cost', 'unpriced'] as const

type Row = { -readonly [F in keyof Sums]: number }

export interface MemorySums {
  add(account: string, day: string, model: string, sums: Sums, now: number): void
  read(query: SumsQuery): readonly ({ readonly day: string; readonly model: string } & Sums)[]
  restore(account: string, day: string, model: string, values: readonly number[]): void
}

/**
 * Creates the sums of calls in memory, by account, day and model.
 *
 * @param onChange receives each row that changes; undefined if it is deleted
 */
export function createMemorySums(
  onChange?: (account: string, day: string, model: string, values: readonly number[] | undefined) => void,
): MemorySums {
  const accounts = new Map<string, Map<string, Map<string, Row>>>()

  const rowOf = (account: string, day: string, model: string): Row => {
    const days = accounts.get(account) ?? new Map<string, Map<string, Row>>()
    accounts.set(account, days)
    const models = days.get(day) ?? new Map<string, Row>()
    days.set(day, models)
    const row = models.get(model) ?? {
      calls: 0,
      inputTokens: 0,
      cachedTokens: 0,
      outputTokens: 0,
      cost: 0,
      unpriced: 0,
    }
    models.set(model, row)
    return row
  }
  /** Deletes the rows of days that are no longer kept. Called with an account's first call of each day. */
  const dropOld = (account: string, now: number): void => {
    const days = accounts.get(account)
    if (days === undefined) return
    const oldest = new Date(now - keptDays * dayMs).toISOString().slice(0, 10)
    for (const [day, models] of days) {
      if (day >= oldest) continue
      days.delete(day)
      for (const model of models.keys()) onChange?.(account, day, model, undefined)
    }
  }

  return {
    add(account, day, requestedModel, sums, now) {
      if (accounts.get(account)?.has(day) !== true) dropOld(account, now)
      const names = accounts.get(account)?.get(day)
      const hasRoom = names === undefined || names.has(requestedModel) || names.size < maxModelsPerDay
      const model = hasRoom ? requestedModel : otherModels
      const row = rowOf(account, day, model)
      for (const field of fields) row[field] += sums[field]
      onChange?.(
        account,
        day,
        model,
        fields.map((field) => row[field]),
      )
    },
    read({ tokenId: account, from, to }) {
      const days = [...(accounts.get(account) ?? [])].filter(([day]) => day >= from && day <= to)
      return days
        .sort(byName)
        .flatMap(([day, models]) => [...models].sort(byName).map(([model, row]) => ({ day, model, ...row })))
    },
    restore(account, day, model, values) {
      const row = rowOf(account, day, model)
      fields.forEach((field, at) => {
        row[field] = values[at] ?? 0
      })
    },
  }
}

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : 1
