import type { BreakerConfig } from '../../config/config.ts'

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
