import type { BreakerConfig } from '../../config/config.ts'
import type { HealthState } from '../../config/stores.ts'
import type { Caller, CallerCooldowns } from './cooldowns.ts'

export const defaultBreaker: Readonly<Required<BreakerConfig>> = {
  failures: 5,
  failureRate: 0.5,
  window: 20,
  restMs: 5000,
}

/**
 * The result of a call decides whether the target is used again: by its caller alone, or by every caller. A probe for all is a probe for
 * its caller, too.
 */
export type Probe = 'none' | 'caller' | 'all'

/**
 * Circuit breakers, one for each target. A breaker opens after some failures in a row, or when a share of the last calls failed. Then
 * one call is let through every `restMs`, and one that succeeds closes it.
 *
 * A failure may be caused by the request, so one caller's failures must not take a target away from the others. Each caller has a
 * breaker of its own, which counts all failures of its calls. The breaker for all callers counts a caller once, however many of its
 * calls fail. Failures of the upstream itself, and failures of callers that cannot be told apart, each count there.
 */
export interface CircuitBreaker {
  /** Milliseconds until the caller may call the target; 0: now. */
  waitMs(id: string, caller?: Caller): number
  /** A call begins. */
  startCall(id: string, caller?: Caller): Probe
  /** The target has answered. */
  recordResponse(id: string, caller: Caller, probe: Probe): void
  /** A call has ended. */
  recordEnd(id: string, caller: Caller, probe: Probe, outcome: CallOutcome): void
}

interface TargetRecord {
  readonly history: TargetHistory
  readonly callers: Map<string, CallerHistory>
}

/** What is undefined is the default. */
const given = (settings: BreakerConfig = {}): BreakerConfig =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

/** Bounds the memory: targets may be named by clients, and so may callers. */
const mostRecords = 10_000

export function createCircuitBreaker(
  settings: BreakerConfig | false | undefined,
  state: HealthState,
  callerRests: CallerCooldowns,
): CircuitBreaker {
  if (settings === false) return { waitMs: () => 0, startCall: () => 'none', recordResponse() {}, recordEnd() {} }
  const config = { ...defaultBreaker, ...given(settings) }
  const { restMs } = config
  const records = new Map<string, TargetRecord>()
  let size = 0
  const countRecord = (): void => {
    if (size >= mostRecords) {
      records.clear()
      size = 0
    }
    size++
  }
  const recordOf = (id: string): TargetRecord => {
    let record = records.get(id)
    if (record === undefined) {
      countRecord()
      record = { history: new TargetHistory(config), callers: new Map() }
      records.set(id, record)
    }
    return record
  }
  const callerHistoryOf = (id: string, caller: string): CallerHistory => {
    let own = records.get(id)?.callers.get(caller)
    if (own === undefined) {
      countRecord()
      own = new CallerHistory(config)
      recordOf(id).callers.set(caller, own)
    }
    return own
  }
  const ownRest = (id: string, caller: Caller) => (caller === undefined ? undefined : callerRests.read(id, caller))
  const restForCaller = (id: string, caller: Caller, forMs = restMs): void => {
    if (caller !== undefined) callerRests.write(id, caller, forMs, 'failing')
  }
  const restForAll = (id: string): void => state.write(id, { until: Date.now() + restMs, reason: 'failing' })
  /** Ends the wait for the probe's result: the next caller's call is the probe. */
  const releaseProbe = (id: string): void => state.write(id, { until: 0, reason: 'failing' })

  return {
    waitMs(id, caller) {
      const rest = state.read(id)
      const shared = rest === undefined ? 0 : Math.max(0, rest.until - Date.now())
      const own = ownRest(id, caller)
      return own === undefined ? shared : Math.max(shared, own.waitMs)
    },
    startCall(id, caller) {
      const own = ownRest(id, caller)
      // Calls that were on their way when the breaker opened, or when the probe was let through, are no probes.
      if (own !== undefined && own.waitMs > 0) return 'none'
      const rest = state.read(id)
      if (rest !== undefined) {
        if (rest.until > Date.now()) return 'none'
        // The target rests for everyone else until this call has a result.
        restForAll(id)
        // Twice as long for this caller: if its probe has no result, the next probe is for another caller to make.
        restForCaller(id, caller, 2 * restMs)
        return 'all'
      }
      if (own === undefined) return 'none'
      restForCaller(id, caller)
      return 'caller'
    },
    recordResponse(id, caller, probe) {
      if (probe === 'none') return
      const record = records.get(id)
      if (caller !== undefined) {
        callerRests.forget(id, caller)
        if (record?.callers.delete(caller) === true) size--
      }
      if (probe === 'caller') return
      record?.history.clear()
      state.write(id, undefined)
    },
    recordEnd(id, caller, probe, outcome) {
      if (outcome === 'unknown') {
        // Without this, one caller could keep the breaker open by leaving whenever its call is the probe.
        if (probe === 'all' && caller !== undefined) releaseProbe(id)
        return
      }
      const { history } = recordOf(id)
      const own = caller === undefined ? undefined : callerHistoryOf(id, caller)
      history.add(outcome, caller)
      own?.add(outcome !== 'ok')
      if (outcome === 'ok') return
      // Calls that were on their way when a breaker opened must not prolong the rest.
      if (probe !== 'none' || (own?.isFailing() === true && ownRest(id, caller) === undefined))
        restForCaller(id, caller)
      if (history.isFailing()) {
        if (probe !== 'all' && state.read(id) !== undefined) return
        // Probes count anew, by the same rules.
        history.clear()
        restForAll(id)
      } else if (probe === 'all') {
        if (outcome === 'unavailable' || caller === undefined) restForAll(id)
        else releaseProbe(id)
      }
    },
  }
}

/**
 * How a call to a target ended, as far as the target's health is concerned. `failed`: it may have been caused by the request.
 * `unavailable`: the upstream itself failed. `unknown`: the call shows nothing, for example because its client left.
 */
export type CallOutcome = 'ok' | 'failed' | 'unavailable' | 'unknown'

type Config = Required<Pick<BreakerConfig, 'failures' | 'failureRate' | 'window'>>

/** The last calls of one caller to one target. */
export class CallerHistory {
  readonly #config: Config
  /** The last outcomes, true for a failure; a ring. */
  readonly #outcomes: boolean[] = []
  #next = 0
  #inRow = 0
  #failed = 0

  constructor(config: Config) {
    this.#config = config
  }

  add(failed: boolean): void {
    if (this.#outcomes[this.#next] === true) this.#failed--
    this.#outcomes[this.#next] = failed
    this.#next = (this.#next + 1) % this.#config.window
    if (failed) this.#failed++
    this.#inRow = failed ? this.#inRow + 1 : 0
  }

  isFailing(): boolean {
    const { failures, failureRate, window } = this.#config
    return this.#inRow >= failures || (this.#outcomes.length >= window && this.#failed / window >= failureRate)
  }
}

/** A failure that counts however many there are: the upstream's own, or of a caller that cannot be told apart. */
const uncaused = true

/** The last calls of all callers to one target. */
export class TargetHistory {
  readonly #config: Config
  /** The last outcomes: false for a good one, the caller of a failure, or `uncaused`; a ring. */
  #outcomes: (string | boolean)[] = []
  #next = 0
  /** Failures since the last good call: those without a caller, and the callers of the others. */
  #uncausedInRow = 0
  readonly #callersInRow = new Set<string>()

  constructor(config: Config) {
    this.#config = config
  }

  add(outcome: Exclude<CallOutcome, 'unknown'>, caller: string | undefined): void {
    const entry = outcome === 'ok' ? false : outcome === 'failed' && caller !== undefined ? caller : uncaused
    this.#outcomes[this.#next] = entry
    this.#next = (this.#next + 1) % this.#config.window
    if (entry === false) {
      this.#uncausedInRow = 0
      if (this.#callersInRow.size > 0) this.#callersInRow.clear()
    } else if (entry === uncaused) this.#uncausedInRow++
    // More than these change nothing; without the bound, the set could grow with the number of callers.
    else if (this.#callersInRow.size < this.#config.failures) this.#callersInRow.add(entry as string)
  }

  isFailing(): boolean {
    const { failures, failureRate, window } = this.#config
    if (this.#uncausedInRow + this.#callersInRow.size >= failures) return true
    if (this.#outcomes.length < window) return false
    const callers = new Set<string>()
    let uncausedFailures = 0
    for (const entry of this.#outcomes)
      if (typeof entry === 'string') callers.add(entry)
      else if (entry) uncausedFailures++
    return (uncausedFailures + callers.size) / window >= failureRate
  }

  clear(): void {
    this.#outcomes = []
    this.#next = 0
    this.#uncausedInRow = 0
    this.#callersInRow.clear()
  }
}
