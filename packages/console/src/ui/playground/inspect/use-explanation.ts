import { useEffect, useState } from 'preact/hooks'
import type { Exchange } from '../formats/format.ts'
import { type Explained, explain } from './explain.ts'

/** Several messages in quick succession cause one request, for the last. */
const debounceMs = 200

/** Requests the gateway's explanation of a call after it has ended, so as not to delay it. */
export function useExplanation(
  exchange: Exchange | undefined,
  { base, token, isEnabled }: { base: string; token: string; isEnabled: boolean },
) {
  const { format, request, outcome } = exchange ?? {}
  const [current, setCurrent] = useState<{ request: Exchange['request']; token: string; explained: Explained }>()
  const isCurrent = current !== undefined && current.request === request && current.token === token
  const isDue = isEnabled && outcome !== 'running' && !isCurrent
  useEffect(() => {
    if (!isDue || format === undefined || request === undefined) return undefined
    const { signal, abort } = controller()
    const timer = setTimeout(() => {
      explain({ base, token, format, request, signal }).then(
        (explained) => setCurrent({ request, token, explained }),
        () => undefined,
      )
    }, debounceMs)
    return () => {
      clearTimeout(timer)
      abort()
    }
  }, [isDue, base, token, format, request])
  return { explained: isCurrent ? current?.explained : undefined, askAgain: () => setCurrent(undefined) }
}

function controller() {
  const own = new AbortController()
  return { signal: own.signal, abort: () => own.abort() }
}
