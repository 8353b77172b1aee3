import { monotonicNow } from '../../base/clock.ts'
import type { ErrorKind } from '../../base/error-kinds.ts'

/** The last overload response that an identity got for a model. */
export interface RecentOverload {
  readonly kind: ErrorKind
  /**
   * Upstream calls of one SDK call, by how many retries of the SDK they include: `calls[1]` counts those for its request and for its
   * first retry. Sparse.
   */
  readonly calls: readonly (number | undefined)[]
  /** Another call of the identity to the model has succeeded since, or the overload was too long ago to expect another one. */
  readonly recovered: boolean
}

/** An overload response to a client. */
export interface OverloadResponse {
  readonly kind: ErrorKind
  /** Which retry of its SDK call the request was; 0: the call itself. Undefined for a client that does not count retries. */
  readonly retry: number | undefined
  /** Upstream calls of the SDK call so far. */
  readonly calls: number
  /** Milliseconds that the client is asked to wait. */
  readonly waitMs: number
}

/** Remembers overload responses for a short time, so that retries of clients and of the gateway do not multiply. */
export interface OverloadMemory {
  find(identityId: string, model: string): RecentOverload | undefined
  record(identityId: string, model: string, response: OverloadResponse): void
  /** Records that a call succeeded. */
  recover(identityId: string, model: string): void
}

/** How long a retry of the client is waited for, from the moment for which it is asked to come back. */
const lifetimeMs = 30_000

/** Bounds the wait that extends the lifetime: an upstream may ask for a day. */
const maxWaitMs = 3_600_000

/** Bounds the wait after which another overload is expected. Anthropic's SDK sleeps for an hour if asked to; other calls go on. */
const maxExpectedMs = 60_000

/** Bounds the memory: identities and model names come from outside. */
const maxEntries = 10_000

/** Bounds an entry: the retry number is a client's header. */
const maxRetries = 10

interface Entry {
  readonly deadline: number
  /** Until when another overload is expected. */
  expectedUntil: number
  readonly kind: ErrorKind
  readonly calls: (number | undefined)[]
}

export function createOverloadMemory(): OverloadMemory {
  // The oldest first: recording an entry again moves it to the end.
  const entries = new Map<string, Entry>()
  const keyOf = (identityId: string, model: string): string => JSON.stringify([identityId, model])
  const findByKey = (key: string): Entry | undefined => {
    const entry = entries.get(key)
    return entry === undefined || entry.deadline <= monotonicNow() ? undefined : entry
  }
  const removeExpired = (now: number): void => {
    for (const [key, { deadline }] of entries) {
      if (deadline > now && entries.size < maxEntries) return
      entries.delete(key)
    }
  }
  return {
    // Most gateways have no entry most of the time, and every call asks.
    find(identityId, model) {
      const entry = entries.size === 0 ? undefined : findByKey(keyOf(identityId, model))
      return entry && { kind: entry.kind, calls: entry.calls, recovered: entry.expectedUntil <= monotonicNow() }
    },
    record(identityId, model, { kind, retry, calls, waitMs }) {
      const key = keyOf(identityId, model)
      const known = findByKey(key)?.calls ?? []
      entries.delete(key)
      const now = monotonicNow()
      removeExpired(now)
      if (retry !== undefined && retry <= maxRetries) known[retry] = calls
      entries.set(key, {
        deadline: now + Math.min(waitMs, maxWaitMs) + lifetimeMs,
        expectedUntil: now + Math.min(waitMs, maxExpectedMs) + lifetimeMs,
        kind,
        calls: known,
      })
    },
    recover(identityId, model) {
      if (entries.size === 0) return
      // Kept: the other calls that failed are about to be retried by their clients.
      const entry = findByKey(keyOf(identityId, model))
      if (entry !== undefined) entry.expectedUntil = 0
    },
  }
}
