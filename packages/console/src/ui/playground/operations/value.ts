import { useLayoutEffect, useState } from 'preact/hooks'

/** A value outside of components: it outlives them, such as the inputs of a tab that is left. */
export interface Value<T> {
  get(): T
  set(next: T): void
  /** Returns a function that ends the subscription. */
  subscribe(onChange: () => void): () => void
}

export function createValue<T>(first: T): Value<T> {
  let current = first
  const listeners = new Set<() => void>()
  return {
    get: () => current,
    set(next) {
      current = next
      for (const listener of listeners) listener()
    },
    subscribe(onChange) {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
  }
}

/** Returns the value, and renders again when it changes. */
export function useValue<T>({ get, subscribe }: Value<T>): T {
  const [shown, setShown] = useState(get)
  // Not `useEffect`, which runs after the next frame: an input in between would not be rendered.
  useLayoutEffect(() => {
    const changed = (): void => setShown(() => get())
    // It may have changed before the subscription.
    changed()
    return subscribe(changed)
  }, [get, subscribe])
  return shown
}
