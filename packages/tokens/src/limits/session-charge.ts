import type { FinishEvent } from '@modelgate/core'
import { type Awaitable, isThenable } from '../base/async.ts'
import type { MeterState, MeterStore } from '../contract/meter-store.ts'
import type { Settler } from '../storage/settler.ts'
import { limitError } from './limit-error.ts'
import { type AdmittedCall, progressOf } from './settlement.ts'

export interface SessionOptions {
  readonly store: Pick<MeterStore, 'read'>
  readonly settler: Settler
  /** The states after the reservation, in the order of the meters. */
  readonly states: readonly MeterState[]
  readonly model: string
  readonly currency: string
  now(): number
}

/** Charges a realtime session while it runs. */
export interface SessionCharge {
  /** Charges what the session has used. Throws, or rejects with, the error that ends the session if nothing remains of a budget. */
  progress(event: FinishEvent): Awaitable<void>
  /** Returns what was charged so far on each meter. */
  charged(): readonly number[]
}

/**
 * Creates the charges of a session: one after each response. Its reservation is for the next response, so it is not part of what the budget
 * has used when the session is checked: the session continues as long as a new one would be admitted.
 */
export function createSessionCharge(admitted: AdmittedCall, options: SessionOptions): SessionCharge {
  const { store, settler, states: before, model, currency, now } = options
  const { meters, tokenId, home } = admitted
  const budgets = meters.flatMap((meter, index) => (meter.from === 'budget' ? [{ meter, before: before[index] }] : []))
  let charged: readonly number[] = []
  let charges = 0

  const check = (states: readonly MeterState[]): void => {
    const left = states.map((state, index): MeterState => {
      const budget = budgets[index]
      // The reservation belongs to the period in which it was made.
      const isSamePeriod = state.resetsAt === budget?.before?.resetsAt
      const reserved = isSamePeriod ? (budget?.meter.meter.amount ?? 0) : 0
      return { ...state, used: Math.max(0, state.used - reserved) }
    })
    const refusedBy = left.findIndex(({ used, limit }) => used >= limit)
    if (refusedBy < 0) return
    const spent = budgets.map(({ meter }) => meter)
    throw limitError({ model, meters: spent, refusedBy, waitMs: undefined, states: left, currency, now: now() })
  }
  const readAndCheck = (): Awaitable<void> => {
    const states = store.read(
      tokenId,
      budgets.map(({ meter }) => meter.meter),
      home,
    )
    return isThenable(states) ? Promise.resolve(states).then(check) : check(states)
  }
  return {
    charged: () => charged,
    progress(event) {
      charges++
      const step = progressOf(event, admitted, charged, `${event.requestId}:${charges}`)
      charged = step.charged
      const sent = settler.settle(step.settlement)
      if (budgets.length === 0) return sent
      return isThenable(sent) ? Promise.resolve(sent).then(readAndCheck) : readAndCheck()
    },
  }
}
