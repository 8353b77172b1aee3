import type { Logger } from '@modelgate/core'
import { leaseMs, type Meter, type MeterStore } from '../meters/meter-store.ts'
import { unref } from './settler.ts'

/** Calls that hold a place among those that run at the same time, and go on holding it. */
export interface Renewals {
  add(call: { readonly callId: string; readonly tokenId: string; readonly meters: readonly Meter[] }): void
  remove(callId: string): void
}

/** One timer for all calls, that exists only while there are any. */
export function createRenewals(meters: Pick<MeterStore, 'renew'>, logger: Logger): Renewals {
  const running = new Map<string, Parameters<Renewals['add']>[0]>()
  let timer: ReturnType<typeof setInterval> | undefined
  let failing = false

  const renew = async (): Promise<void> => {
    try {
      await meters.renew([...running.values()])
      failing = false
    } catch (error) {
      if (!failing) logger.warn('modelgate: running calls could not be renewed; it is tried again', error)
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
      if (running.size > 0) return
      clearInterval(timer)
      timer = undefined
    },
  }
}
