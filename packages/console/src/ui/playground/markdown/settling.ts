import { useEffect, useRef, useState } from 'preact/hooks'

/** No faster than the eye, and never busy for more than about a quarter of the time. */
const atLeastMs = 60
const restPerWork = 3

/** A growing text, as often as showing it allows; the whole of it as soon as it stops growing. */
export function useSettling(text: string, growing: boolean): string {
  const [shown, setShown] = useState(text)
  const latest = useRef(text)
  latest.current = text
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => {
    if (!growing || timer.current !== undefined || text === shown) return
    const began = performance.now()
    setShown(latest.current)
    // After the next painting, whose cost counts, too.
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
