import { settledMeter } from '../../contract/meter-amounts.ts'
import type { Home, Meter, MeterState, Reservation, Settlement } from '../../contract/meter-store.ts'

/** A part of the room of a set of meters, reserved in the central store for the calls of this process. */
export interface Lease {
  readonly id: string
  readonly tokenId: string
  readonly home: Home | undefined
  /** The leased amounts. */
  readonly meters: readonly Meter[]
  /** States of the meters after the lease was granted. */
  readonly states: readonly MeterState[]
  /** Time of the reservation, as the central store reported it. */
  readonly at: number
  /** Local time at which it ends. No window or period of its meters ends earlier. */
  readonly until: number
  /** The part of each amount that no call has used. */
  readonly left: number[]
  isOpen: boolean
}

/** Calls that use a lease, with the amounts that they took from it. */
export interface LeasedCall {
  readonly lease: Lease
  readonly amounts: readonly number[]
}

/** Amount of a meter that a lease must still hold for a call. */
export const neededOf = ({ amount, least = amount }: Meter): number => Math.max(0, amount, least)

/** Takes the amounts of a call from a lease. Returns undefined, and takes nothing, if one of the meters has too little left. */
export function takeFrom(lease: Lease, { meters }: Reservation): LeasedCall | undefined {
  const { left } = lease
  for (let index = 0; index < meters.length; index++)
    if (neededOf(meters[index] as Meter) > (left[index] ?? 0)) return undefined
  const amounts = meters.map(({ amount }) => amount)
  for (let index = 0; index < amounts.length; index++) left[index] = (left[index] ?? 0) - (amounts[index] ?? 0)
  return { lease, amounts }
}

/** Returns the states of the meters as if only the calls of this lease had been counted, not its rest. */
export const statesOf = ({ states, left }: Lease): MeterState[] =>
  states.map((state, index) => ({ ...state, used: state.used - (left[index] ?? 0) }))

/**
 * Settles a call of a lease: an open lease takes back what the call did not use, and gives more if it used more.
 *
 * @returns the settlement of what the lease cannot correct; undefined if there is nothing
 */
export function settleLeased({ lease, amounts }: LeasedCall, settlement: Settlement): Settlement | undefined {
  const corrections: (Meter & { readonly actual: number })[] = []
  for (const [index, meter] of settlement.meters.entries()) {
    let change = meter.actual - (amounts[index] ?? 0)
    if (lease.isOpen) {
      const left = (lease.left[index] ?? 0) - change
      lease.left[index] = Math.max(0, left)
      change = Math.max(0, -left)
    }
    if (change !== 0) corrections.push({ ...settledMeter(meter, change), amount: 0, least: undefined })
  }
  if (corrections.length === 0) return undefined
  const { callId, tokenId, home } = settlement
  return { callId: `${callId}:beyond-lease`, tokenId, home, at: lease.at, meters: corrections }
}

/** Closes a lease. Returns its settlement: what its calls have used or still hold. */
export function closeLease(lease: Lease): Settlement {
  lease.isOpen = false
  const { id, tokenId, home, at, meters, left } = lease
  return {
    callId: id,
    tokenId,
    home,
    at,
    meters: meters.map((meter, index) => settledMeter(meter, meter.amount - (left[index] ?? 0))),
  }
}
