import type { Json } from '../base/json.ts'
import type { FakeFormat, FakeOperation, FakeStats, FormPart, RecordedRequest } from '../contract/request.ts'

/** End of a call: `faulted` at the request of a script or directive, `aborted` by the client. */
export type Outcome = 'finished' | 'aborted' | 'faulted'

/** A call in progress. */
export interface OpenCall {
  readonly record: RecordedRequest
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  answered(status: number): void
  /** Records the outcome; later calls are ignored. */
  settle(outcome: Outcome): void
  /** Records that the client disconnected. */
  leave(reason?: unknown): void
}

/** A received request with its body. */
export interface ReceivedRequest {
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

export interface RequestLog {
  readonly requests: RecordedRequest[]
  readonly stats: FakeStats
  /** Records a new call. `holder` is the owner of the signal. */
  open(arrival: ReceivedRequest, content: { readonly text: string }, signal: AbortSignal, holder: unknown): OpenCall
  clear(): void
}

/** Creates a log of the last `keep` requests, with counts of all. */
export function createRequestLog(keep: number): RequestLog {
  const requests: RecordedRequest[] = []
  // Node's Request holds its signal weakly: once the Request is garbage-collected, an abort no longer arrives. Open
  // calls are kept here until they have settled.
  const held = new Set<unknown>()
  // A reset starts a new count: open calls then belong to the old one.
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
        // Decoded on first use, because the text of files is rarely read.
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
