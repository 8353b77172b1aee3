import { useEffect, useState } from 'preact/hooks'
import type { Info } from '../../info.ts'
import { fetchInfo } from '../info.ts'

export interface GatewayStatus {
  /** Last known info; it stays while the gateway is unreachable. */
  readonly info?: Info
  /** `good` and `bad`: whether the gateway responds. `ready` and `unready`: also what its `readyz` reports, if it has one. */
  readonly health: 'unknown' | 'good' | 'bad' | 'ready' | 'unready'
}

const everyMs = 30_000

/** Polls the gateway's status: at once, every 30 s while the page is visible, and when the page becomes visible again. */
export function useInfo(toRoot: string): GatewayStatus {
  const [state, setState] = useState<GatewayStatus>({ health: 'unknown' })
  useEffect(() => {
    const ask = (): void => {
      if (document.hidden) return
      fetchInfo(toRoot).then(
        async (info) => setState({ info, health: info.readiness ? await readinessOf(toRoot) : 'good' }),
        () => setState((before) => ({ ...before, health: 'bad' })),
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
  return state
}

async function readinessOf(toRoot: string): Promise<GatewayStatus['health']> {
  try {
    const { ok, status } = await fetch(`${toRoot}readyz`, { cache: 'no-store' })
    return ok ? 'ready' : status === 404 ? 'good' : 'unready'
  } catch {
    return 'bad'
  }
}
