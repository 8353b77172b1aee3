import { useEffect, useMemo, useState } from 'preact/hooks'
import { ApiError, isUnauthorized } from '../admin/api.ts'
import { type CallSummary, type Filters, fetchOlder, readLive } from './api.ts'

export type Connection =
  | { readonly state: 'connecting' | 'live' }
  | { readonly state: 'unauthorized' | 'lost' | 'refused'; readonly message: string }

export interface Calls {
  readonly connection: Connection
  /** Newest first. */
  readonly calls: readonly CallSummary[]
  /** True if the gateway may have older calls. */
  readonly hasOlder: boolean
  loadOlder(): void
}

const connecting: Connection = { state: 'connecting' }

/** Calls to begin with, and the most that the page keeps. */
const firstCalls = 50
const maxCalls = 1000

/** Waits between attempts to connect again. */
const firstWaitMs = 1000
const longestWaitMs = 15_000

/** Follows the recent calls, and connects again when the stream ends. Another token or filter starts anew. */
export function useCalls(token: string, filters: Filters): Calls {
  const [{ of, connection }, setState] = useState<{ of: object; connection: Connection }>({
    of: filters,
    connection: connecting,
  })
  const subject = useMemo(() => ({ token, filters }), [token, filters])
  const [calls, setCalls] = useState<readonly CallSummary[]>([])
  const [hasOlder, setHasOlder] = useState(false)
  useEffect(() => {
    const { token, filters } = subject
    const controller = new AbortController()
    const { signal } = controller
    const setConnection = (next: Connection): void => setState({ of: subject, connection: next })
    let waitMs = firstWaitMs
    let timer: ReturnType<typeof setTimeout> | undefined

    async function follow(): Promise<void> {
      try {
        await readLive({
          token,
          filters,
          last: firstCalls,
          signal,
          onOpen() {
            waitMs = firstWaitMs
            setConnection({ state: 'live' })
          },
          onCalls: (more) => {
            setCalls((before) => merge(before, more))
            // The first calls arrive together.
            if (more.length >= firstCalls) setHasOlder(true)
          },
        })
        if (!signal.aborted) again('The gateway closed the connection.')
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof ApiError && isUnauthorized(error))
          return setConnection({ state: 'unauthorized', message: error.message })
        if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429)
          return setConnection({ state: 'refused', message: error.message })
        again(error instanceof ApiError ? error.message : 'The gateway could not be reached.')
      }
    }
    function again(message: string): void {
      setConnection({ state: 'lost', message })
      timer = setTimeout(() => void follow(), waitMs)
      waitMs = Math.min(waitMs * 2, longestWaitMs)
    }

    setConnection(connecting)
    setCalls([])
    setHasOlder(false)
    void follow()
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [subject])

  const loadOlder = (): void => {
    const oldest = calls.at(-1)
    if (oldest === undefined) return
    fetchOlder(token, filters, oldest.requestId).then(
      (page) => {
        setCalls((before) => [...before, ...page.calls].slice(0, maxCalls))
        setHasOlder(page.next !== undefined)
      },
      () => setHasOlder(false),
    )
  }
  // The effect runs after the first paint with another token: until then the state belongs to the one before.
  return { connection: of === subject ? connection : connecting, calls, hasOlder, loadOlder }
}

/** Adds calls, oldest first, in front of known ones. After a reconnection the first calls repeat. */
function merge(before: readonly CallSummary[], more: readonly CallSummary[]): readonly CallSummary[] {
  const known = new Set(before.slice(0, 2 * firstCalls).map(({ requestId }) => requestId))
  const added = more.filter(({ requestId }) => !known.has(requestId)).reverse()
  return [...added, ...before].slice(0, maxCalls)
}
