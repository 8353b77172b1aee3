/**
 * WebSockets to upstreams that one caller may hold, on all its connections. Beyond it, its calls use HTTP. Agents run a few responses at a
 * time, so this is room for many of them with one token.
 */
const maxOfOwner = 64
/**
 * WebSockets to upstreams of a process, for all callers. Each takes a file descriptor and, with TLS, some tens of kilobytes: 512 take far
 * less of both than the limits of usual hosts (1,024 descriptors), which the connections of clients need as well.
 */
const maxOfProcess = 512

/** Counts the open WebSockets to upstreams by caller. */
export class UpstreamQuota {
  readonly #byOwner = new Map<string, number>()
  #total = 0

  /** Counts one more. Returns the function that releases it, to be called once; undefined if it must not be opened. */
  take(owner: string): (() => void) | undefined {
    const held = this.#byOwner.get(owner) ?? 0
    if (held >= maxOfOwner || this.#total >= maxOfProcess) return undefined
    this.#byOwner.set(owner, held + 1)
    this.#total++
    return () => this.#release(owner)
  }

  #release(owner: string): void {
    const held = this.#byOwner.get(owner) ?? 0
    if (held > 1) this.#byOwner.set(owner, held - 1)
    else this.#byOwner.delete(owner)
    this.#total--
  }
}

/** The quota of this process, for all its gateways. */
export const processQuota = new UpstreamQuota()
