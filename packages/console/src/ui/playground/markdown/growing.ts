import { useEffect, useState } from 'preact/hooks'

/** How many of `total` things to show: the first ones at once, the others step by step, so that the page stays awake. */
export function useGrowing(total: number, first: number): number {
  const [shown, setShown] = useState(first)
  useEffect(() => {
    if (shown >= total) return undefined
    const timer = setTimeout(() => setShown(shown + first), 16)
    return () => clearTimeout(timer)
  }, [shown, shown < total])
  return Math.min(shown, total)
}
