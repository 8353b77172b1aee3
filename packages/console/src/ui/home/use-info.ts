import { useEffect, useState } from 'preact/hooks'
import type { Info } from '../../info.ts'
import { fetchInfo } from '../info.ts'

export interface Told {
  /** Last known info; it stays while the gateway is unreachable. */
  readonly info?: Info
  readonly health: 'unknown' | 'good' | 'bad'
}

const everyMs = 30_000

/** Polls the gateway's status: at once, every 30 s while the page is visible, and when the page becomes visible again. */
export function useInfo(toRoot: string): Told {
  const [told, setTold] = useState<Told>({ health: 'unknown' })
  useEffect(() => {
    const ask = (): void => {
      if (document.hidden) return
      fetchInfo(toRoot).then(
        (info) => setTold({ info, health: info.healthy ? 'good' : 'bad' }),
        () => setTold((before) => ({ ...before, health: 'bad' })),
      )
    }
    ask()
    const timer = setInterval(ask, everyMs)
    document.addEventListener('visibilitychange', ask)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', ask)
    }
  }, [toRoot])
  return told
}
