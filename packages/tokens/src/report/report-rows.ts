/** Calls of one token, model and day. */
export interface UsageReportRow {
  /** Id of the token or of another caller. Null: the gateway required no token. */
  readonly token: string | null
  /** Name of the issued token. */
  readonly name?: string
  /** The model name that clients sent. */
  readonly model: string
  /** In UTC, `2026-11-21`. */
  readonly day: string
  readonly calls: number
  /** Calls that ended with an error. Only a ledger contains them. */
  readonly failed?: number
  readonly inputTokens: number
  /** Input tokens that were read from a cache. */
  readonly cachedTokens: number
  readonly outputTokens: number
  /** Cost of the calls whose cost is known, in the currency of the report. */
  readonly cost: number
  /** Calls with an unknown cost, or one in another currency. */
  readonly unpriced: number
}

/** Highest number of rows in a report. */
export const maxReportRows = 10_000

/** Returns the rows by day, token and model. Calls without a token are first. */
export const orderRows = (rows: readonly UsageReportRow[]): readonly UsageReportRow[] =>
  [...rows].sort(
    (one, other) =>
      compare(one.day, other.day) || compare(one.token ?? '', other.token ?? '') || compare(one.model, other.model),
  )

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
