import { useEffect, useState } from 'preact/hooks'
import type { Exchange } from '../formats/format.ts'
import { type Explained, explain } from './explain.ts'

/** Several messages in quick succession cause one request, for the last. */
const debounceMs = 200

/** Requests the gateway's explanation of a call after it has ended, so as not to delay it. */
export function useExplanation({ format, request, outcome }: Exchange, base: string, token: string) {
  const [told, setTold] = useState<{ request: Exchange['request']; token: string; explained: Explained }>()
  const isCurrent = told?.request === request && told.token === token
  const isDue = outcome !== 'running' && !isCurrent
  useEffect(() => {
    if (!isDue) return undefined
    const { signal, abort } = controller()
    const timer = setTimeout(() => {
      explain({ base, token, format, request, signal }).then(
        (explained) => setTold({ request, token, explained }),
        () => undefined,
      )
    }, debounceMs)
    return () => {
      clearTimeout(timer)
      abort()
    }
  }, [isDue, base, token, format, request])
  return { explained: isCurrent ? told.explained : undefined, askAgain: () => setTold(undefined) }
}

function controller() {
  const own = new AbortController()
  return { signal: own.signal, abort: () => own.abort() }
}
