/** Polls that run at the same time in a process. Further ones wait: after a restart of an upstream, thousands could be due at once. */
const maxRunning = 32

/** Runs polls, a limited number of them at a time. Of those that wait, owners have a turn one after the other. */
export class PollTurns {
  #running = 0
  /** The owner that waits longest since its last turn is first. */
  readonly #waiting = new Map<string, (() => void)[]>()

  async run<T>(owner: string, poll: () => Promise<T>): Promise<T> {
    if (this.#running < maxRunning) this.#running++
    else await this.#turnOf(owner)
    try {
      return await poll()
    } finally {
      this.#passOn()
    }
  }

  #turnOf(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const turns = this.#waiting.get(owner)
      if (turns === undefined) this.#waiting.set(owner, [resolve])
      else turns.push(resolve)
    })
  }

  #passOn(): void {
    for (const [owner, turns] of this.#waiting) {
      const next = turns.shift()
      this.#waiting.delete(owner)
      if (turns.length > 0) this.#waiting.set(owner, turns)
      next?.()
      return
    }
    this.#running--
  }
}

/** The turns of this process, for all its gateways. */
export const processTurns = new PollTurns()
