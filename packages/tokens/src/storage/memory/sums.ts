import { maxModelsPerDay, otherModels, type Sums, type SumsQuery } from '../../contract/meter-store.ts'

/** Number of days for which sums are kept. */
const keptDays = 400
const dayMs = 86_400_000

const fields = ['calls', 'inputTokens', 'cachedTokens', 'outputTokens', 'cost', 'unpriced'] as const

type Row = { -readonly [F in keyof Sums]: number }

export interface MemorySums {
  add(tokenId: string, day: string, model: string, sums: Sums, now: number): void
  read(query: SumsQuery): readonly ({ readonly day: string; readonly model: string } & Sums)[]
  restore(tokenId: string, day: string, model: string, values: readonly number[]): void
}

/**
 * Creates the sums of calls in memory, by token, day and model.
 *
 * @param onChange receives each row that changes; undefined if it is deleted
 */
export function createMemorySums(
  onChange: (tokenId: string, day: string, model: string, values: readonly number[] | undefined) => void,
): MemorySums {
  const tokens = new Map<string, Map<string, Map<string, Row>>>()

  const rowOf = (tokenId: string, day: string, model: string): Row => {
    const days = tokens.get(tokenId) ?? new Map<string, Map<string, Row>>()
    tokens.set(tokenId, days)
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
  /** Deletes the rows of days that are no longer kept. Called with a token's first call of each day. */
  const dropOld = (tokenId: string, now: number): void => {
    const days = tokens.get(tokenId)
    if (days === undefined) return
    const oldest = new Date(now - keptDays * dayMs).toISOString().slice(0, 10)
    for (const [day, models] of days) {
      if (day >= oldest) continue
      days.delete(day)
      for (const model of models.keys()) onChange(tokenId, day, model, undefined)
    }
  }

  return {
    add(tokenId, day, requestedModel, sums, now) {
      if (tokens.get(tokenId)?.has(day) !== true) dropOld(tokenId, now)
      const names = tokens.get(tokenId)?.get(day)
      const hasRoom = names === undefined || names.has(requestedModel) || names.size < maxModelsPerDay
      const model = hasRoom ? requestedModel : otherModels
      const row = rowOf(tokenId, day, model)
      for (const field of fields) row[field] += sums[field]
      onChange(
        tokenId,
        day,
        model,
        fields.map((field) => row[field]),
      )
    },
    read({ tokenId, from, to }) {
      const days = [...(tokens.get(tokenId) ?? [])].filter(([day]) => day >= from && day <= to)
      return days
        .sort(byName)
        .flatMap(([day, models]) => [...models].sort(byName).map(([model, row]) => ({ day, model, ...row })))
    },
    restore(tokenId, day, model, values) {
      const row = rowOf(tokenId, day, model)
      fields.forEach((field, at) => {
        row[field] = values[at] ?? 0
      })
    },
  }
}

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : 1
