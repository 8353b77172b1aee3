import { useEffect, useState } from 'preact/hooks'

/** Returns how many of `total` items to show: the first ones at once, the rest step by step to keep the page responsive. */
export function useGrowing(total: number, first: number): number {
  const [shown, setShown] = useState(first)
  useEffect(() => {
    if (shown >= total) return undefined
    const timer = setTimeout(() => setShown(shown + first), 16)
    return () => clearTimeout(timer)
  }, [shown, shown < total])
  return Math.min(shown, total)
}
