import type { BreakerConfig } from '../../config/config.ts'
import type { CircuitChanged } from '../../config/notices.ts'
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
  /** Returns the state of a target for all callers. */
  stateOf(id: string): 'closed' | 'open' | 'half-open'
  /** Returns the ids of the targets that were called recently. */
  ids(): Iterable<string>
  /** Returns whether a call to any of the targets has succeeded since one of them opened. */
  hasSucceeded(): boolean
}

/**
 * Reports that a breaker has changed its state.
 *
 * @param forMs milliseconds until the next trial call, if it opened
 */
export type OnBreakerChange = (kind: CircuitChanged['kind'], id: string, oneCaller: boolean, forMs?: number) => void

interface TargetRecord {
  readonly history: TargetHistory
  readonly callers: Map<string, CallerHistory>
  /** A probe for all callers has started, and no probe has had a result. */
  isHalfOpen: boolean
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
  onChange: OnBreakerChange = () => {},
): CircuitBreaker {
  if (settings === false)
    return {
      waitMs: () => 0,
      startCall: () => 'none',
      recordResponse() {},
      recordEnd() {},
      stateOf: () => 'closed',
      ids: () => [],
      hasSucceeded: () => false,
    }
  const config = { ...defaultBreaker, ...definedSettings(settings) }
  const { restMs } = config
  const records = new Map<string, TargetRecord>()
  let hasSucceeded = false
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
      record = { history: new TargetHistory(config), callers: new Map(), isHalfOpen: false }
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
  /** Opens the breaker for all callers. Returns false if it was open. */
  const open = (id: string): boolean => {
    const record = recordOf(id)
    const wasClosed = state.read(id) === undefined
    const isChange = record.isHalfOpen || wasClosed
    record.isHalfOpen = false
    if (wasClosed) hasSucceeded = false
    coolDownForAll(id)
    if (isChange) onChange('circuit-opened', id, false, restMs)
    return isChange
  }

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
        const record = recordOf(id)
        if (!record.isHalfOpen) {
          record.isHalfOpen = true
          onChange('circuit-half-open', id, false)
        }
        return 'all'
      }
      if (forCaller === undefined) return 'none'
      coolDownForCaller(id, caller)
      const history = records.get(id)?.callers.get(caller as string)
      if (history?.reported === 'open') {
        history.reported = 'half-open'
        onChange('circuit-half-open', id, true)
      }
      return 'caller'
    },
    recordResponse(id, caller, probe) {
      if (probe === 'none') return
      const record = records.get(id)
      let wasReported = false
      if (caller !== undefined) {
        callerCooldowns.forget(id, caller)
        wasReported = record?.callers.get(caller)?.reported !== undefined
        if (record?.callers.delete(caller) === true) size--
      }
      if (probe === 'caller') {
        if (wasReported) onChange('circuit-closed', id, true)
        return
      }
      record?.history.clear()
      state.write(id, undefined)
      // False for the second of two probes, which started because the first one took too long.
      if (record?.isHalfOpen !== true) return
      record.isHalfOpen = false
      onChange('circuit-closed', id, false)
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
      if (outcome === 'ok') {
        hasSucceeded = true
        return
      }
      // Calls that started before a breaker opened must not prolong the cooldown.
      const opensForCaller =
        probe === 'caller' || (callerHistory?.isFailing() === true && callerCooldown(id, caller) === undefined)
      if (opensForCaller || probe === 'all') coolDownForCaller(id, caller)
      let opened = false
      if (history.isFailing()) {
        if (probe === 'all' || state.read(id) === undefined) {
          // After a probe, counting starts again by the same rules.
          history.clear()
          opened = open(id)
        }
      } else if (probe === 'all') {
        if (outcome === 'unavailable' || caller === undefined) opened = open(id)
        else releaseProbe(id)
      }
      if (opened || !opensForCaller || callerHistory === undefined || callerHistory.reported === 'open') return
      callerHistory.reported = 'open'
      onChange('circuit-opened', id, true, restMs)
    },
    stateOf(id) {
      const cooldown = state.read(id)
      if (cooldown === undefined) return 'closed'
      return records.get(id)?.isHalfOpen === true || cooldown.until <= Date.now() ? 'half-open' : 'open'
    },
    ids: () => records.keys(),
    hasSucceeded: () => hasSucceeded,
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
  /** The last reported state of the caller's own breaker. Undefined: closed, or open together with that for all callers. */
  reported: 'open' | 'half-open' | undefined

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
