/** Timeout of the store, so that it cannot block a client's call. */
const storeTimeoutMs = 5000

/** Awaits a result of the store. Rejects if it does not settle in time. */
export async function withinStoreTimeout<T>(result: T | Promise<T>): Promise<T> {
  // Query builders return thenables that are not promises.
  if (typeof result !== 'object' || result === null || !('then' in result)) return result
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`The store did not respond within ${storeTimeoutMs / 1000} s.`)),
      storeTimeoutMs,
    )
  })
  try {
    return await Promise.race([result, timeout])
  } finally {
    clearTimeout(timer)
  }
}
