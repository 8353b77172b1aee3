import type { ErrorKind } from '../base/error-kinds.ts'
import type { Format, Operation, UpstreamFormat } from '../base/names.ts'
import type { BillableUnits, Loss, ModelRun, Usage } from '../formats/ir.ts'
import type { Identity } from './identity.ts'

/** Method of a token estimate. */
export type EstimatedBy = 'o200k_base' | 'characters' | 'custom'

/** Source of a call's usage; see `FinishEvent.basis`. */
export type UsageBasis = 'reported' | 'estimated' | 'partial'

/** An amount of money. */
export interface Cost {
  /** In units of the currency, such as dollars. Exact to a billionth. */
  readonly amount: number
  /** ISO 4217 code, such as `USD`. */
  readonly currency: string
}

/** Result of an authenticated call to a model. Reported once, after the last byte of the response, for successes and failures. */
export interface FinishEvent<I extends Identity = Identity> {
  readonly requestId: string
  readonly identity: I | null
  readonly operation: Operation
  /** Format of the client. */
  readonly format: Format
  /** Model name of the client. */
  readonly model: string
  readonly upstream?: string
  readonly upstreamModel?: string
  readonly upstreamFormat?: UpstreamFormat
  readonly lane?: 'wire' | 'translate'
  readonly stream: boolean
  /** HTTP status sent to the client. 499: the client disconnected before a response was sent. */
  readonly status: number
  readonly outcome: 'finished' | 'failed' | 'aborted'
  /** Finish reason in the upstream's format (`stop`, `end_turn`, `MAX_TOKENS`). */
  readonly finish?: string
  /** Token usage. `basis` is its source. */
  readonly usage?: Usage
  /**
   * Source of `usage`. `'reported'`: the upstream. `'estimated'`: the gateway, because the upstream reported none. `'partial'`: the counts
   * reported so far, completed by an estimate, because the response was truncated. Absent: no response of a model had begun.
   */
  readonly basis?: UsageBasis
  /** Billable units other than tokens. */
  readonly units?: BillableUnits
  /**
   * The runs of models within the call, such as a compaction, an advisor or generated images. `usage` is their sum. Absent: the call's model
   * ran once.
   */
  readonly runs?: readonly ModelRun[]
  /**
   * The tier that served the call and may have prices of its own, such as `priority`, `flex` or `fast`. If the upstream has not reported it
   * before the response ended, it is the tier that the gateway requested from it. Absent: the usual one.
   */
  readonly tier?: string
  /**
   * No response arrived, but an upstream received the request (the client disconnected, a time limit, an invalid response): it may have
   * processed the request and may bill it.
   */
  readonly abandoned?: true
  /**
   * The client received access to a session that bypasses the gateway: a realtime call, or a secret for one. The provider charges for it, and
   * neither `usage` nor `cost` contains it.
   */
  readonly uncounted?: true
  /**
   * The call has begun a background response, which had not ended yet. Its usage and cost are reported later by another event with this
   * `requestId`, when a call or the gateway finds that it has ended.
   */
  readonly deferred?: true
  /**
   * Number of responses, transcriptions or turns of a realtime session that had begun when it ended, and whose usage the upstream
   * therefore did not report. The upstream probably bills them, and `usage` does not contain them. Absent: none.
   */
  readonly unreportedResponses?: number
  /** Cost of the call, from the first plugin whose `costOf` returns one. Absent: unknown. */
  readonly cost?: Cost
  readonly losses: readonly Loss[]
  /** Upstream calls, in order of their start. */
  readonly attempts: readonly Attempt[]
  /** Targets that cannot accept the request, in the order in which they were considered. Absent: none. */
  readonly skipped?: readonly SkippedTarget[]
  /** Method of the estimate, for a token count without a provider. */
  readonly estimate?: EstimatedBy
  /** Arrival of the call in milliseconds since 1970. */
  readonly startedAt: number
  /** Duration of the call in milliseconds, from its arrival. */
  readonly durationMs: number
  /** Milliseconds from the arrival of the call to the response, or to a stream's first event. */
  readonly firstEventMs?: number
  /** The internal error; never sent to the client. */
  readonly error?: unknown
}

/** A target that was not called, because the request cannot be translated for it or would lose more than the loss policy allows. */
export interface SkippedTarget {
  readonly upstream: string
  readonly model: string
  /** The message that the client would receive if no other target accepted the call. */
  readonly reason: string
  /** Path of the field that the target does not accept, with dots. Absent: no single field is the reason. */
  readonly param?: string
}

/** One upstream call. */
export interface Attempt {
  readonly upstream: string
  readonly model: string
  /** Index of the key in the upstream's list. Absent: the upstream has one key. */
  readonly key?: number
  /**
   * Reason of the attempt. `'first'`: the first one of the call. `'retry'`: the same target after a wait. `'other-key'`: the same target
   * with another key. `'fallback'`: another target after a failure. `'hedge'`: another target in parallel to a slow one.
   */
  readonly reason: 'first' | 'retry' | 'other-key' | 'fallback' | 'hedge'
  /** Milliseconds from the arrival of the client's call to the start of this attempt. */
  readonly startedMs: number
  /** Milliseconds waited before a retry. */
  readonly waitedMs?: number
  /** The call was sent twice, because its first connection was already closed. Both count as `attempts` of `retry`. */
  readonly resent?: true
  readonly status?: number
  /** Milliseconds until the response or first event arrived, or the attempt failed or was aborted. */
  readonly latencyMs?: number
  /** Milliseconds for which the target or its key receives no calls because of this attempt. Absent: it caused no cooldown. */
  readonly cooldownMs?: number
  /** The upstream's request id, for its support. */
  readonly upstreamRequestId?: string
  /** Kind of the error that ended the attempt; `cancelled` also if another target was faster. */
  readonly error?: ErrorKind
  /** Failure of the connection behind `error`, for logs; never sent to the client. */
  readonly cause?: FailureCause
  /**
   * Estimated input tokens that the upstream has probably processed and may bill, although another attempt gave the response (a timeout,
   * an invalid response, the slower one of two parallel attempts). They are not part of the call's `usage`. Absent: none, or the operation
   * has no tokens.
   */
  readonly lostInputTokens?: number
  /**
   * Estimated cost of `lostInputTokens`, from `costOf`, at the prices of this attempt's model. A lower bound, because its output and its cached
   * input are unknown. Not part of the call's `cost`, and charged to no budget. Absent: unknown.
   */
  readonly lostCost?: Cost
}

/** Failure of a connection, as the runtime reported it. */
export interface FailureCause {
  /** Code of the runtime: `ECONNREFUSED`, `ENOTFOUND`, `UND_ERR_SOCKET`, `CERT_HAS_EXPIRED`. */
  readonly code?: string
  /** Address that was called: `127.0.0.1:9000`, or a host name that could not be resolved. */
  readonly address?: string
}
