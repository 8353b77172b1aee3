import type { BreakerConfig } from '../../config/config.ts'
import type { HealthState } from '../../config/stores.ts'
import type { Caller, CallerCooldowns } from './cooldowns.ts'

/** Defaults of `breaker`. */
export const defaultBreaker: Readonly<Required<BreakerConfig>> = {
  failures: 5,
  failureRate: 0.5,
  window: 20,
  restMs: 5000,
}

/**
 * Whether the result of a call decides if the target is used again: by its caller only, or by all callers. A probe for all callers is
 * also a probe for its caller.
 */
export type Probe = 'none' | 'caller' | 'all'

/**
 * The circuit breakers of all targets of an upstream.
 *
 *   closed ──(`failures` in a row, or `failureRate` of the last `window` calls)──> open
 *   open ──(after `restMs`)──> half-open: one call is the probe
 *   half-open ──(the probe succeeds)──> closed       half-open ──(the probe fails)──> open
 *
 * A failure may be caused by the request, so failures of one caller must not make a target unavailable to others. Each caller has its
 * own breaker per target, which counts all failures of its calls. The breaker for all callers counts a caller once, however many of its
 * calls fail. It counts each failure of the upstream itself, and each failure of callers that cannot be distinguished.
 */
export interface CircuitBreaker {
  /** Returns the milliseconds until the caller can call the target; 0: now. */
  waitMs(id: string, caller?: Caller): number
  /** Records the start of a call. */
  startCall(id: string, caller?: Caller): Probe
  /** Records that the target has responded. */
  recordResponse(id: string, caller: Caller, probe: Probe): void
  /** Records the end of a call. */
  recordEnd(id: string, caller: Caller, probe: Probe, outcome: CallOutcome): void
}

interface TargetRecord {
  readonly history: TargetHistory
  readonly callers: Map<string, CallerHistory>
}

/** Removes undefined settings, so that defaults apply. */
const definedSettings = (settings: BreakerConfig = {}): BreakerConfig =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))

/** Bounds the memory: names of targets and callers may come from clients. */
const mostRecords = 10_000

export function createCircuitBreaker(
  settings: BreakerConfig | false | undefined,
  state: HealthState,
  callerCooldowns: CallerCooldowns,
): CircuitBreaker {
  if (settings === false) return { waitMs: () => 0, startCall: () => 'none', recordResponse() {}, recordEnd() {} }
  const config = { ...defaultBreaker, ...definedSettings(settings) }
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
    let history = records.get(id)?.callers.get(caller)
    if (history === undefined) {
      countRecord()
      history = new CallerHistory(config)
      recordOf(id).callers.set(caller, history)
    }
    return history
  }
  const callerCooldown = (id: string, caller: Caller) =>
    caller === undefined ? undefined : callerCooldowns.read(id, caller)
  const coolDownForCaller = (id: string, caller: Caller, forMs = restMs): void => {
    if (caller !== undefined) callerCooldowns.write(id, caller, forMs, 'failing')
  }
  const coolDownForAll = (id: string): void => state.write(id, { until: Date.now() + restMs, reason: 'failing' })
  /** Stops waiting for the probe's result: the call of the next caller becomes the probe. */
  const releaseProbe = (id: string): void => state.write(id, { until: 0, reason: 'failing' })

  return {
    waitMs(id, caller) {
      const cooldown = state.read(id)
      const shared = cooldown === undefined ? 0 : Math.max(0, cooldown.until - Date.now())
      const forCaller = callerCooldown(id, caller)
      return forCaller === undefined ? shared : Math.max(shared, forCaller.waitMs)
    },
    startCall(id, caller) {
      const forCaller = callerCooldown(id, caller)
      // Calls that started before the breaker opened, or before the current probe started, are no probes.
      if (forCaller !== undefined && forCaller.waitMs > 0) return 'none'
      const cooldown = state.read(id)
      if (cooldown !== undefined) {
        if (cooldown.until > Date.now()) return 'none'
        // All other calls wait until this call has a result.
        coolDownForAll(id)
        // Twice as long for this caller: if its probe has no result, another caller makes the next probe.
        coolDownForCaller(id, caller, 2 * restMs)
        return 'all'
      }
      if (forCaller === undefined) return 'none'
      coolDownForCaller(id, caller)
      return 'caller'
    },
    recordResponse(id, caller, probe) {
      if (probe === 'none') return
      const record = records.get(id)
      if (caller !== undefined) {
        callerCooldowns.forget(id, caller)
        if (record?.callers.delete(caller) === true) size--
      }
      if (probe === 'caller') return
      record?.history.clear()
      state.write(id, undefined)
    },
    recordEnd(id, caller, probe, outcome) {
      if (outcome === 'unknown') {
        // Without this, one caller could keep the breaker open by disconnecting whenever its call is the probe.
        if (probe === 'all' && caller !== undefined) releaseProbe(id)
        return
      }
      const { history } = recordOf(id)
      const callerHistory = caller === undefined ? undefined : callerHistoryOf(id, caller)
      history.add(outcome, caller)
      callerHistory?.add(outcome !== 'ok')
      if (outcome === 'ok') return
      // Calls that started before a breaker opened must not prolong the cooldown.
      if (probe !== 'none' || (callerHistory?.isFailing() === true && callerCooldown(id, caller) === undefined))
        coolDownForCaller(id, caller)
      if (history.isFailing()) {
        if (probe !== 'all' && state.read(id) !== undefined) return
        // After a probe, counting starts again by the same rules.
        history.clear()
        coolDownForAll(id)
      } else if (probe === 'all') {
        if (outcome === 'unavailable' || caller === undefined) coolDownForAll(id)
        else releaseProbe(id)
      }
    },
  }
}

/**
 * The result of a call with respect to the target's health. `failed`: the request may have caused it. `unavailable`: the upstream itself
 * failed. `unknown`: the call shows nothing, for example because its client disconnected.
 */
export type CallOutcome = 'ok' | 'failed' | 'unavailable' | 'unknown'

type Config = Required<Pick<BreakerConfig, 'failures' | 'failureRate' | 'window'>>

/** The last calls of one caller to one target. */
class CallerHistory {
  readonly #config: Config
  /** Ring of the last outcomes: true for a failure. */
  readonly #outcomes: boolean[] = []
  #next = 0
  #failuresInRow = 0
  #failed = 0

  constructor(config: Config) {
    this.#config = config
  }

  add(failed: boolean): void {
    if (this.#outcomes[this.#next] === true) this.#failed--
    this.#outcomes[this.#next] = failed
    this.#next = (this.#next + 1) % this.#config.window
    if (failed) this.#failed++
    this.#failuresInRow = failed ? this.#failuresInRow + 1 : 0
  }

  isFailing(): boolean {
    const { failures, failureRate, window } = this.#config
    return this.#failuresInRow >= failures || (this.#outcomes.length >= window && this.#failed / window >= failureRate)
  }
}

/** A failure that always counts: of the upstream itself, or of a caller that cannot be distinguished. */
const unattributed = true

/** The last calls of all callers to one target. */
class TargetHistory {
  readonly #config: Config
  /** Ring of the last outcomes: false for a success, the caller of a failure, or `unattributed`. */
  #outcomes: (string | boolean)[] = []
  #next = 0
  /** Failures since the last success: the number of unattributed ones, and the callers of the others. */
  #unattributedInRow = 0
  readonly #callersInRow = new Set<string>()

  constructor(config: Config) {
    this.#config = config
  }

  add(outcome: Exclude<CallOutcome, 'unknown'>, caller: string | undefined): void {
    const entry = outcome === 'ok' ? false : outcome === 'failed' && caller !== undefined ? caller : unattributed
    this.#outcomes[this.#next] = entry
    this.#next = (this.#next + 1) % this.#config.window
    if (entry === false) {
      this.#unattributedInRow = 0
      if (this.#callersInRow.size > 0) this.#callersInRow.clear()
    } else if (entry === unattributed) this.#unattributedInRow++
    // Further callers change nothing; without this bound, the set could grow with the number of callers.
    else if (this.#callersInRow.size < this.#config.failures) this.#callersInRow.add(entry as string)
  }

  isFailing(): boolean {
    const { failures, failureRate, window } = this.#config
    if (this.#unattributedInRow + this.#callersInRow.size >= failures) return true
    if (this.#outcomes.length < window) return false
    const callers = new Set<string>()
    let unattributedFailures = 0
    for (const entry of this.#outcomes)
      if (typeof entry === 'string') callers.add(entry)
      else if (entry) unattributedFailures++
    return (unattributedFailures + callers.size) / window >= failureRate
  }

  clear(): void {
    this.#outcomes = []
    this.#next = 0
    this.#unattributedInRow = 0
    this.#callersInRow.clear()
  }
}
