import { useCallback, useEffect, useState } from 'preact/hooks'
import { isUnauthorized } from './api.ts'

export interface Fetched<T> {
  /** The last value; it stays while another one is fetched. */
  readonly value?: T
  readonly state: 'loading' | 'found' | 'unauthorized' | 'failed'
  /** Message of a failure. */
  readonly message?: string
}

/**
 * Fetches a value at once, when `read` changes, and at each call of the returned function. Wrap `read` in `useCallback`. A newer fetch
 * aborts the running one.
 */
export function useFetched<T>(read: (signal: AbortSignal) => Promise<T>): readonly [Fetched<T>, () => void] {
  const [{ of, fetched }, setState] = useState<{ of: unknown; fetched: Fetched<T> }>({
    of: read,
    fetched: { state: 'loading' },
  })
  const [count, setCount] = useState(0)
  useEffect(() => {
    const controller = new AbortController()
    const setFetched = (next: Fetched<T>): void => setState({ of: read, fetched: next })
    setState((before) => ({ of: read, fetched: loading(before.fetched) }))
    read(controller.signal).then(
      (value) => setFetched({ state: 'found', value }),
      (error: Error) => {
        if (controller.signal.aborted) return
        setFetched({ state: isUnauthorized(error) ? 'unauthorized' : 'failed', message: error.message })
      },
    )
    return () => controller.abort()
  }, [read, count])
  // The effect runs after the first paint with another `read`: until then the state belongs to the one before.
  return [of === read ? fetched : loading(fetched), useCallback(() => setCount((before) => before + 1), [])]
}

const loading = <T>({ value }: Fetched<T>): Fetched<T> => ({
  state: 'loading',
  ...(value === undefined ? {} : { value }),
})
