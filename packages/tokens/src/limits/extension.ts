import type { AdmitCall, GatewayError } from '@modelgate/core'
import { type Awaitable, isThenable } from '../base/async.ts'
import { meterOfCall, settledMeter } from '../contract/meter-amounts.ts'
import {
  type MeterState,
  type MeterStore,
  type ReserveResult,
  requiredRoom,
  type Settlement,
} from '../contract/meter-store.ts'
import type { RejectedReservation } from './limit-error.ts'
import type { ReservedMeter } from './reserve.ts'
import type { AdmittedCall } from './settlement.ts'

// A call is admitted before the responses that it refers to are read. Its request is larger afterwards. What it needs in addition is
// a second reservation, with an id of its own:
//
//   admit    <id>            all meters, with the estimate of the request as it was received
//   extend   <id>:extended   the difference to the estimate of the whole request; rejected if the whole call has no room
//   settle   <id>:extended   0, then <id> with the actual use

export interface ExtensionOptions {
  readonly store: Pick<MeterStore, 'reserve'>
  /** Returns the meters of the call with the amounts for its whole request, in the order of those that are reserved. */
  metersFor(call: AdmitCall): readonly ReservedMeter[]
  /** Returns the error for a call that one of its meters rejects. */
  errorFor(rejected: Pick<RejectedReservation, 'meters' | 'refusedBy' | 'waitMs' | 'states'>): GatewayError
  toGatewayError(error: unknown): unknown
  /** Called when the second reservation is made, with the states of its meters by their index in the list of all. */
  onExtended(states: ReadonlyMap<number, MeterState>): void
}

/** The second reservation of a call. */
export interface Extension {
  /** Reserves what the whole request needs in addition. Throws, or rejects with, the error for a call without room. */
  extend(call: AdmitCall): Awaitable<void>
  /** Returns the amounts of both reservations. */
  total(): readonly ReservedMeter[]
  /**
   * Returns the settlement of the second reservation; undefined if there is none.
   *
   * @param keepAmounts whether its amounts count as used, or are released
   */
  settlement(options: { readonly keepAmounts: boolean }): Settlement | undefined
}

/** Creates the extension of a call, which reserves nothing yet. */
export function createExtension(callId: string, admitted: AdmittedCall, options: ExtensionOptions): Extension {
  const { tokenId, home, meters: first } = admitted
  const { store, metersFor, errorFor, toGatewayError, onExtended } = options
  const extendedId = `${callId}:extended`
  let total = first
  let added: readonly ReservedMeter[] = []

  return {
    total: () => total,
    settlement: ({ keepAmounts }) =>
      added.length === 0
        ? undefined
        : {
            callId: extendedId,
            tokenId,
            home,
            at: admitted.at,
            meters: added.map(({ meter }) => settledMeter(meter, keepAmounts ? meter.amount : 0)),
          },
    extend(call) {
      const whole = metersFor(call)
      // Indexes of the meters that need more.
      const grown = whole.flatMap(({ meter }, index) => (meter.amount > amountOf(first[index]) ? [index] : []))
      if (grown.length === 0) return undefined
      const more = grown.map((index): ReservedMeter => {
        const reserved = whole[index] as ReservedMeter
        const before = amountOf(first[index])
        const { meter } = reserved
        // The first reservation is part of the use, so the rest of the required room may be less than 0.
        return { ...reserved, meter: meterOfCall(meter, meter.amount - before, requiredRoom(meter) - before) }
      })
      const decide = (result: ReserveResult): void => {
        if (result.ok === true) {
          onExtended(
            new Map(
              grown.flatMap((index, at) => (result.states[at] === undefined ? [] : [[index, result.states[at]]])),
            ),
          )
          return
        }
        const states = result.states.map((state, at) => ({
          ...state,
          used: state.used - amountOf(first[grown[at] ?? -1]),
        }))
        const meters = grown.map((index) => whole[index] as ReservedMeter)
        const refused = meters[result.refusedBy]?.meter
        const isTooLarge = refused !== undefined && requiredRoom(refused) > refused.limit
        added = []
        total = first
        throw errorFor({ meters, refusedBy: result.refusedBy, waitMs: isTooLarge ? undefined : result.waitMs, states })
      }
      // Set before the store responds: a call that ends in the meantime must settle this reservation too.
      added = more
      total = whole
      let result: Awaitable<ReserveResult>
      try {
        result = store.reserve({ callId: extendedId, tokenId, home, meters: more.map(({ meter }) => meter) })
      } catch (error) {
        throw toGatewayError(error)
      }
      if (!isThenable(result)) return decide(result)
      return Promise.resolve(result).then(decide, (error: unknown) => {
        throw toGatewayError(error)
      })
    },
  }
}

const amountOf = (reserved: ReservedMeter | undefined): number => reserved?.meter.amount ?? 0
