import type { Attempt, Loss } from '@modelgate/core'

/** What is written down of a call: once for each authenticated call to a model, after its last byte. Never any content. */
export interface LedgerRecord {
  /** The call's id, as the client was told it. */
  readonly id: string
  /** When it arrived: ISO 8601, UTC. */
  readonly time: string
  /** The token's id; null: the gateway asks for none. */
  readonly token: string | null
  readonly owner?: string
  readonly operation: string
  readonly format: string
  /** As the client named it. */
  readonly model: string
  readonly upstream?: string
  readonly upstreamModel?: string
  readonly attempts: readonly Attempt[]
  readonly status: number
  readonly outcome: 'finished' | 'failed' | 'aborted'
  /** The kind of error it ended with (`rate_limited`). */
  readonly error?: string
  /**
   * Where the counts come from: the upstream's own; the gateway's estimate, because the upstream told none; or what the
   * upstream had told, completed by an estimate, because the answer was cut short. Absent: no model was at work.
   */
  readonly basis?: 'reported' | 'estimated' | 'partial'
  readonly usage?: {
    readonly input: number
    readonly cacheRead?: number
    readonly cacheWrite?: number
    readonly output: number
    readonly reasoning?: number
  }
  /** No answer came, but an upstream had the request: it may have worked, and may bill it. */
  readonly abandoned?: true
  readonly units?: {
    readonly images?: number
    readonly seconds?: number
    readonly characters?: number
    readonly searches?: number
  }
  /** In the currency of the prices, as a decimal number with nine places at most. Absent: unknown. */
  readonly cost?: number
  readonly currency?: string
  /** Paths and kinds of what could not be carried; no content. */
  readonly losses: readonly Pick<Loss, 'path' | 'kind' | 'severity'>[]
  readonly durationMs: number
  readonly firstEventMs?: number
  readonly stream: boolean
}

/** Where records go. Called for each call; a sink collects what comes faster than it can write. */
export interface LedgerSink {
  /** A rejection is logged; the call is long over. */
  append(record: LedgerRecord): void | Promise<void>
  /** Resolves when all that was appended is written. */
  flush?(): Promise<void>
  close?(): Promise<void>
}
