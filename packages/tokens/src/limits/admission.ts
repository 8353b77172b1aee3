import { type Admission, type AdmitCall, type FinishEvent, type Logger, toLogger } from '@modelgate/core'
import { type Awaitable, isThenable, unref } from '../base/async.ts'
import {
  type Home,
  leaseMs,
  type Meter,
  type MeterState,
  type MeterStore,
  ownerAccount,
  type Reservation,
  type ReserveResult,
} from '../contract/meter-store.ts'
import type { Owner, TokenRecord } from '../contract/token.ts'
import type { Prices } from '../prices/prices.ts'
import { createErrorMapper } from '../storage/errors.ts'
import { createSettler } from '../storage/settler.ts'
import { allowanceOf, budgetHeaders } from './allowance.ts'
import { createExtension, type Extension } from './extension.ts'
import { limitError } from './limit-error.ts'
import { type ReservedMeter, type ReserveOptions, reservedMeters } from './reserve.ts'
import { createSessionCharge } from './session-charge.ts'
import { type AdmittedCall, correctionOf, deferredSettlement, settlementOf } from './settlement.ts'
import { createMeterLists, type TokenMeter } from './token-meters.ts'

export interface AdmissionOptions {
  readonly meters: MeterStore
  readonly prices?: Prices
  /** Default: 4,096 output tokens. */
  readonly reserve?: { readonly outputTokens?: number }
  /** Default: `'refuse'`. */
  readonly unpriced?: ReserveOptions['unpriced']
  /** Parts of each budget that are reported when they are reached. Default: none. */
  readonly thresholds?: readonly number[]
  /** Default: `console`. `false` logs nothing. */
  readonly logger?: Logger | false
  /** Maps failures of the store. Default: they become 503 errors, and are logged to `logger`. */
  readonly toGatewayError?: (error: unknown) => unknown
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
}

/** Those whose limits and budgets count a call: a token, an owner, or both. */
export interface Payer {
  readonly token?: TokenRecord | undefined
  /** Where the token's counters are. */
  readonly home?: Home | undefined
  readonly owner?: Owner | undefined
}

/** Reserves and settles the calls of tokens and owners with limits or budgets. */
export interface CallAdmission {
  /** Reserves the expected use of a call. Throws, or rejects with, the GatewayError for a call that a limit or budget rejects. */
  admit(payer: Payer, call: AdmitCall): Awaitable<Admission>
  /** Returns the admission of a batch from the text that `defer` of its admission returned, in this or another process. */
  resume(reservation: string): Admission
  /** Resolves when all finished calls are settled, or after three seconds. */
  close(): Promise<void>
}

const defaultOutputTokens = 4096

/** Creates the admission of calls: it reserves before a call, and corrects the reservation with the actual use after it. */
export function createAdmission(options: AdmissionOptions): CallAdmission {
  const { meters: store, prices, unpriced = 'refuse', now = Date.now } = options
  const logger = toLogger(options.logger)
  const toGatewayError = options.toGatewayError ?? createErrorMapper(logger)
  const reserveOptions: ReserveOptions = {
    prices,
    unpriced,
    outputTokens: options.reserve?.outputTokens ?? defaultOutputTokens,
  }
  const settler = createSettler(store, logger)
  const renewal = createLeaseRenewal(store, logger)
  const currency = prices?.currency ?? ''
  const metersOf = createMeterLists(options.thresholds)

  /** Returns the meters of both: one reservation, so that all of them count a call or none. */
  const metersOfPayer = ({ token, owner }: Payer): readonly TokenMeter[] => {
    if (owner === undefined) return token === undefined ? [] : metersOf(token)
    if (token === undefined) return metersOf(owner, owner.owner)
    const [own, shared] = [metersOf(token), metersOf(owner, owner.owner)]
    return own.length === 0 ? shared : [...own, ...shared]
  }

  const admitted = (
    payer: Payer,
    account: string,
    { requestId, operation, model }: AdmitCall,
    meters: readonly ReservedMeter[],
    result: (ReserveResult & { readonly ok: true }) | undefined,
  ): Admission => {
    const { token, owner, home } = payer
    const concurrent = meters.filter(({ of }) => of === 'concurrent').map(({ meter }): Meter => meter)
    if (concurrent.length > 0) renewal.add({ callId: requestId, tokenId: account, home, meters: concurrent })
    const accounts = token !== undefined && owner !== undefined ? [token.id, ownerAccount(owner.owner)] : undefined
    const reserved = { tokenId: account, home, accounts, meters, at: result?.at, prices }
    const session =
      result !== undefined && operation === 'realtime'
        ? createSessionCharge(reserved, { store, settler, states: result.states, model, currency, now })
        : undefined
    let extension: Extension | undefined
    const extend = (call: AdmitCall): Awaitable<void> => {
      extension = createExtension(requestId, reserved, {
        store,
        metersFor: (whole) => reservedMeters(metersOfPayer(payer), whole, reserveOptions),
        errorFor: (rejected) => limitError({ model, currency, now: now(), ...rejected }),
        toGatewayError,
        onExtended(changed) {
          // Headers of the response are read after this.
          if (result !== undefined)
            Object.assign(admission, quotas(result.states.map((state, index) => changed.get(index) ?? state)))
        },
      })
      return extension.extend(call)
    }
    /** Returns what the client sees of its meters. */
    const quotas = (states: readonly MeterState[]): Pick<Admission, 'allowance' | 'headers'> => {
      const time = now()
      const allowance = allowanceOf(meters, states, time)
      const headers = budgetHeaders(meters, states, currency, time)
      return allowance === undefined ? { headers } : { allowance, headers }
    }
    /** Stops the renewal of leases and settles the second reservation. */
    const endFurtherReservations = ({ keepAmounts }: { readonly keepAmounts: boolean }): void => {
      if (concurrent.length > 0) renewal.remove(requestId)
      const extended = extension?.settlement({ keepAmounts })
      if (extended !== undefined) void settler.settle(extended)
    }
    const settle = (event: FinishEvent): void => {
      endFurtherReservations({ keepAmounts: false })
      void settler.settle(settlementOf(event, reserved, session?.charged(), extension?.total()))
    }
    const defer = (): string => {
      endFurtherReservations({ keepAmounts: true })
      void settler.settle(deferredSettlement(requestId, reserved))
      // Deferred work runs at the provider, and is no concurrent call any more.
      const later = (extension?.total() ?? meters).filter(({ of }) => of !== 'concurrent')
      return JSON.stringify({ tokenId: account, home, accounts, meters: later, at: result?.at })
    }
    if (result === undefined) return { settle, defer }
    const admission: Admission = {
      ...quotas(result.states),
      extend,
      settle,
      defer,
      ...(session === undefined ? {} : { progress: session.progress }),
    }
    return admission
  }

  return {
    admit(payer, call) {
      const { token, owner, home } = payer
      const account = token?.id ?? ownerAccount(owner?.owner ?? '')
      const meters = reservedMeters(metersOfPayer(payer), call, reserveOptions)
      if (meters.length === 0) return admitted(payer, account, call, meters, undefined)
      const decide = (result: ReserveResult): Admission => {
        if (result.ok === true) return admitted(payer, account, call, meters, result)
        const { refusedBy, waitMs, states } = result
        throw limitError({ model: call.model, meters, refusedBy, waitMs, states, currency, now: now() })
      }
      let result: Awaitable<ReserveResult>
      try {
        result = store.reserve({
          callId: call.requestId,
          tokenId: account,
          home,
          meters: meters.map(({ meter }): Meter => meter),
        })
      } catch (error) {
        throw toGatewayError(error)
      }
      if (!isThenable(result)) return decide(result)
      return Promise.resolve(result).then(decide, (error: unknown) => {
        throw toGatewayError(error)
      })
    },
    resume(reservation) {
      const call = { ...(JSON.parse(reservation) as Omit<AdmittedCall, 'prices'>), prices }
      return { settle: (event) => void settler.settle(correctionOf(event, call)) }
    },
    close: () => settler.close(),
  }
}

/** Renews the leases of running calls that count against a limit of concurrent calls. */
interface LeaseRenewal {
  add(call: Reservation): void
  remove(callId: string): void
}

/** One timer serves all calls. It ends itself when there are none: starting and ending a timer for each call would cost 2 µs. */
function createLeaseRenewal(meters: Pick<MeterStore, 'renew'>, logger: Logger): LeaseRenewal {
  const running = new Map<string, Reservation>()
  let timer: ReturnType<typeof setInterval> | undefined
  let failing = false

  const renew = async (): Promise<void> => {
    if (running.size === 0) {
      clearInterval(timer)
      timer = undefined
      return
    }
    try {
      await meters.renew([...running.values()])
      failing = false
    } catch (error) {
      if (!failing)
        logger.warn('modelgate: leases of running calls could not be renewed; the next attempt is in 20 s', error)
      failing = true
    }
  }
  return {
    add(call) {
      running.set(call.callId, call)
      if (timer !== undefined) return
      timer = setInterval(() => void renew(), leaseMs / 3)
      unref(timer)
    },
    remove(callId) {
      running.delete(callId)
    },
  }
}
