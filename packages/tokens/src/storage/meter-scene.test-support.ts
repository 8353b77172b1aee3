import { afterEach, beforeEach, test } from 'vitest'
import type { Awaitable } from '../base/async.ts'
import type { Meter, MeterStore, ReserveResult, Settlement, Sums } from '../contract/meter-store.ts'
import type { Period } from '../contract/token.ts'

export interface MetersUnderTest {
  /** An empty store. */
  readonly store: MeterStore
  /** The store’s clock, if it can be set. Without it, tests that need hours are skipped; those that need seconds use short windows. */
  readonly now?: { advance(ms: number): void }
  close?(): Promise<void>
}

type Kind<K extends Meter['kind']> = Extract<Meter, { readonly kind: K }>

export const slots: Kind<'concurrent'> = { kind: 'concurrent', name: 'concurrent', limit: 2, amount: 1 }
export const minute = 60_000
export const perMinute: Kind<'window'> = {
  kind: 'window',
  name: 'window:requests',
  windowMs: minute,
  limit: 10,
  amount: 1,
}
export const total: Kind<'period'> = { kind: 'period', name: 'period:total', period: 'total', limit: 100, amount: 10 }
export const perPeriod = (period: Period): Kind<'period'> => ({ ...total, name: `period:${period}`, period })

export const noSums: Sums = { calls: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, cost: 0, unpriced: 0 }
export const dayMs = 86_400_000
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** An admitted call, as `settle` needs it. */
export interface Entered {
  readonly callId: string
  readonly at: number | undefined
  readonly meters: readonly Meter[]
}

/** Returns the milliseconds to wait, or `ok`. */
export const waitOf = (result: ReserveResult): number | undefined | 'ok' => (result.ok ? 'ok' : result.waitMs)

/** Creates a new store for each test of the calling suite, with helpers for it. */
export function meterScene(make: () => Awaitable<MetersUnderTest>, clock: boolean) {
  let under: MetersUnderTest
  let calls = 0
  beforeEach(async () => {
    under = await make()
    calls = 0
  })
  afterEach(() => under.close?.())

  const reserve = async (meters: readonly Meter[], callId = `call-${++calls}`, tokenId = 't') => {
    const result = await under.store.reserve({ callId, tokenId, meters })
    return { ...result, callId }
  }
  const enter = async (meters: readonly Meter[], callId?: string): Promise<Entered & { readonly at: number }> => {
    const result = await reserve(meters, callId)
    if (!result.ok) throw new Error(`meter ${result.refusedBy} refused: ${JSON.stringify(result.states)}`)
    return { callId: result.callId, at: result.at, meters }
  }
  const settle = async ({ callId, at, meters }: Entered, actual: number, sums?: Settlement['sums']): Promise<void> => {
    const settled = meters.map((meter) => ({ ...meter, actual }))
    await under.store.settle({ callId, tokenId: 't', at, meters: settled, ...(sums && { sums }) })
  }
  /** Counts an amount without a reservation. */
  const take = (meters: readonly Meter[], actual: number, sums?: Settlement['sums']): Promise<void> =>
    settle({ callId: `call-${++calls}`, at: undefined, meters }, actual, sums)
  const used = async (...meters: readonly Meter[]): Promise<number[]> =>
    (await under.store.read('t', meters)).map((state) => state.used)
  /** Current time of the store's clock. */
  const time = async (): Promise<number> => (await enter([])).at

  const advance = (ms: number): void => {
    if (under.now === undefined) throw new Error('The clock of this store cannot be set.')
    under.now.advance(ms)
  }
  /** Registers a test only if the clock can be set. */
  const clockedTest = (title: string, run: (advance: (ms: number) => void) => Promise<void>): void => {
    if (clock) test(title, () => run(advance))
  }
  /** Moves the clock to a future time. */
  const goTo = async (then: number): Promise<void> => {
    const ahead = then - (await time())
    if (ahead < 0) throw new Error(`the clock stands after ${new Date(then).toISOString()} already`)
    under.now?.advance(ahead)
  }
  /** Moves the clock to the beginning of an unused window. */
  const goToWindow = async (windowMs: number): Promise<number> => {
    const start = (Math.floor((await time()) / windowMs) + 3) * windowMs
    await goTo(start)
    return start
  }

  return {
    store: (): MeterStore => under.store,
    hasClock: clock,
    ...{ reserve, enter, settle, take, used, time },
    ...{ advance, clockedTest, goTo, goToWindow },
  }
}

export type MeterScene = ReturnType<typeof meterScene>
