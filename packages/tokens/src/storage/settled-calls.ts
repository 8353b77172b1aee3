/** How long a call is remembered at least, unless too many follow it. */
const keptMs = 60_000
/** How many are remembered at least. */
const keptCalls = 50_000

/** Ids of calls that are settled, so that each is settled once. */
export interface SettledCalls {
  has(callId: string): boolean
  /** False: it is there already. */
  add(callId: string, now: number): boolean
}

/**
 * Two sets that take turns: when the younger one is full or a minute old, the older one is dropped as a whole. That costs
 * nothing for each call, and needs no times. A settlement is repeated within seconds, or not at all.
 */
export function createSettledCalls(): SettledCalls {
  let young = new Set<string>()
  let old = new Set<string>()
  let since = 0

  const has = (callId: string): boolean => young.has(callId) || old.has(callId)
  return {
    has,
    add(callId, now) {
      if (has(callId)) return false
      if (young.size >= keptCalls || now - since > keptMs) {
        old = young
        young = new Set()
        since = now
      }
      young.add(callId)
      return true
    },
  }
}
