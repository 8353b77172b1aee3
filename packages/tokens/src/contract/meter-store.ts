import type { Awaitable } from '../base/async.ts'
import type { Period } from './token.ts'

/**
 * One thing that is counted against a limit. Amounts are integers: requests, tokens, or billionths of the currency unit.
 * - `window`: a sliding window, approximated by two fixed ones: the count of the running one, plus that of the one before
 *   weighted by the part of it that the sliding window still covers.
 * - `period`: a part of the calendar in UTC.
 * - `concurrent`: calls that run; amounts are 1.
 */
export type Meter = {
  /** The same name for the same count of a token: `window:gpt-*:60000:requests`. */
  readonly name: string
  readonly limit: number
  /** What the call is expected to take; 0 for what is only to be looked at. */
  readonly amount: number
  /**
   * There has to be room for so much for the call to be let in: less than `amount` where that is a guess, more where it is nothing.
   * All of `amount` is counted then, and no more. Default: `amount`.
   */
  readonly least?: number
} & (
  | { readonly kind: 'window'; readonly windowMs: number }
  | { readonly kind: 'period'; readonly period: Period }
  | { readonly kind: 'concurrent' }
)

/** How full a meter is. */
export interface MeterState {
  readonly name: string
  readonly limit: number
  /** What is taken and what is reserved. May be above the limit: calls may take more than was reserved for them. */
  readonly used: number
  /** When it is next empty, or emptier, in milliseconds since 1970: the end of the window or period. Absent: never by time alone. */
  readonly resetsAt?: number
}

/** What a call asks for before it begins: to be counted on all of these meters, or on none. */
export interface Reservation {
  readonly callId: string
  readonly tokenId: string
  readonly meters: readonly Meter[]
}

/** All or nothing: a call that one meter refuses is counted by none. */
export type ReserveResult =
  | {
      readonly ok: true
      /** After the reservation, in the order of the meters. */
      readonly states: readonly MeterState[]
      /** For `settle`: when it was counted. */
      readonly at: number
    }
  | {
      readonly ok: false
      /** Index of the first meter that has no room. */
      readonly refusedBy: number
      /** Milliseconds until it may have room, by time alone; undefined: never, or nobody knows (concurrent, total, larger than the limit). */
      readonly waitMs: number | undefined
      readonly states: readonly MeterState[]
    }

/** Sums that are kept for each token, day (UTC) and model; all integers, all added. */
export interface Sums {
  readonly calls: number
  readonly inputTokens: number
  readonly cachedTokens: number
  readonly outputTokens: number
  /** Billionths of the currency unit. */
  readonly cost: number
  /** Calls whose cost is unknown. */
  readonly unpriced: number
}

/** What a call came to. */
export interface Settlement {
  readonly callId: string
  readonly tokenId: string
  /** As `reserve` told it; undefined: nothing was reserved, or nobody knows whether it was. */
  readonly at: number | undefined
  /** The meters of the reservation, with what the call really took. */
  readonly meters: readonly (Meter & { readonly actual: number })[]
  /** For the sums; absent: the call leaves no trace there. `day` as `2026-11-21`. */
  readonly sums?: { readonly day: string; readonly model: string; readonly add: Sums }
}

/** Whose sums are asked for, and of which days. */
export interface SumsQuery {
  readonly tokenId: string
  /** First and last day, `2026-11-21`. */
  readonly from: string
  readonly to: string
}

/**
 * Counts what tokens take. In this process at once (no promise), elsewhere atomically, whoever else counts at the same time.
 *
 * - `reserve` adds the amounts, if every meter has room for its own (used + least <= limit).
 * - `settle` corrects them, once for a call, however often it is called: for windows and periods by `actual - amount` (a
 *   period that of the reservation; a window that of the reservation for less, the running one for more), a concurrent
 *   meter is given back. A call whose reservation never arrived is counted with `actual`; one that arrives later than its
 *   settlement is not counted any more.
 * - A `reserve` that throws or rejects leaves nothing behind: whatever of it may have been sent already, the store itself takes back.
 *   Nobody settles such a call.
 * - Sums are kept under 500 names of models for each token and day; what further ones take, under `otherModels`.
 * - A process that dies leaves its reservations as taken; what is concurrent runs out a minute after its last `renew`.
 */
export interface MeterStore {
  reserve(reservation: Reservation): Awaitable<ReserveResult>
  settle(settlement: Settlement): Awaitable<void>
  /** These calls still run: to be called every 20 seconds for those with a concurrent meter. */
  renew(
    calls: readonly { readonly callId: string; readonly tokenId: string; readonly meters: readonly Meter[] }[],
  ): Awaitable<void>
  /** How full meters are; their amounts have no meaning here. */
  read(tokenId: string, meters: readonly Meter[]): Awaitable<readonly MeterState[]>
  /** The sums of a token, by day and model; days in order. */
  sums(query: SumsQuery): Awaitable<readonly ({ readonly day: string; readonly model: string } & Sums)[]>
}

/** Names of models that have sums of their own, for a token and day. What clients ask for may be any word. */
export const mostModels = 500
/** The name for all others. */
export const otherModels = '(other)'

/** How long a concurrent call is taken to run without `renew`. */
export const leaseMs = 60_000

/** What a meter has to have room for. */
export const requiredRoom = ({ amount, least = amount }: Meter): number => least
