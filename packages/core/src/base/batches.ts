/** Calls to a store that run at the same time. */
const atOnce = 64

/** Runs a task for each element, a limited number at a time. Rejects with the first failure, and starts no further batch then. */
export async function inBatches<T>(all: readonly T[], run: (one: T) => unknown): Promise<void> {
  for (let at = 0; at < all.length; at += atOnce) await Promise.all(all.slice(at, at + atOnce).map(run))
}
