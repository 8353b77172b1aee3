import { GatewayError } from '../../base/errors.ts'
import type { Identity } from '../../config/identity.ts'

/** Sessions of one caller that have not named their model yet: its limits apply only after that. */
const maxPending = 32
/** Callers without an identity cannot be told apart. */
const maxAnonymous = 1000

/** Numbers of pending sessions by caller, for each gateway. */
const pendingOf = new WeakMap<object, Map<string, number>>()

/**
 * Counts a session that waits for its first message. Returns a function that ends the wait; later calls of it do nothing.
 *
 * @throws GatewayError `rate_limited` for too many such sessions
 */
export function enterPending(gateway: object, identity: Identity | null): () => void {
  const counts = pendingOf.get(gateway) ?? new Map<string, number>()
  pendingOf.set(gateway, counts)
  const key = identity === null ? '' : `id:${identity.id}`
  const count = counts.get(key) ?? 0
  if (count >= (identity === null ? maxAnonymous : maxPending))
    throw new GatewayError(
      'rate_limited',
      `Too many sessions without a first message (${count}): send the message that names the model, or close them.`,
    )
  counts.set(key, count + 1)
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    const left = (counts.get(key) ?? 1) - 1
    if (left === 0) counts.delete(key)
    else counts.set(key, left)
  }
}
