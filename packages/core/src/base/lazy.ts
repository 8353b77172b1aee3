/**
 * What is loaded by the first who needs it. From then on it is there at once, without a turn of the queue: callers await it
 * only if it is a promise. A load that fails is tried anew by the next.
 *
 * @param load a dynamic `import()` of a literal path, so that every bundler finds it
 */
export function lazy<T>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: { readonly value: T } | undefined
  let loading: Promise<T> | undefined
  return () => {
    if (loaded !== undefined) return loaded.value
    if (loading !== undefined) return loading
    loading = load().then(
      (value) => {
        loaded = { value }
        return value
      },
      (error: unknown) => {
        loading = undefined
        throw error
      },
    )
    // Who began it early may never come to ask for it.
    loading.catch(() => {})
    return loading
  }
}
