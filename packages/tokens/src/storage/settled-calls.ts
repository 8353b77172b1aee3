/** Minimum time for which a call is remembered, unless too many others follow. */
const minKeptMs = 60_000
/** Minimum number of calls that are remembered. */
const minKeptCalls = 50_000

/** Ids of settled calls, so that each call is settled once. */
export interface SettledCalls {
  has(callId: string): boolean
  /** Returns false if the call was added before. */
  add(callId: string, now: number): boolean
}

/**
 * Creates a set that forgets old calls. It consists of two sets: when the newer one is full or a minute old, the older one is
 * dropped as a whole. That costs nothing for each call, and stores no times. A settlement is repeated within seconds or not at all.
 */
export function createSettledCalls(): SettledCalls {
  let newer = new Set<string>()
  let older = new Set<string>()
  let newerSince = 0

  const has = (callId: string): boolean => newer.has(callId) || older.has(callId)
  return {
    has,
    add(callId, now) {
      if (has(callId)) return false
      if (newer.size >= minKeptCalls || now - newerSince > minKeptMs) {
        older = newer
        newer = new Set()
        newerSince = now
      }
      newer.add(callId)
      return true
    },
  }
}
