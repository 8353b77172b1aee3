import type { JsonObject } from '../base/json/types.ts'
import type { Format, Operation, UpstreamFormat } from '../base/names.ts'
import type { Identity } from '../config/identity.ts'
import type { Admission, Attempt, EstimatedBy, ExpectedUse, FinishEvent, SkippedTarget } from '../config/plugin.ts'
import type { OutputBound, TextFields } from '../formats/codec.ts'
import type { BillableUnits, Loss, Usage } from '../formats/ir.ts'

/** How an operation is counted in tokens. */
export interface Counted {
  /** It has text written. Absent: input alone. */
  readonly output?: OutputBound
  /** Where its answers say something, if not where those of the client's format do. */
  readonly textFields?: TextFields
}

/** What is known of a call while it runs; `settle` turns it into the one FinishEvent. */
export interface CallRecord {
  readonly requestId: string
  operation: Operation
  readonly format: Format
  /** By the clock that never goes back. */
  readonly startedAt: number
  /** When the call arrived, in milliseconds since 1970. */
  readonly arrivedAt: number
  identity: Identity | null
  model: string
  stream: boolean
  upstream?: string | undefined
  upstreamModel?: string | undefined
  upstreamFormat?: UpstreamFormat | undefined
  lane?: 'wire' | 'translate' | undefined
  losses: readonly Loss[]
  usage?: Usage | undefined
  units?: BillableUnits | undefined
  estimate?: EstimatedBy | undefined
  firstEventAt?: number | undefined
  readonly attempts: Attempt[]
  /** Targets that could not be given the request. */
  skipped?: SkippedTarget[] | undefined
  finish?: string | undefined
  /** How it is counted in tokens, where it is. */
  counted?: Counted | undefined
  /** Use that the request makes known beforehand, for operations beside chat. */
  expected?: ExpectedUse | undefined
  /** The request, for an estimate of what it took. */
  body?: JsonObject | undefined
  /** About how many tokens the request is, where its body is not here. */
  tokens?: number | undefined
  /** About how many tokens the answer has said. */
  said?: (() => number) | undefined
  /** Admissions of the plugins that accepted the call. Each is settled when the call ends. */
  admissions?: Admission[] | undefined
  /** The upstream goes on with it when the response to this call is over. */
  background?: true | undefined
  /** The books are closed. */
  settled?: boolean | undefined
  /** Plugins have heard of it: they must hear of its end. */
  announced?: boolean | undefined
  /** The gateway has used all its attempts: a retry by the client would only add to the upstream's load. */
  spent?: boolean | undefined
}

/** The books of a call that has just come. All that may be written in them stands there from the beginning: one shape for all calls. */
export const createCallRecord = (requestId: string, operation: Operation, format: Format): CallRecord => ({
  requestId,
  operation,
  format,
  startedAt: performance.now(),
  arrivedAt: Date.now(),
  identity: null,
  model: '',
  stream: false,
  upstream: undefined,
  upstreamModel: undefined,
  upstreamFormat: undefined,
  lane: undefined,
  losses: [],
  usage: undefined,
  units: undefined,
  estimate: undefined,
  firstEventAt: undefined,
  attempts: [],
  skipped: undefined,
  finish: undefined,
  counted: undefined,
  expected: undefined,
  body: undefined,
  tokens: undefined,
  said: undefined,
  admissions: undefined,
  background: undefined,
  settled: undefined,
  announced: undefined,
  spent: undefined,
})

export interface Ending {
  readonly status: number
  readonly outcome: FinishEvent['outcome']
  readonly error?: unknown
}
