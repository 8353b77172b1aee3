import type { FakeFormat, FakeOperation, FakeStats, FormPart, Json, RecordedRequest } from './types.ts'

/** How a call ended: `faulted` as a script or directive asked, `aborted` by the client. */
export type Outcome = 'finished' | 'aborted' | 'faulted'

/** One call on its way through the fake. */
export interface Exchange {
  readonly record: RecordedRequest
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  answered(status: number): void
  /** The first outcome counts. */
  settle(outcome: Outcome): void
  /** The client has left. */
  leave(reason?: unknown): void
}

/** What arrived, with its body read. */
export interface Arrival {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Json | undefined
  readonly form: readonly FormPart[] | undefined
  readonly format: FakeFormat | undefined
  readonly operation: FakeOperation | undefined
  readonly model: string | undefined
  readonly stream: boolean
}

export interface Ledger {
  readonly requests: RecordedRequest[]
  readonly stats: FakeStats
  /** `holder` is what the signal belongs to. */
  open(arrival: Arrival, content: { readonly text: string }, signal: AbortSignal, holder: unknown): Exchange
  clear(): void
}

/** Keeps the last `keep` requests, and the counts. */
export function createLedger(keep: number): Ledger {
  const requests: RecordedRequest[] = []
  // Node's Request follows the signal it was given through a weak reference: once the Request is collected, an abort no
  // longer arrives. Whatever is under way is held here until it has settled.
  const held = new Set<unknown>()
  // A reset starts a new count: calls still open then belong to the old one.
  let counts = { started: 0, finished: 0, aborted: 0, faulted: 0 }
  return {
    requests,
    get stats() {
      const { started, finished, aborted, faulted } = counts
      return { started, finished, aborted, faulted, open: started - finished - aborted - faulted }
    },
    open(arrival, content, signal, holder) {
      const own = counts
      const hold = { holder, signal }
      held.add(hold)
      own.started++
      const state: { status: number | undefined; outcome: Outcome | undefined } = {
        status: undefined,
        outcome: undefined,
      }
      const record: RecordedRequest = {
        ...arrival,
        // Files have no text worth making until somebody reads it.
        get bodyText() {
          return content.text
        },
        get status() {
          return state.status
        },
        get aborted() {
          return state.outcome === 'aborted'
        },
        get finished() {
          return state.outcome === 'finished'
        },
      }
      requests.push(record)
      if (requests.length > keep) requests.shift()
      const controller = new AbortController()
      const settle = (outcome: Outcome): void => {
        if (state.outcome !== undefined) return
        state.outcome = outcome
        own[outcome]++
        held.delete(hold)
        signal.removeEventListener('abort', onAbort)
      }
      const leave = (reason?: unknown): void => {
        settle('aborted')
        controller.abort(reason)
      }
      const onAbort = (): void => leave(signal.reason)
      if (signal.aborted) leave(signal.reason)
      else signal.addEventListener('abort', onAbort, { once: true })
      return {
        record,
        signal: controller.signal,
        answered: (status) => {
          state.status = status
        },
        settle,
        leave,
      }
    },
    clear() {
      requests.length = 0
      counts = { started: 0, finished: 0, aborted: 0, faulted: 0 }
    },
  }
}
