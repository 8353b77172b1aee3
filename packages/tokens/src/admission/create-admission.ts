import type { Admission, AdmitCall, FinishEvent, Logger } from '@modelgate/core'
import { type Awaitable, isThenable } from '../awaitable.ts'
import type { Meter, MeterStore, ReserveResult } from '../meters/meter-store.ts'
import type { Prices } from '../prices/prices.ts'
import { safeLogger } from '../safe-logger.ts'
import { createRefusals } from '../storage-away.ts'
import type { TokenRecord } from '../token.ts'
import { allowanceOf, budgetHeaders } from './left.ts'
import { refusal } from './refusal.ts'
import { createRenewals } from './renewals.ts'
import { type Reserved, type ReserveOptions, reservedBy } from './reserve.ts'
import { settlementOf } from './settlement.ts'
import { createSettler } from './settler.ts'

export interface AdmissionOptions {
  readonly meters: MeterStore
  readonly prices?: Prices
  /** Default 4,096 output tokens. */
  readonly reserve?: { readonly outputTokens?: number }
  /** Default `'refuse'`. */
  readonly unpriced?: ReserveOptions['unpriced']
  /** Default: `console`. `false`: nothing. */
  readonly logger?: Logger | false
  /** The error for a failure of the store. Default: it is logged to `logger`. */
  readonly told?: (error: unknown) => unknown
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: () => number
}

export interface CallAdmission {
  /** Reserves what the call is likely to take. Throws, or rejects with, the GatewayError that the call is refused with. */
  admit(token: TokenRecord, call: AdmitCall): Awaitable<Admission>
  /** Resolves when what is over is settled, or after a few seconds. */
  close(): Promise<void>
}

const outputTokens = 4096

/** Lets calls in as far as their tokens' limits and budgets have room, and corrects what was reserved when they are over. */
export function createAdmission(options: AdmissionOptions): CallAdmission {
  const { meters: store, prices, unpriced = 'refuse', now = Date.now } = options
  const logger = safeLogger(options.logger)
  const told = options.told ?? createRefusals(logger)
  const reserving: ReserveOptions = { prices, unpriced, outputTokens: options.reserve?.outputTokens ?? outputTokens }
  const settler = createSettler(store, logger)
  const renewals = createRenewals(store, logger)
  const currency = prices?.currency ?? ''

  /** A call that is let in, and settled with what it took. */
  const letIn = (
    { id }: TokenRecord,
    { requestId }: AdmitCall,
    meters: readonly Reserved[],
    result: (ReserveResult & { readonly ok: true }) | undefined,
  ): Admission => {
    const concurrent = meters.filter(({ of }) => of === 'concurrent').map(({ meter }): Meter => meter)
    if (concurrent.length > 0) renewals.add({ callId: requestId, tokenId: id, meters: concurrent })
    const settle = (event: FinishEvent): void => {
      if (concurrent.length > 0) renewals.remove(requestId)
      settler.settle(settlementOf(event, { tokenId: id, meters, at: result?.at, prices }))
    }
    if (result === undefined) return { settle }
    const time = now()
    const allowance = allowanceOf(meters, result.states, time)
    const headers = budgetHeaders(meters, result.states, currency, time)
    return allowance === undefined ? { headers, settle } : { allowance, headers, settle }
  }

  return {
    admit(token, call) {
      const meters = reservedBy(token, call, reserving)
      if (meters.length === 0) return letIn(token, call, meters, undefined)
      const decide = (result: ReserveResult): Admission => {
        if (result.ok === true) return letIn(token, call, meters, result)
        const { refusedBy, waitMs, states } = result
        throw refusal({ model: call.model, meters, refusedBy, waitMs, states, currency, now: now() })
      }
      let answer: Awaitable<ReserveResult>
      try {
        answer = store.reserve({
          callId: call.requestId,
          tokenId: token.id,
          meters: meters.map(({ meter }): Meter => meter),
        })
      } catch (error) {
        throw told(error)
      }
      if (!isThenable(answer)) return decide(answer)
      return Promise.resolve(answer).then(decide, (error: unknown) => {
        throw told(error)
      })
    },
    close: () => settler.close(),
  }
}
