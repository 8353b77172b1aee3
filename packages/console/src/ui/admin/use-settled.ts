import { useEffect, useState } from 'preact/hooks'

/** Wait after the last keystroke in a filter. */
const filterMs = 250

/** Returns a value once it has not changed for a moment, so that typing sends one request. */
export function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), filterMs)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
