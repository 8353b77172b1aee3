import { useEffect, useRef, useState } from 'preact/hooks'

/** Minimum interval in milliseconds; rendering also takes at most about a quarter of the time. */
const atLeastMs = 60
const restPerWork = 3

/** Returns a growing text at a rate that its rendering cost allows; the whole text as soon as it stops growing. */
export function useSettling(text: string, growing: boolean): string {
  const [shown, setShown] = useState(text)
  const latest = useRef(text)
  latest.current = text
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => {
    if (!growing || timer.current !== undefined || text === shown) return
    const began = performance.now()
    setShown(latest.current)
    // Runs after the next paint, so that its cost is included.
    const paint = (): void => {
      const rest = Math.max(atLeastMs, restPerWork * (performance.now() - began))
      timer.current = setTimeout(() => {
        timer.current = undefined
        setShown(latest.current)
      }, rest)
    }
    timer.current = setTimeout(paint, 0)
  }, [text, shown, growing])
  useEffect(() => () => clearTimeout(timer.current), [])
  return growing ? shown : text
}
