import type { RecentAttemptBodies, RecentBodies, RecentBody } from '../../recent-calls/recent-bodies.ts'
import type { CallSummary, RecentCall } from '../../recent-calls/recent-call.ts'
import type { RecentCallDetails } from '../../recent-calls/recent-calls.ts'
import { ask, queryOf } from '../admin/api.ts'
import { createEventReader } from '../playground/call/sse-parser.ts'

export type { CallSummary, RecentAttemptBodies, RecentBodies, RecentBody, RecentCall, RecentCallDetails }

/** Filters as typed; empty ones are not sent. */
export interface Filters {
  readonly token: string
  readonly model: string
  readonly upstream: string
  readonly status: string
}

/** Relative to the page. */
const api = 'api/calls'

/** Returns a page of calls older than `cursor`, newest first. */
export async function fetchOlder(
  token: string,
  filters: Filters,
  cursor: string,
): Promise<{ calls: readonly CallSummary[]; next?: string }> {
  return (await ask(api + queryOf({ ...filters, cursor }), { token })).json()
}

/** Returns a call with its attempts, losses and bodies. */
export async function fetchCall(token: string, id: string, signal: AbortSignal): Promise<RecentCallDetails> {
  return (await ask(`${api}/${encodeURIComponent(id)}`, { token, signal })).json()
}

export interface LiveOptions {
  readonly token: string
  readonly filters: Filters
  /** Number of earlier calls to begin with. */
  readonly last: number
  readonly signal: AbortSignal
  readonly onOpen: () => void
  /** Receives calls, oldest first. */
  readonly onCalls: (calls: readonly CallSummary[]) => void
}

/** Reads the live stream until it ends. Rejects with an ApiError, or when it is aborted or the connection is lost. */
export async function readLive({ token, filters, last, signal, onOpen, onCalls }: LiveOptions): Promise<void> {
  const { body } = await ask(`${api}/stream${queryOf({ ...filters, last: String(last) })}`, { token, signal })
  if (body === null) return
  onOpen()
  const read = createEventReader()
  const text = body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await text.read()
    if (done) return
    const calls = read(value).map(({ data }) => JSON.parse(data) as CallSummary)
    if (calls.length > 0) onCalls(calls)
  }
}
