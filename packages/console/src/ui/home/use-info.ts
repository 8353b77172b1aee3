import { useEffect, useState } from 'preact/hooks'
import type { Info } from '../../info.ts'
import { fetchInfo } from '../info.ts'

export interface Told {
  /** The last that was heard; it stays while the gateway is away. */
  readonly info?: Info
  readonly health: 'unknown' | 'good' | 'bad'
}

const everyMs = 30_000

/** Asks the gateway how it is: at once, every half minute while the page is looked at, and when somebody comes back to it. */
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
