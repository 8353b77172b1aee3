import type { Awaitable } from '../base/async.ts'
import type { Budget, Period } from './token.ts'

/**
 * One quantity that counts against a limit. Amounts are integers: requests, tokens, or billionths of the currency unit.
 * - `window`: a sliding window, approximated by two fixed ones: the count of the current window, plus the count of the previous one,
 *   weighted by the part of it that the sliding window still covers.
 * - `period`: a calendar period in UTC.
 * - `concurrent`: running calls; amounts are 1.
 */
export type Meter = {
  /** Identifies the counter of an account: `window:gpt-*:60000:requests`. */
  readonly name: string
  /** Account whose counter this is, such as that of the token's owner. Default: the account of the call, its `tokenId`. */
  readonly account?: string | undefined
  readonly limit: number
  /** Amount to reserve for the call; 0 to only read the meter. */
  readonly amount: number
  /**
   * Room that the meter must have for the call: less than `amount` if that is a guess, more than it if `amount` is 0. The whole
   * `amount` is reserved in any case. Below 0 if the use includes an earlier reservation of the same call. Default: `amount`.
   */
  readonly least?: number | undefined
  /** Only for periods: reports when the use reaches one of some amounts. */
  readonly notice?: Notice | undefined
} & (
  | { readonly kind: 'window'; readonly windowMs: number }
  | { readonly kind: 'period'; readonly period: Period }
  | { readonly kind: 'concurrent' }
)

/** Amounts of use that are reported when a settlement finds that they are reached, each once in a period. */
export interface Notice {
  /** Ascending. */
  readonly amounts: readonly number[]
  /** The parts of the limit from which `amounts` were computed: 0.8. */
  readonly fractions: readonly number[]
  /** Returned with the report. Stores do not read it. */
  readonly budget: Budget
}

/** The use of a meter has reached an amount of its `notice`. */
export interface ReachedAmount {
  readonly account: string
  readonly meter: Meter
  /** Index of the amount in `notice.amounts`. */
  readonly index: number
  readonly used: number
  readonly resetsAt?: number
}

/**
 * Owner with whose counters those of a token are stored. Only stores whose data is distributed need it: counters of one place change in one
 * step.
 */
export interface Home {
  /** Null: the token has no owner. */
  readonly owner: string | null
  /** Owners that the token had before, one for each change. */
  readonly former?: readonly (string | null)[]
}

const ownerPrefix = 'owner:'
/** Returns the account of an owner. Ids of tokens have no colon. */
export const ownerAccount = (owner: string): string => ownerPrefix + owner
/** Returns the owner of an account; undefined for the account of a token. */
export const ownerIn = (account: string): string | undefined =>
  account.startsWith(ownerPrefix) ? account.slice(ownerPrefix.length) : undefined

/** Current use of a meter. */
export interface MeterState {
  readonly name: string
  readonly limit: number
  /** Settled use and reservations. May exceed the limit, because calls may use more than was reserved for them. */
  readonly used: number
  /** End of the window or period, in milliseconds since 1970. Absent: time alone does not reset the meter. */
  readonly resetsAt?: number
}

/** Request of a call to be counted on all of these meters, or on none. */
export interface Reservation {
  readonly callId: string
  /**
   * Account of the call: its token, or `ownerAccount()` for a call without a token. Named after the first kind of account; stored data
   * contains the name.
   */
  readonly tokenId: string
  readonly home?: Home | undefined
  readonly meters: readonly Meter[]
}

/** Result of a reservation. If one meter has no room, none of them counts the call. */
export type ReserveResult =
  | {
      readonly ok: true
      /** States after the reservation, in the order of the meters. */
      readonly states: readonly MeterState[]
      /** Time of the reservation, to be passed to `settle`. */
      readonly at: number
    }
  | {
      readonly ok: false
      /** Index of the first meter without room. */
      readonly refusedBy: number
      /** Milliseconds until it may have room; undefined if time alone makes no room, or the time is unknown. */
      readonly waitMs: number | undefined
      readonly states: readonly MeterState[]
    }

/** Sums for each account, day (UTC) and model. All are integers. */
export interface Sums {
  readonly calls: number
  readonly inputTokens: number
  readonly cachedTokens: number
  readonly outputTokens: number
  /** Billionths of the currency unit. */
  readonly cost: number
  /** Number of calls with an unknown cost. */
  readonly unpriced: number
}

/** Actual use of a finished call. */
export interface Settlement {
  readonly callId: string
  /** The `tokenId` of the reservation. */
  readonly tokenId: string
  /** The `home` of the reservation. */
  readonly home?: Home | undefined
  /** The `at` of the reservation; undefined: nothing was reserved, or it is unknown whether it was. */
  readonly at: number | undefined
  /** The meters of the reservation, with the call's actual use. Below 0: use that was counted before, under another id, is returned. */
  readonly meters: readonly (Meter & { readonly actual: number })[]
  /** Contribution to the sums of a day (`2026-11-21`) and model. Absent: none. */
  readonly sums?: {
    readonly day: string
    readonly model: string
    readonly add: Sums
    /** Accounts that it is added to. Default: `tokenId`. */
    readonly accounts?: readonly string[] | undefined
  }
}

/** Selects the sums of an account. */
export interface SumsQuery {
  /** Account, as in `Reservation`. */
  readonly tokenId: string
  /** First and last day, `2026-11-21`. */
  readonly from: string
  readonly to: string
}

/**
 * Counts the use of tokens and owners: in this process without promises, elsewhere atomically, whichever processes count at the same time.
 *
 * - `reserve` adds the amounts if every meter has room (used + least <= limit).
 * - `settle` corrects them, once for each call, however often it is called. Windows and periods change by `actual - amount`: a period in
 *   the span of the reservation; a window in the span of the reservation if less was used, and in the current one if more was.
 *   A concurrent meter is released. A call whose reservation never arrived is counted with `actual`; a reservation that arrives after its
 *   settlement is ignored.
 * - A `reserve` that throws or rejects leaves no reservation: the store itself takes back a request that it may have sent
 *   already. Such a call is not settled.
 * - `settle` also decides which amounts of `notice` the use has reached: it includes reservations of running calls. The step that
 *   finds an amount reached marks it in the counter, so that of all processes one reports it. A crash between the mark and the report
 *   loses the report.
 * - Each account has sums of at most 500 models a day; the use of further models is added under `otherModels`.
 * - Reservations of a process that ends without settling them stay counted. Concurrent calls expire one minute after their last `renew`.
 */
export interface MeterStore {
  reserve(reservation: Reservation): Awaitable<ReserveResult>
  settle(settlement: Settlement): Awaitable<void>
  /** Extends the leases of running calls. To be called every 20 seconds for calls with a concurrent meter. */
  renew(calls: readonly Reservation[]): Awaitable<void>
  /** Returns the states of meters. Their amounts are ignored. */
  read(tokenId: string, meters: readonly Meter[], home?: Home): Awaitable<readonly MeterState[]>
  /** Returns the sums of an account by day and model, ordered by day. */
  sums(query: SumsQuery): Awaitable<readonly ({ readonly day: string; readonly model: string } & Sums)[]>
  /** Sets the function that receives reached amounts, in place of an earlier one. Absent: the store ignores `notice`. */
  onReached?(listener: ReachedListener): void
}

/** Receives the amounts that the use of meters has reached. */
export type ReachedListener = (reached: ReachedAmount) => void

/** Maximum number of models with their own sums, for each account and day: the names come from clients. */
export const maxModelsPerDay = 500
/** Name of the sums of all further models. */
export const otherModels = '(other)'

/** Milliseconds for which a concurrent call counts as running without `renew`. */
export const leaseMs = 60_000

/** Returns the room that a meter must have for the call. */
export const requiredRoom = ({ amount, least = amount }: Meter): number => least
