import { useEffect, useState } from 'preact/hooks'
import type { Exchange } from '../formats/format.ts'
import { type Explained, explain } from './explain.ts'

/** A person who sends one message after the other asks only for the last. */
const debounceMs = 200

/** What the gateway makes of a call: asked once the call is over, so as not to stand in its way. */
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
